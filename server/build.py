"""Starts and ends what a server runs, in order: STT, front-end, LLMs, calls."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager
from dataclasses import replace

from pipeline.engine.frontend import FrontEndInfo
from pipeline.errors import ConfigError
from pipeline.graph import Services
from pipeline.hearing.vad import SileroVad
from pipeline.settings import LlmProfile
from pipeline.stt.choice import SttChoice
from pipeline.types import Mode, SessionConfig
from server.admission import Admission
from server.app import Choice
from server.calls import Calls
from server.factory import CallFactory, Parts
from server.front_ends import NO_KEY_NEEDED, Speaking, chosen
from server.llms import Llms, Plan, plan, start_llms
from server.metrics import Metrics
from server.realtime.session import Offered
from server.settings import Settings
from server.stand_ins import Nobody
from server.stts import start_stts
from server.weights import Weights

NO_LLM = Plan({"none": LlmProfile()}, "none", "without STT nobody would ask it")


class Running:
    """A started service, as server/app.py wants it."""

    def __init__(self, calls: Calls, choices: Sequence[Choice], speaking: Speaking) -> None:
        self.calls = calls
        self.choices = choices
        self._speaking = speaking
        self._draining = False

    @property
    def failed(self) -> "asyncio.Future[None]":
        return self._speaking.failed

    def not_ready(self) -> str:
        if self._draining:
            return "The server is shutting down."
        return self._speaking.not_ready()

    def drain(self) -> None:
        self._draining = True
        self.calls.drain()


@contextlib.asynccontextmanager
async def start(settings: Settings, metrics: Metrics) -> AsyncGenerator[Running, None]:
    """Everything a call needs, ready while inside. Raises ConfigError before anybody can call."""
    kind = chosen(settings)
    kind.check(settings)
    planned = NO_LLM if "none" in settings.session.stt else await plan(settings)
    weights = Weights(settings.server.cache)
    roles = ("vad", *kind.weights, *(("llm",) if planned.local else ()))
    with ThreadPoolExecutor(1, "hearing") as hearing:
        async with contextlib.AsyncExitStack() as running:
            stt = await running.enter_async_context(start_stts(settings))
            await asyncio.to_thread(weights.fetch, roles)
            speaking = await running.enter_async_context(kind.start(settings, weights))
            engine = speaking.engine
            base = SessionConfig(
                mode=mode(settings, engine.info),
                stt=stt.names[0],
                language=settings.session.language,
            )
            llms = await running.enter_async_context(text_models(planned, settings, weights, base))
            parts = Parts(
                settings,
                metrics,
                engine,
                Services(stt, hearing, metrics, llms.local),
                SileroVad(weights.path("vad")),
                llms,
                offered(settings, speaking, stt, llms),
                replace(base, llm=llms.default),
            )
            async with calls_of(parts) as calls:
                loop = asyncio.get_running_loop()
                speaking.watch(lambda state: loop.call_soon_threadsafe(calls.tell, state))
                yield Running(calls, choices(parts, planned, speaking), speaking)
                calls.drain()


def calls_of(parts: Parts) -> Calls:
    settings, engine = parts.settings, parts.engine
    slots = engine.info.slots
    admission = Admission(
        min(settings.limits.calls or slots, slots),
        settings.limits.queue,
        settings.per_ip,
        lambda: engine.load().fits,
    )
    parts.metrics.watch(admission, engine.load)
    factory = CallFactory(parts)
    return Calls(
        admission,
        settings.limits,
        factory.new_peer,
        factory.new_conversation,
        factory.new_line,
        factory.talk,
    )


def text_models(
    planned: Plan, settings: Settings, weights: Weights, base: SessionConfig
) -> AbstractAsyncContextManager[Llms]:
    if planned is NO_LLM:
        return contextlib.nullcontext(Llms({"none": Nobody()}, planned, settings.oracle))
    return start_llms(planned, settings, weights, base)


def modes(settings: Settings, info: FrontEndInfo) -> tuple[Mode, ...]:
    """What this server can do, the default first: nothing but s2s where nobody listens."""
    if "none" in settings.session.stt:
        return (Mode.S2S,)
    return tuple(mode for mode in info.modes if info.speaks_alone or mode is not Mode.S2S)


def mode(settings: Settings, info: FrontEndInfo) -> Mode:
    """Of calls that ask for none. Raises ConfigError."""
    had = modes(settings, info)
    wanted = settings.session.mode or had[0]
    if wanted not in had:
        listens = ", or with STT" if "none" in settings.session.stt else ""
        raise ConfigError(
            f"There is no mode {wanted} with --front-end {info.name}"
            f" --stt {','.join(settings.session.stt)}.",
            hint=f"Use --mode {' or --mode '.join(had)}{listens}.",
        )
    return wanted


def offered(settings: Settings, speaking: Speaking, stt: SttChoice, llms: Llms) -> Offered:
    """What clients may ask for."""
    info = speaking.engine.info
    languages = {name: stt.languages_of(name) for name in stt.names}
    return Offered(
        info.name, speaking.voice, modes(settings, info), stt.names, llms.names, languages
    )


def _why_stt(names: tuple[str, ...]) -> str:
    if names == ("none",):
        return "the settings say so: s2s alone"
    others = f"; calls may choose {' or '.join(names[1:])}" if len(names) > 1 else ""
    first = f"the default; {NO_KEY_NEEDED}" if names[0] == "local" else "the settings say so"
    return first + others


def choices(parts: Parts, planned: Plan, speaking: Speaking) -> list[Choice]:
    """For the start-up lines."""
    listens = planned is not NO_LLM
    mode_named = parts.settings.session.mode is not None
    return [
        *speaking.choices,
        Choice("STT", parts.services.stt.name, _why_stt(parts.settings.session.stt)),
        Choice("LLM", parts.llms.race(planned.default).name if listens else "none", planned.reason),
        Choice(
            "mode",
            parts.base.mode.value,
            f"of calls that do not ask for another; {'set' if mode_named else 'the default'}",
        ),
    ]
