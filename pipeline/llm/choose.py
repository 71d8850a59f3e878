"""Which LLM to talk to, found out once at the start."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.errors import ConfigError
from pipeline.llm.openai import list_models
from pipeline.settings import LlmSettings

OPENAI_MODEL = "gpt-4.1-mini"
NEIGHBOURS = {
    "Ollama": "http://127.0.0.1:11434/v1",
    "vLLM": "http://127.0.0.1:8000/v1",
}
"""Servers people run on their own machine, at their usual addresses."""


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A server that was found."""

    name: str
    base_url: str
    models: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LlmChoice:
    reason: str
    """For the start-up line."""
    model: str = ""
    """Empty: the local one that is brought along."""
    base_url: str = ""

    @property
    def local(self) -> bool:
        return not self.model


async def find_neighbours(settings: LlmSettings) -> list[Neighbour]:
    """Ask the usual addresses, if the answer matters for `choose`."""
    if settings.provider != "auto" or _explicit(settings):
        return []
    found = await asyncio.gather(*(list_models(url) for url in NEIGHBOURS.values()))
    return [
        Neighbour(name, url, tuple(models))
        for (name, url), models in zip(NEIGHBOURS.items(), found, strict=True)
    ]


def choose(settings: LlmSettings, neighbours: Sequence[Neighbour] = ()) -> LlmChoice:
    """Raises ConfigError if the settings ask for what they do not describe."""
    if settings.provider == "local":
        return LlmChoice("the settings say so")
    if _explicit(settings):
        reason = f"the settings name {settings.base_url}" if settings.base_url else "there is a key"
        return LlmChoice(reason, _model(settings), settings.base_url)
    if settings.provider == "openai":
        raise ConfigError(
            "The settings choose an OpenAI-compatible LLM, but give neither key nor address.",
            hint="Set OPENAI_API_KEY, or base_url under [llm].",
        )
    for neighbour in neighbours:
        if model := next((m for m in neighbour.models if "embed" not in m), ""):
            reason = f"{neighbour.name} runs on this machine"
            return LlmChoice(reason, settings.model or model, neighbour.base_url)
    return LlmChoice("no key, and no Ollama or vLLM on this machine")


def _explicit(settings: LlmSettings) -> bool:
    return bool(settings.base_url or settings.api_key.get_secret_value())


def _model(settings: LlmSettings) -> str:
    if settings.base_url and not settings.model:
        raise ConfigError(
            f"No model is named for {settings.base_url}.", hint="Set model under [llm]."
        )
    return settings.model or OPENAI_MODEL
