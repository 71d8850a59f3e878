"""The same as `attention.attend` on a GPU, in Triton; what a step costs there is reading the cache.

All sizes that change from step to step lie in device memory, so that a CUDA graph can hold it.
Plain multiply-adds: with one query a head, tensor cores gain nothing over them, and what they
need first (a shared-memory copy, barriers) costs more than reading does.
"""
# mypy: disable-error-code="no-untyped-def, untyped-decorator"

import math

import torch
import triton
import triton.language as tl

from pipeline.frontends.moshi.kv_cache import STORED, TINY, KvCache

BLOCK = 32
"""Positions that are read at once; each thread then holds two rows' share of 16 bytes."""

ENOUGH = 2048
"""Programs that keep every multiprocessor reading to the end."""

MOST_SPLITS = 16


def attend(
    cache: KvCache,
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    offset: torch.Tensor,
    live: torch.Tensor,
) -> torch.Tensor:
    slots, heads, _, dim = q.shape
    top = next((top for dtype, top in STORED.values() if dtype is cache.keys.dtype), 0.0)
    in_bytes = cache.key_scales is not None
    scales = (cache.key_scales, cache.value_scales) if in_bytes else (cache.keys, cache.values)
    shape = {"HEADS": heads, "POSITIONS": cache.positions, "DIM": dim}
    rings = (cache.keys, cache.values, *scales, offset, live)
    _put[slots, heads](
        k, v, *rings, k.stride(0), k.stride(1), v.stride(0), v.stride(1),
        **shape, TOP=top, TINY=TINY,
    )  # fmt: skip
    splits = min(MOST_SPLITS, triton.next_power_of_2(triton.cdiv(ENOUGH, slots * heads)))
    out = q.new_empty(slots, heads, dim)
    parts = out if splits == 1 else out.new_empty(slots, heads, splits, dim, dtype=torch.float32)
    weights = out.new_empty(slots, heads, splits, 2, dtype=torch.float32)
    q = q.contiguous()
    _attend[slots * heads, splits](
        q, *rings, parts, weights, math.log2(math.e) / math.sqrt(dim),
        **shape, SPLITS=splits, BLOCK=BLOCK, IN_BYTES=in_bytes, STAGES=1 if in_bytes else 2,
    )  # fmt: skip
    if splits > 1:
        _combine[(slots * heads,)](parts, weights, out, DIM=dim, SPLITS=splits)
    return out


@triton.jit
def _put(
    k_at, v_at, keys, values, key_scales, value_scales, offset, live,
    k_slot, k_head, v_slot, v_head,
    HEADS: tl.constexpr, POSITIONS: tl.constexpr, DIM: tl.constexpr,
    TOP: tl.constexpr, TINY: tl.constexpr,
):  # fmt: skip
    slot, head = tl.program_id(0), tl.program_id(1)
    if tl.load(live + slot):
        column = tl.arange(0, DIM)
        row = (slot * HEADS + head).to(tl.int64) * POSITIONS + tl.load(offset + slot) % POSITIONS
        k = tl.load(k_at + slot * k_slot + head * k_head + column)
        v = tl.load(v_at + slot * v_slot + head * v_head + column)
        _store(k, keys + row * DIM + column, key_scales + row, TOP, TINY)
        _store(v, values + row * DIM + column, value_scales + row, TOP, TINY)


@triton.jit
def _store(x, to, scale_to, TOP: tl.constexpr, TINY: tl.constexpr):
    if TOP > 0:
        x = x.to(tl.float32)
        scale = (tl.maximum(tl.max(tl.abs(x), 0), TINY) / TOP).to(tl.bfloat16)
        x = tl.clamp(x / scale.to(tl.float32), -TOP, TOP)
        if to.dtype.element_ty == tl.int8:
            x = tl.floor(x + 0.5)
        tl.store(scale_to, scale)
    tl.store(to, x.to(to.dtype.element_ty))


