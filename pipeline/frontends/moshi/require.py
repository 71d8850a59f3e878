"""Whether what the front-end moshi needs is installed; imports none of it."""

import importlib.util

from pipeline.errors import ConfigError

_EXTRA = ("torch", "einops", "safetensors", "sentencepiece", "huggingface_hub")


def require_moshi() -> None:
    """Raises ConfigError with the lines that install it."""
    if any(importlib.util.find_spec(name) is None for name in (*_EXTRA, "moshi")):
        raise ConfigError(
            "The front-end moshi is not installed.",
            hint="pip install 'umigame[moshi]', then pip install --no-deps 'moshi>=0.2.13,<0.3'.",
        )
