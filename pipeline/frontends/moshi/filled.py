"""Conversations that are as long as one likes from their first frame on: to measure with.

What they remember is noise; reading it takes as long as reading sense.
"""

from typing import Any

import torch

OFFSETS = ("offset", "offsets", "end_offset")
"""What upstream's states and ours call the number of positions that each slot has seen."""

SCALE = 0.02
"""Of 8-bit noise: its spread is then near that of keys and values, which is 1."""


def fill_caches(lm: torch.nn.Module) -> None:
    """Put noise into every cache of `lm`, a streaming LMGen."""
    for state in _states(lm):
        for name, tensor in vars(state).items():
            if not isinstance(tensor, torch.Tensor):
                continue
            if name in ("keys", "values", "cache") and tensor.ndim >= 4:
                _fill(tensor)
            elif name.endswith("_scales"):
                tensor.fill_(SCALE)


def skip_to(lm: torch.nn.Module, slot: int, position: int) -> None:
    """As if `slot` had been talking for `position` frames."""
    for state in _states(lm):
        for name in OFFSETS:
            if isinstance(offset := getattr(state, name, None), torch.Tensor):
                offset[slot] = position


def _states(lm: torch.nn.Module) -> list[Any]:
    """Every streaming state within, and the caches in them."""
    states = [getattr(module, "_streaming_state", None) for module in lm.modules()]
    caches = [getattr(state, name, None) for state in states for name in ("kv_cache", "cache")]
    held = [each for each in caches if hasattr(each, "__dict__") and not torch.is_tensor(each)]
    return [state for state in states if state is not None] + held


def _fill(tensor: torch.Tensor) -> None:
    if tensor.dtype is torch.int8:
        tensor.random_(-127, 128)
    elif tensor.itemsize == 1:
        for slot in tensor:  # 8-bit floats know no random numbers
            slot.copy_(torch.randn(slot.shape, device=slot.device).mul_(1 / SCALE))
    else:
        tensor.normal_()
