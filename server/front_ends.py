"""What can speak: one class each, and one line in FRONT_ENDS."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

from pipeline.engine.engine import ThreadEngine
from pipeline.engine.face import Engine
from pipeline.engine.remote import process_engine
from pipeline.errors import ConfigError
from pipeline.events import ServiceState
from pipeline.frontends.moshi.require import require_moshi
from pipeline.frontends.voice.tts import PiperTts, require_piper
from pipeline.frontends.voice.voice import VoiceFrontEnd
from pipeline.settings import MoshiSettings
from pipeline.types import Mode
from server.app import Choice
from server.settings import Settings
from server.weights import Weights

PIPER = "en_US-joe-medium"
NO_KEY_NEEDED = "runs on this machine's CPU, needs no key"


@dataclass(frozen=True, slots=True)
class Speaking:
    """A front-end that has been started."""

    engine: Engine
    voice: str
    """As clients see it."""
    choices: tuple[Choice, ...]
    """For the start-up lines."""
    failed: "asyncio.Future[None]"
    """Gets the error after which it never speaks again."""
    not_ready: Callable[[], str]
    """Why no call can be taken; "" if one can."""
    watch: Callable[[Callable[[ServiceState], object]], object]
    """Have it tell, on any thread, of what is its own and goes and comes back."""


class FrontEndKind(Protocol):
    """A front-end that can be chosen."""

    @property
    def weights(self) -> tuple[str, ...]:
        """Roles of the packages it needs (weights.py)."""

    def check(self, settings: Settings) -> None:
        """Raises ConfigError, naming the alternatives, for what it cannot do; nothing has been
        fetched or loaded yet."""

    def start(self, settings: Settings, weights: Weights) -> AbstractAsyncContextManager[Speaking]:
        """Ready while inside. Raises ConfigError."""


class Voice:
    """Text-to-speech with turn-taking, on a thread of this process."""

    weights = ("tts",)

    def check(self, settings: Settings) -> None:
        if settings.session.mode is Mode.S2S or "none" in settings.session.stt:
            what = "no mode s2s" if settings.session.mode is Mode.S2S else "no use without STT"
            raise ConfigError(
                f"The front-end voice cannot speak alone, so it has {what}.",
                hint="Use --mode tandem or --mode cascade with --stt local or --stt google, or"
                " --front-end moshi.",
            )
        fits(settings, settings.voice.slots, "slots under [voice]")
        require_piper()  # now, not after its voice was fetched

    @asynccontextmanager
    async def start(self, settings: Settings, weights: Weights) -> AsyncGenerator[Speaking, None]:
        tts = await asyncio.to_thread(PiperTts, weights.path("tts"))
        async with ThreadEngine(VoiceFrontEnd(settings.voice, tts)) as engine:
            failed = engine.failed
            choices = (
                Choice(
                    "front-end", "voice", f"{_why(settings)}; {engine.info.slots} calls at once"
                ),
                Choice("TTS", f"Piper, {PIPER}", f"the front-end's voice; {NO_KEY_NEEDED}"),
            )
            cause = lambda: str(failed.exception()) if failed.done() else ""  # noqa: E731
            yield Speaking(engine, PIPER, choices, failed, cause, tts.watch)


class Moshi:
    """Moshi or KAME, on a GPU, in a process of its own that is replaced when it dies."""

    weights = ()

    def check(self, settings: Settings) -> None:
        if settings.session.mode is Mode.CASCADE:
            raise ConfigError(
                "The front-end moshi speaks by itself, so it has no mode cascade.",
                hint="Use --mode tandem or --mode s2s, or --front-end voice.",
            )
        fits(settings, settings.moshi.max_slots, "--max-slots")
        require_moshi()

    @asynccontextmanager
    async def start(self, settings: Settings, weights: Weights) -> AsyncGenerator[Speaking, None]:
        made = "pipeline.frontends.moshi.from_json:make"
        async with process_engine(made, settings.moshi.model_dump(mode="json")) as engine:
            info, never = engine.info, asyncio.get_running_loop().create_future()
            device = settings.moshi.device
            choices = (
                Choice(
                    "front-end",
                    f"moshi, {checkpoint(settings.moshi)}",
                    f"{_why(settings)}; {info.slots} calls at once on {device}; {info.about}",
                ),
            )
            yield Speaking(engine, "moshi", choices, never, lambda: engine.not_ready, _nothing)


FRONT_ENDS: Mapping[str, FrontEndKind] = MappingProxyType({"voice": Voice(), "moshi": Moshi()})


def chosen(settings: Settings) -> FrontEndKind:
    """Raises ConfigError if there is none of that name."""
    name = settings.server.front_end
    if name not in FRONT_ENDS:
        known = ", ".join(FRONT_ENDS)
        raise ConfigError(f'There is no front-end "{name}".', hint=f"There are: {known}.")
    return FRONT_ENDS[name]


def fits(settings: Settings, slots: int, setting: str) -> None:
    """Raises ConfigError if more calls are allowed than can be had."""
    calls = settings.limits.calls
    if calls is not None and calls > slots:
        raise ConfigError(
            f"{calls} calls at once are allowed, but the front-end has {slots} slots.",
            hint=f"Set {setting} too.",
        )


def checkpoint(settings: MoshiSettings) -> str:
    """Its name for a person."""
    if settings.random_weights:
        return "random weights"
    return settings.moshi_weight or settings.config_path or settings.hf_repo


def _why(settings: Settings) -> str:
    named = "front_end" in settings.server.model_fields_set
    return "the settings say so" if named else "the default"


def _nothing(tell: Callable[[ServiceState], object]) -> None:
    """Of what it is made of nothing comes and goes by itself."""
