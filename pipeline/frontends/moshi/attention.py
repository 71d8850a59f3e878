"""The main transformer's attention, in place of upstream's: one position a step, many slots.

The same sums as upstream's, over a cache of our own. On a GPU it reads only what a slot has
remembered, and nothing of a slot that does not step.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from moshi.modules.streaming import State, StreamingModule
from moshi.modules.transformer import StreamingMultiheadAttention
from torch.nn import functional

from pipeline.errors import ConfigError
from pipeline.frontends.moshi.kv_cache import KvCache, KvKind

Attend = Callable[..., torch.Tensor]


def replace(lm: Any, kind: KvKind) -> None:
    """Have `lm` (moshi.models.LMModel, not yet streaming) remember in `kind`.

    Raises ConfigError if its attention is of a sort that only upstream's cache can serve.
    """
    layers = lm.transformer.layers
    if not all(_can_replace(layer.self_attn) for layer in layers):
        if kind is KvKind.FULL:
            return
        raise ConfigError(f"This model's cache cannot be kept in {kind}.", hint="Use --kv full.")
    for layer in layers:
        layer.self_attn = SlotAttention(layer.self_attn, kind)


def _can_replace(attention: Any) -> bool:
    return (
        isinstance(attention, StreamingMultiheadAttention)
        and attention.causal
        and attention.context is not None
        and attention.kv_repeat == 1
        and not attention.cross_attention
        and not attention.weights_per_step
    )


@dataclass
class SlotState(State):  # type: ignore[misc]
    """As upstream's: what a mask leaves out stays as it is."""

    cache: KvCache
    offset: torch.Tensor
    """Positions that each slot has seen, int64 [slots]."""

    def reset(self, reset_mask: torch.Tensor) -> None:
        super().reset(reset_mask)
        self.offset.masked_fill_(reset_mask, 0)


class SlotAttention(StreamingModule[SlotState]):  # type: ignore[misc]
    """Takes over the parameters of `source`, under their names."""

    def __init__(self, source: StreamingMultiheadAttention, kind: KvKind) -> None:
        super().__init__()
        self.in_projs, self.out_projs = source.in_projs, source.out_projs
        self.rope = source.rope
        self.num_heads, self.embed_dim, self.context = (
            source.num_heads,
            source.embed_dim,
            source.context,
        )
        self.kv_repeat = source.kv_repeat
        self._kind = kind
        # Upstream knows which dtype a quantised or adapted layer computes in.
        self._upstream_state = source._init_streaming_state
        self._attend: Attend = attend

    def _init_streaming_state(self, batch_size: int) -> SlotState:
        like = self._upstream_state(0).kv_cache.cache
        shape = (batch_size, self.num_heads, self.context, self.embed_dim // self.num_heads)
        cache = KvCache.empty(self._kind, shape, like)
        offset = torch.zeros(batch_size, device=like.device, dtype=torch.long)
        if like.device.type == "cuda":
            from pipeline.frontends.moshi import kernels

            self._attend = kernels.attend
        return SlotState(batch_size, like.device, cache, offset)

    def forward(self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        """`query`, which is `key` and `value` too: [slots, 1, dim]. While streaming only."""
        state = self._streaming_state
        slots, _, dim = query.shape
        projected = self.in_projs[0](query).view(slots, 1, 3, self.num_heads, -1)
        q, k, v = projected.permute(2, 0, 3, 1, 4)  # each [slots, heads, 1, dim of a head]
        if self.rope is not None:
            q, k = self.rope(q, k, state.offset, time_before_heads=False)
        x = self._attend(state.cache, q, k, v, state.offset, state.exec_mask)
        state.offset.add_(state.exec_mask)
        return self.out_projs[0](x.view(slots, 1, dim))


def attend(
    cache: KvCache,
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    offset: torch.Tensor,
    live: torch.Tensor,
) -> torch.Tensor:
    """Remember `k` and `v` of the slots in `live`, then look up `q` in what is remembered.

    Args:
        q, k, v: [slots, heads, 1, dim].
        offset: position of this step, int64 [slots].
        live: bool [slots]; what comes out for others means nothing.

    Returns:
        [slots, heads, dim].
    """
    cache.put(k[:, :, 0], v[:, :, 0], offset, live)
    seen = torch.arange(cache.positions, device=offset.device) <= offset[:, None]
    keys, values = cache.read(q.dtype)
    found = functional.scaled_dot_product_attention(q, keys, values, seen[:, None, None])
    return found[:, :, 0]
