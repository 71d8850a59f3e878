"""How a model's tokens are drawn: the operator's word, then the checkpoint's, then upstream's."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from moshi.conditioners import ConditionAttributes

from pipeline.errors import ConfigError
from pipeline.frontends.moshi.sampling import MOST_TOP_K, Draw
from pipeline.settings import MoshiSettings
from pipeline.types import Sampling

_UPSTREAM: Mapping[str, Any] = {
    "use_sampling": True,
    "temp": 0.8,
    "temp_text": 0.7,
    "top_k": 250,
    "top_k_text": 25,
    "cfg_coef": 1.0,
    "cfg_is_no_text": False,
}
"""Arguments of LMGen and their defaults there, of those that make sense for a conversation."""


@dataclass(frozen=True)
class Generation:
    text: Draw
    audio: Draw
    cfg_coef: float
    """Of classifier-free guidance; 1: none, at half the work."""
    cfg_is_no_text: bool
    """Guidance away from a model that does not see its own text."""

    def of(self, wish: Sampling) -> tuple[Draw, Draw]:
        """Text and audio, with what a conversation wishes otherwise."""
        return (
            _draw(self.text, wish.text_temperature, wish.text_top_k),
            _draw(self.audio, wish.temperature, wish.top_k),
        )


def _draw(usual: Draw, temperature: float | None, top_k: int | None) -> Draw:
    return Draw(
        usual.temperature if temperature is None else max(0.0, temperature),
        usual.top_k if top_k is None else min(max(1, top_k), MOST_TOP_K),
    )


def generation(settings: MoshiSettings, checkpoint: Mapping[str, Any]) -> Generation:
    """Raises ConfigError if `checkpoint` (lm_gen_config) asks for what there is not."""
    if unknown := checkpoint.keys() - _UPSTREAM.keys():
        raise ConfigError(
            f"lm_gen_config in config.json has unknown keys: {', '.join(sorted(unknown))}.",
            hint="Name a config.json without it with --config-path.",
        )
    usual = {**_UPSTREAM, **checkpoint}
    greedy = 0.0 if not usual["use_sampling"] else None
    text = _draw(Draw(0.0, 1), _or(greedy, usual["temp_text"]), usual["top_k_text"] or MOST_TOP_K)
    audio = _draw(Draw(0.0, 1), _or(greedy, usual["temp"]), usual["top_k"] or MOST_TOP_K)
    return Generation(
        _draw(text, settings.text_temperature, settings.text_top_k),
        _draw(audio, settings.temperature, settings.top_k),
        float(_or(settings.cfg_coef, usual["cfg_coef"])),
        bool(usual["cfg_is_no_text"]),
    )


def _or(chosen: float | None, otherwise: float) -> float:
    return otherwise if chosen is None else chosen


def lm_options(lm: Any, model_type: str, generation: Generation, slots: int) -> dict[str, Any]:
    """What LMGen is made with. Raises ConfigError for a guidance or a condition it cannot do."""
    guided = generation.cfg_coef != 1.0
    conditions = _conditions(lm, model_type, slots, guided=guided)
    if guided and not conditions and not generation.cfg_is_no_text:
        raise ConfigError(
            "This checkpoint has no conditions, so there is nothing to guide away from.",
            hint="Leave cfg_coef at 1.",
        )
    return {
        "cfg_coef": generation.cfg_coef,
        "cfg_is_no_text": generation.cfg_is_no_text,
        "condition_tensors": conditions,
    }


def _conditions(lm: Any, model_type: str, slots: int, *, guided: bool) -> Any:
    """As in upstream's server: Hibiki's voice quality, and nothing for others."""
    if lm.condition_provider is None or not lm.condition_provider.conditioners:
        return {}
    if model_type != "hibiki":
        raise ConfigError(
            f"This checkpoint (model_type {model_type}) wants conditions that nobody gives here.",
            hint="Use a Moshi or KAME checkpoint without conditioners.",
        )
    wanted = ["very_good"] * slots + ["very_bad"] * (slots if guided else 0)
    return lm.condition_provider.prepare_and_provide(
        [ConditionAttributes(text={"description": quality}, tensor={}) for quality in wanted]
    )
