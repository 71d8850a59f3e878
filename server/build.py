"""Starts and ends what a server runs: the one place that chooses front-end, STT, LLM and TTS."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from pipeline.engine.engine import ThreadEngine
from pipeline.engine.face import Engine
from pipeline.errors import ConfigError
from pipeline.frontends.voice.tts import PiperTts, require_piper
from pipeline.frontends.voice.voice import VoiceFrontEnd
from pipeline.graph import Services
from pipeline.hearing.vad import SileroVad
from pipeline.stt.face import SpeechToText
from pipeline.stt.local import MoonshineStt
from pipeline.types import Mode, SessionConfig
from server.admission import Admission
from server.app import Choice
from server.calls import Calls
from server.factory import CallFactory, Parts
from server.llms import Llms, Plan, plan, start_llms
from server.metrics import Metrics
from server.realtime.session import Offered
from server.settings import Settings
from server.weights import Weights

STT = "local"
VOICE = "en_US-joe-medium"
NO_KEY_NEEDED = "runs on this machine's CPU, needs no key"


class Running:
    """A started service, as server/app.py wants it."""

    def __init__(self, calls: Calls, choices: Sequence[Choice], engine: ThreadEngine) -> None:
        self.calls = calls
        self.choices = choices
        self._engine = engine
        self._draining = False

    @property
    def failed(self) -> "asyncio.Future[None]":
        return self._engine.failed

    def not_ready(self) -> str:
        if self._draining:
            return "The server is shutting down."
        failed = self._engine.failed
        return str(failed.exception()) if failed.done() else ""

    def drain(self) -> None:
        self._draining = True
        self.calls.drain()


@contextlib.asynccontextmanager
async def start(settings: Settings, metrics: Metrics) -> AsyncGenerator[Running, None]:
    """Everything a call needs, ready while inside. Raises ConfigError before anybody can call."""
    refuse_impossible(settings)
    planned = await plan(settings)
    weights = Weights(settings.server.cache)
    roles = ("vad", "tts", "llm") if planned.local else ("vad", "tts")
    await asyncio.to_thread(weights.fetch, roles)
    base = SessionConfig(mode=settings.session.mode, stt=STT)
    with ThreadPoolExecutor(1, "hearing") as hearing, contextlib.closing(MoonshineStt()) as stt:
        tts = await asyncio.to_thread(PiperTts, weights.path("tts"))
        async with (
            ThreadEngine(VoiceFrontEnd(settings.voice, tts)) as engine,
            start_llms(planned, settings, weights, base) as llms,
        ):
            parts = Parts(
                settings,
                metrics,
                engine,
                Services(stt, hearing, metrics, llms.local),
                SileroVad(weights.path("vad")),
                llms,
                offered(engine, stt, llms),
                replace(base, llm=llms.default),
            )
            admission = Admission(
                settings.limits.calls or engine.info.slots,
                settings.limits.queue,
                settings.per_ip,
                lambda: engine.load().fits,
            )
            metrics.watch(admission, engine.load)
            factory = CallFactory(parts)
            async with Calls(
                admission,
                settings.limits,
                factory.new_peer,
                factory.new_conversation,
                factory.new_line,
                factory.talk,
            ) as calls:
                loop = asyncio.get_running_loop()
                tts.watch(lambda state: loop.call_soon_threadsafe(calls.tell, state))
                yield Running(calls, choices(parts, planned), engine)
                calls.drain()


def offered(engine: Engine, stt: SpeechToText, llms: Llms) -> Offered:
    """What clients may ask for."""
    info = engine.info
    modes = tuple(mode for mode in Mode if info.speaks_alone or mode is not Mode.S2S)
    return Offered(info.name, VOICE, modes, (STT,), llms.names, stt.languages)


def choices(parts: Parts, planned: Plan) -> list[Choice]:
    """For the start-up lines."""
    info = parts.engine.info
    return [
        Choice("front-end", info.name, f"the default; {info.slots} calls at once"),
        Choice("STT", parts.services.stt.name, f"the default; {NO_KEY_NEEDED}"),
        Choice("LLM", parts.llms.race(planned.default).name, planned.reason),
        Choice("TTS", f"Piper, {VOICE}", f"the front-end's voice; {NO_KEY_NEEDED}"),
        Choice("mode", parts.base.mode.value, "of calls that do not ask for another"),
    ]


def refuse_impossible(settings: Settings) -> None:
    """Raises ConfigError, naming the alternatives, for what this front-end cannot do."""
    if settings.server.front_end != "voice":
        raise ConfigError(
            f'There is no front-end "{settings.server.front_end}".', hint="There is: voice."
        )
    calls, slots = settings.limits.calls, settings.voice.slots
    if calls is not None and calls > slots:
        raise ConfigError(
            f"{calls} calls at once are allowed, but the front-end has {slots} slots.",
            hint="Set slots under [voice] too.",
        )
    if settings.session.mode is Mode.S2S:
        raise ConfigError(
            "The front-end voice cannot speak alone, so it has no mode s2s.",
            hint="Use --mode tandem or --mode cascade.",
        )
    require_piper()  # now, not after its voice was fetched
