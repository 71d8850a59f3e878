"""How many conversations fit into memory: pure, but for asking how much is free."""

import contextlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from pipeline.errors import ConfigError
from pipeline.frontends.moshi.kv_cache import SCALE_DTYPE, KvKind

GIB = 2**30

_MEMINFO = Path("/proc/meminfo")

WORKING_BYTES = 64 * 2**20
"""A slot's activations, Mimi's convolutions and its part of the CUDA graphs' pools: measured 20 to
40 MiB a slot with 64 and 120 slots of the 7B, here with room."""

HEADROOM_BYTES = GIB
"""Kept free of everything: cuBLAS, cuDNN, fragmentation."""


@dataclass(frozen=True, slots=True)
class CacheShape:
    """What the attention of one transformer keeps for one slot."""

    layers: int
    positions: int
    width: int
    """Of a key, as of a value: heads by dimension."""
    element_bytes: float

    @property
    def slot_bytes(self) -> int:
        return round(2 * self.layers * self.positions * self.width * self.element_bytes)


def slot_bytes(lm: Any, mimi: Any, kind: KvKind, *, rows: int) -> int:
    """What one conversation keeps; `rows` is 2 with classifier-free guidance, else 1."""
    own = _shape(lm.transformer, lm.dtype.itemsize)
    if kind is not KvKind.FULL:
        head = own.width // lm.transformer.layers[0].self_attn.num_heads
        own = replace(own, element_bytes=1 + SCALE_DTYPE.itemsize / head)
    codec = (mimi.encoder_transformer.transformer, mimi.decoder_transformer.transformer)
    return rows * own.slot_bytes + sum(_shape(part, 4).slot_bytes for part in codec)


def _shape(transformer: Any, element_bytes: float) -> CacheShape:
    attention = transformer.layers[0].self_attn
    width = attention.embed_dim // attention.kv_repeat
    return CacheShape(len(transformer.layers), attention.context, width, element_bytes)


def slots_that_fit(free_bytes: int, slot_bytes: int, most: int) -> int:
    """At least one, at the most `most`. Raises ConfigError, saying what is missing."""
    each = slot_bytes + WORKING_BYTES
    fit = (free_bytes - HEADROOM_BYTES) // each
    if fit < 1:
        raise ConfigError(
            f"Not enough memory for one conversation: {free_bytes / GIB:.1f} GiB are free beside"
            f" the weights, {(each + HEADROOM_BYTES) / GIB:.1f} GiB are needed.",
            hint="Use a larger device, end what else runs on it, or keep the cache in fp8.",
        )
    return min(fit, most)


def free_bytes(device: torch.device) -> int:
    """What can be allocated on `device` now."""
    if device.type == "cuda":
        free, _ = torch.cuda.mem_get_info(device)
        # What torch holds but does not use is ours too.
        held = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return int(free + held)
    if _MEMINFO.exists():
        available = re.search(r"MemAvailable:\s+(\d+) kB", _MEMINFO.read_text())
        if available:
            return int(available[1]) * 1024
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2


@contextlib.contextmanager
def enough(what: str) -> Iterator[None]:
    """Running out of memory within is a ConfigError."""
    try:
        yield
    except torch.OutOfMemoryError as error:
        raise ConfigError(
            f"Not enough memory {what}.",
            hint="Lower max_slots, end what else runs on the device, or use a larger one.",
        ) from error