@triton.jit
def _attend(
    q_at, keys, values, key_scales, value_scales, offset, live, parts, weights, scale,
    HEADS: tl.constexpr, POSITIONS: tl.constexpr, DIM: tl.constexpr, SPLITS: tl.constexpr,
    BLOCK: tl.constexpr, IN_BYTES: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    """One slot and head, and a share of its positions.

    Each row of the block keeps a softmax of its own (arXiv 1805.02867), so that threads need
    each other only at the end.
    """
    pair, split = tl.program_id(0), tl.program_id(1)
    slot = pair // HEADS
    seen = tl.minimum(tl.load(offset + slot) + 1, POSITIONS).to(tl.int32)
    seen *= tl.load(live + slot).to(tl.int32)
    share = tl.cdiv(tl.cdiv(seen, SPLITS), BLOCK) * BLOCK
    start = split * share
    end = tl.minimum(start + share, seen)
    column, row = tl.arange(0, DIM), tl.arange(0, BLOCK)
    # Offsets within a slot's head fit 32 bits, which makes a step an eighth faster.
    first = pair.to(tl.int64) * POSITIONS
    keys, values = keys + first * DIM, values + first * DIM
    if IN_BYTES:
        key_scales, value_scales = key_scales + first, value_scales + first
    q = tl.load(q_at + pair * DIM + column).to(tl.float32) * scale
    most = tl.full([BLOCK], -1e30, tl.float32)
    total = tl.zeros([BLOCK], tl.float32)
    found = tl.zeros([BLOCK, DIM], tl.float32)
    for at in tl.range(start, end, BLOCK, num_stages=STAGES):
        rows = at + row
        there = rows < end
        cells = rows[:, None] * DIM + column[None, :]
        k = tl.load(keys + cells, there[:, None], 0.0, eviction_policy="evict_first")
        v = tl.load(values + cells, there[:, None], 0.0, eviction_policy="evict_first")
        score = tl.sum(_floats(k) * q[None, :], 1)
        if IN_BYTES:
            score *= tl.load(key_scales + rows, there, 0.0).to(tl.float32)
        score = tl.where(there, score, -1e30)
        higher = tl.maximum(most, score)
        fade = tl.exp2(most - higher)
        weight = tl.where(there, tl.exp2(score - higher), 0.0)
        total = total * fade + weight
        most = higher
        if IN_BYTES:
            weight *= tl.load(value_scales + rows, there, 0.0).to(tl.float32)
        found = found * fade[:, None] + _floats(v) * weight[:, None]
    highest = tl.max(most, 0)
    fade = tl.exp2(most - highest)
    total_of_all = tl.sum(total * fade, 0)
    found_of_all = tl.sum(found * fade[:, None], 0)
    part = pair * SPLITS + split
    if SPLITS == 1:
        tl.store(parts + pair * DIM + column, found_of_all / tl.maximum(total_of_all, 1e-30))
    else:
        tl.store(parts + part * DIM + column, found_of_all)
        tl.store(weights + 2 * part, highest)
        tl.store(weights + 2 * part + 1, total_of_all)


@triton.jit
def _combine(parts, weights, out, DIM: tl.constexpr, SPLITS: tl.constexpr):
    pair = tl.program_id(0)
    column, part = tl.arange(0, DIM), pair * SPLITS + tl.arange(0, SPLITS)
    most = tl.load(weights + 2 * part)
    fade = tl.exp2(most - tl.max(most, 0))
    total = tl.sum(tl.load(weights + 2 * part + 1) * fade, 0)
    found = tl.load(parts + part[:, None] * DIM + column[None, :])
    found = tl.sum(found * fade[:, None], 0)
    tl.store(out + pair * DIM + column, found / tl.maximum(total, 1e-30))


@triton.jit
def _floats(x):
    if x.dtype == tl.int8:
        return _half(x).to(tl.float32)
    return x.to(tl.float32)


@triton.jit
def _half(x):
    """int8 as float16, four at a time. The bits of 1024 + n, n below 1024, are those of 1024 with
    n in the lowest: so bytes are put in place and 1152 is subtracted, which the compiler's own
    conversion, a quarter as fast, does not do."""
    return tl.inline_asm_elementwise(
        """{ .reg .b32 unsigned, low, high, bias;
        mov.b32 bias, 0x64806480;
        xor.b32 unsigned, $2, 0x80808080;
        prmt.b32 low, unsigned, 0x64646464, 0x4140;
        prmt.b32 high, unsigned, 0x64646464, 0x4342;
        sub.f16x2 $0, low, bias;
        sub.f16x2 $1, high, bias; }""",
        "=r,=r,r",
        [x],
        dtype=tl.float16,
        is_pure=True,
        pack=4,
    )
