"""From a profile in the settings to the model behind it."""

from typing import Protocol

from pipeline.errors import ConfigError
from pipeline.llm.face import TextModel
from pipeline.llm.openai import OPENAI_URL, OpenAIModel
from pipeline.settings import LlmProfile

OPENAI_MODEL = "gpt-4.1-mini"


class RemoteModel(TextModel, Protocol):
    """A text model with connections of its own."""

    async def close(self) -> None: ...


def make(group: str, profile: LlmProfile) -> RemoteModel:
    """The model of a profile of any provider but local; `group` is its place in the settings.

    Raises ConfigError if the profile does not say enough.
    """
    assert profile.provider != "local"
    key = profile.api_key.get_secret_value()
    if not key and (profile.api_key_env or not profile.base_url):
        variable = profile.api_key_env or f"{profile.provider.upper()}_API_KEY"
        raise ConfigError(
            f"{group} has no key.",
            hint=f"Set {variable}, or base_url of a server that wants none under {group}.",
        )
    if not profile.model and (profile.base_url or profile.provider == "anthropic"):
        raise ConfigError(f"{group} names no model.", hint=f"Set model under {group}.")
    if profile.provider == "anthropic":
        return _claude(profile, key)
    return OpenAIModel(
        profile.model or OPENAI_MODEL,
        api_key=key,
        base_url="" if profile.base_url.rstrip("/") == OPENAI_URL else profile.base_url,
        max_tokens=profile.answer_tokens,
        extra=profile.extra,
    )


def _claude(profile: LlmProfile, key: str) -> RemoteModel:
    try:
        from pipeline.llm.anthropic import AnthropicModel
    except ImportError as error:
        raise ConfigError(
            "The client for Anthropic is not installed.", hint="pip install 'umigame[anthropic]'"
        ) from error
    return AnthropicModel(
        profile.model,
        api_key=key,
        base_url=profile.base_url,
        max_tokens=profile.answer_tokens,
        extra=profile.extra,
    )
