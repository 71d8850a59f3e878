"""How the engine's process, which is told plain values, makes the front-end moshi."""

from collections.abc import Mapping
from typing import Any

from pipeline.frontends.moshi.moshi import MoshiFrontEnd
from pipeline.settings import MoshiSettings


def make(settings: Mapping[str, Any]) -> MoshiFrontEnd:
    """`settings` as MoshiSettings gives them in JSON. Raises ConfigError, as MoshiFrontEnd does."""
    return MoshiFrontEnd(MoshiSettings.model_validate(settings))
