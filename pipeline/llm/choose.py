"""Which LLM to talk to where none is named, found out once at the start."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.llm.openai import list_models
from pipeline.settings import LlmProfile, LlmSettings

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
    profile: LlmProfile


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
    """What [llm] itself, without its profiles, comes to."""
    if settings.provider != "auto":
        return LlmChoice("the settings say so", _profile(settings, provider=settings.provider))
    if _explicit(settings):
        reason = f"the settings name {settings.base_url}" if settings.base_url else "there is a key"
        return LlmChoice(reason, _profile(settings, provider="openai"))
    for neighbour in neighbours:
        if model := next((m for m in neighbour.models if "embed" not in m), ""):
            found = {"model": settings.model or model, "base_url": neighbour.base_url}
            return LlmChoice(
                f"{neighbour.name} runs on this machine",
                _profile(settings, provider="openai", **found),
            )
    reason = "no key, and no Ollama or vLLM on this machine"
    return LlmChoice(reason, _profile(settings, provider="local"))


def _explicit(settings: LlmSettings) -> bool:
    return bool(settings.base_url or settings.api_key.get_secret_value())


def _profile(settings: LlmSettings, **values: object) -> LlmProfile:
    shared = LlmProfile.model_fields.keys() & LlmSettings.model_fields.keys()
    ours = {name: getattr(settings, name) for name in shared}
    return LlmProfile.model_validate(ours | values)
