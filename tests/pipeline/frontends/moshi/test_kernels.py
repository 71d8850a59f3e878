"""On a GPU: the kernels give what the plain attention gives. Skipped where there is none."""

from typing import Any

import pytest

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("there is no GPU", allow_module_level=True)

from pipeline.frontends.moshi import attention, kernels  # noqa: E402
from pipeline.frontends.moshi.kv_cache import KvCache, KvKind  # noqa: E402

HEADS, DIM = 32, 128


def cache(kind: KvKind, slots: int, positions: int, dtype: Any) -> KvCache:
    like = torch.zeros(1, dtype=dtype, device="cuda")
    return KvCache.empty(kind, (slots, HEADS, positions, DIM), like)


@pytest.mark.parametrize("kind", KvKind)
@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(torch.float32, 1e-4), (torch.bfloat16, 8e-3), (torch.float16, 4e-3)]
)
@pytest.mark.parametrize(("slots", "positions"), [(1, 3000), (3, 71), (16, 500), (70, 96)])
def test_kernels_find_what_the_plain_attention_finds_round_the_ring(
    kind: KvKind, dtype: Any, tolerance: float, slots: int, positions: int
) -> None:
    torch.manual_seed(1)
    plain, fast = (cache(kind, slots, positions, dtype) for _ in range(2))
    offset = torch.randint(0, 2 * positions, (slots,), device="cuda")
    offset[0] = 0
    for ring in (plain, fast):  # as if all that was before had been zeros, with scales
        for scales in (ring.key_scales, ring.value_scales):
            if scales is not None:
                scales.fill_(0.02)
    for _ in range(6):
        live = torch.rand(slots, device="cuda") < 0.7
        live[0] = True
        qkv = torch.randn(slots, 1, 3, HEADS, DIM, dtype=dtype, device="cuda")
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        wanted = attention.attend(plain, q, k, v, offset, live)[live].float()
        found = kernels.attend(fast, q, k, v, offset, live)
        assert (found[live].float() - wanted).norm() <= tolerance * wanted.norm()
        assert not found[~live].any()
        offset = offset + live
