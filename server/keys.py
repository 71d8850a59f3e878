"""Which variables of the environment hold an LLM's key and address. Pure."""

from collections.abc import Mapping
from typing import Any

PROVIDERS = ("openai", "anthropic")


def llm_variables(ours: Mapping[str, Any], environ: Mapping[str, str]) -> dict[str, str]:
    """What `environ` adds to an LLM of which the settings say `ours`.

    api_key_env names the key's variable. Without it OPENAI_API_KEY and OPENAI_BASE_URL (and
    Anthropic's) are read, as their own clients do, but only if `ours` has neither key nor
    address: a key must not go to a server that it is not for.
    """
    provider = str(ours.get("provider", "openai")).replace("auto", "openai")
    if provider not in PROVIDERS or "api_key" in ours:
        return {}
    if named := ours.get("api_key_env"):
        return _found({"api_key": named}, environ)
    if "base_url" in ours:
        return {}
    return _found({key: f"{provider}_{key}".upper() for key in ("api_key", "base_url")}, environ)


def _found(names: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    return {key: environ[name] for key, name in names.items() if environ.get(name)}
