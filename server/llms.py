"""Starts and ends the LLMs of a server, and names them: one, several, or races between them."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass

from pipeline.errors import ConfigError
from pipeline.llm.choose import LlmChoice, choose, find_neighbours
from pipeline.llm.face import TextModel
from pipeline.llm.local import LocalLlm
from pipeline.llm.make import RemoteModel, make
from pipeline.oracle.arbiter import Agreement, Arbiter, First, Preference
from pipeline.oracle.prompt import opening
from pipeline.oracle.provider import Provider
from pipeline.oracle.race import Race
from pipeline.settings import LlmProfile, OracleSettings
from pipeline.types import SessionConfig
from server.settings import Settings
from server.weights import Weights

log = logging.getLogger(__name__)

AUTO = "auto"
"""Names [llm] itself, without its profiles."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Which LLMs a server is to have."""

    profiles: Mapping[str, LlmProfile]
    """By name, the default's first."""
    default: str
    """The names of those that answer unless a call asks for others."""
    reason: str
    """For the start-up line."""

    @property
    def local(self) -> bool:
        """The small one that is brought along is among them."""
        return any(profile.provider == "local" for profile in self.profiles.values())


class Llms:
    """What answers to a name, or to several with commas between them."""

    def __init__(
        self, models: Mapping[str, TextModel], plan: Plan, settings: OracleSettings
    ) -> None:
        self.default = plan.default
        self.names = tuple(models)
        self.local = next((m for m in models.values() if isinstance(m, LocalLlm)), None)
        self._providers = {
            name: Provider(model, _patience(plan.profiles[name], settings))
            for name, model in models.items()
        }
        self._settings = settings

    def race(self, names: str) -> Race:
        """Between those named, the best liked first."""
        chosen = [self._providers[name] for name in names.split(",")]
        hedge = self._settings.race == "hedge"
        return Race(chosen, hedge=hedge, arbiter=_arbiter(self._settings) if hedge else First())


async def plan(settings: Settings) -> Plan:
    """What the settings come to. Raises ConfigError for a name that means nothing."""
    profiles = dict(settings.llm.profiles)
    named = settings.session.llm
    if not named:
        chosen = choose(settings.llm, await find_neighbours(settings.llm))
        name = _short(chosen)
        return Plan({name: chosen.profile, **profiles}, name, chosen.reason)
    first = {name: profiles.get(name) or await _plain(name, settings) for name in named}
    return Plan(first | profiles, ",".join(named), _how(settings, len(named)))


async def _plain(name: str, settings: Settings) -> LlmProfile:
    """What a name means that has no profile."""
    if name == "local":
        return LlmProfile(provider="local")
    plain = settings.llm
    if name == AUTO or name == plain.provider:
        return choose(plain, await find_neighbours(plain)).profile
    if name == "openai" and plain.provider == AUTO:
        return choose(plain.model_copy(update={"provider": "openai"})).profile
    known = ", ".join([*plain.profiles, "local", "openai", AUTO])
    raise ConfigError(
        f'There is no LLM "{name}".', hint=f"There are: {known}; or add [llm.{name}]."
    )


def _how(settings: Settings, count: int) -> str:
    if count == 1:
        return "the settings name it"
    if settings.oracle.race == "fallback":
        return "the next one answers when one fails"
    return f"all are asked at once, arbiter: {settings.oracle.arbiter}"


def _short(chosen: LlmChoice) -> str:
    """A name for what has none."""
    return chosen.profile.model.replace(",", " ") or chosen.profile.provider


def _patience(profile: LlmProfile, settings: OracleSettings) -> OracleSettings:
    own = {} if profile.first_token_s is None else {"first_token_s": profile.first_token_s}
    return settings.model_copy(update=own)


def _arbiter(settings: OracleSettings) -> Arbiter:
    match settings.arbiter:
        case "first":
            return First()
        case "preference":
            return Preference(settings.preference_s)
        case "agreement":
            return Agreement()


@contextlib.asynccontextmanager
async def start_llms(
    plan: Plan, settings: Settings, weights: Weights, base: SessionConfig
) -> AsyncGenerator[Llms, None]:
    """All of them, ready to be asked while inside.

    Raises ConfigError if one of the default lacks something; others that do are left out.
    """
    async with contextlib.AsyncExitStack() as stack:
        models: dict[str, TextModel] = {}
        local: LocalLlm | None = None
        for name, profile in plan.profiles.items():
            if profile.provider == "local":
                if local is None:
                    local = await stack.enter_async_context(_local(settings, weights, base))
                models[name] = local
            elif remote := _remote(name, profile, plan, settings):
                stack.push_async_callback(remote.close)
                models[name] = remote
        yield Llms(models, plan, settings.oracle)


def _remote(name: str, profile: LlmProfile, plan: Plan, settings: Settings) -> RemoteModel | None:
    group = f"[llm.{name}]" if name in settings.llm.profiles else "[llm]"
    try:
        return make(group, profile)
    except ConfigError as error:
        if name in plan.default.split(","):
            raise
        log.warning("%s is left out: %s", group, error)
        return None


@contextlib.asynccontextmanager
async def _local(
    settings: Settings, weights: Weights, base: SessionConfig
) -> AsyncGenerator[LocalLlm, None]:
    llm = LocalLlm(
        weights.path("llm"),
        slots=settings.voice.slots + 1,  # a superseded answer may hold one for a moment
        settings=settings.llm,
        warm=opening(base),
    )
    async with asyncio.TaskGroup() as tasks:
        kept = tasks.create_task(llm.run(), name="local LLM")
        ready = tasks.create_task(llm.ready(), name="local LLM ready")
        await asyncio.wait((kept, ready), return_when=asyncio.FIRST_COMPLETED)
        if ready.done():
            try:
                yield llm
            finally:
                kept.cancel()
