"""What an attention remembers of each slot: a ring of keys and values, in full or in 8 bits.

A step reads all that is remembered, and a conversation of 3000 positions of the 7B takes 1.57 GB
in bf16: so both memory and time go by the byte.
"""

from dataclasses import dataclass
from enum import StrEnum

import torch

SCALE_DTYPE = torch.bfloat16
"""Has the range of float32. That it is coarse does no harm: values are rounded to what it says."""

TINY = 1e-12
"""Least magnitude that a scale tells from zero."""


class KvKind(StrEnum):
    FULL = "full"
    """As the model computes it: upstream's tokens exactly."""
    INT8 = "int8"
    """An integer a value, and a scale for each position and head."""
    FP8 = "fp8"
    """The same with e4m3 (arXiv 2209.05433)."""


STORED = {KvKind.INT8: (torch.int8, 127.0), KvKind.FP8: (torch.float8_e4m3fn, 448.0)}
"""Type, and the number that stands for the greatest magnitude."""


@dataclass
class KvCache:
    """Position p of a slot lies at p mod positions."""

    keys: torch.Tensor
    values: torch.Tensor
    """[slots, heads, positions, dim]."""
    key_scales: torch.Tensor | None = None
    value_scales: torch.Tensor | None = None
    """[slots, heads, positions]; None: not in 8 bits."""

    @classmethod
    def empty(cls, kind: KvKind, shape: tuple[int, int, int, int], like: torch.Tensor) -> "KvCache":
        """`like` has the model's dtype and device."""
        if kind is KvKind.FULL:
            return cls(like.new_zeros(shape), like.new_zeros(shape))
        dtype, _ = STORED[kind]
        scales = [like.new_zeros(shape[:-1], dtype=SCALE_DTYPE) for _ in range(2)]
        return cls(like.new_zeros(shape, dtype=dtype), like.new_zeros(shape, dtype=dtype), *scales)

    @property
    def positions(self) -> int:
        return int(self.keys.shape[2])

    def put(
        self, key: torch.Tensor, value: torch.Tensor, position: torch.Tensor, live: torch.Tensor
    ) -> None:
        """Remember `key` and `value`, [slots, heads, dim], at `position` (int64 [slots]) of the
        slots in `live` (bool [slots])."""
        _put(self.keys, self.key_scales, key, position % self.positions, live)
        _put(self.values, self.value_scales, value, position % self.positions, live)

    def read(self, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
        """Keys and values as they are computed with."""
        return (
            _read(self.keys, self.key_scales, dtype),
            _read(self.values, self.value_scales, dtype),
        )


def quantise(x: torch.Tensor, dtype: torch.dtype, top: float) -> tuple[torch.Tensor, torch.Tensor]:
    """`x` [..., dim] in 8 bits, and its scales [...]."""
    greatest = x.float().abs().amax(-1).clamp(min=TINY)
    scales = (greatest / top).to(SCALE_DTYPE)
    scaled = (x.float() / scales.float()[..., None]).clamp(-top, top)
    if dtype is torch.int8:
        scaled = torch.floor(scaled + 0.5)
    return scaled.to(dtype), scales


def _put(
    ring: torch.Tensor,
    scales: torch.Tensor | None,
    x: torch.Tensor,
    at: torch.Tensor,
    live: torch.Tensor,
) -> None:
    slots = torch.arange(len(at), device=at.device)[live]
    x, at = x[live], at[live]
    if scales is not None:
        top = next(top for dtype, top in STORED.values() if dtype is ring.dtype)
        x, scales[slots, :, at] = quantise(x, ring.dtype, top)
    ring[slots, :, at] = x


def _read(ring: torch.Tensor, scales: torch.Tensor | None, dtype: torch.dtype) -> torch.Tensor:
    return ring if scales is None else (ring.float() * scales.float()[..., None]).to(dtype)
