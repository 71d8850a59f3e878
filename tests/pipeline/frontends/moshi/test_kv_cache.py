"""A ring of 8-bit keys and values."""

import pytest

torch = pytest.importorskip("torch")

from pipeline.frontends.moshi.kv_cache import KvCache, KvKind, quantise  # noqa: E402

SLOTS, HEADS, POSITIONS, DIM = 3, 2, 7, 32


def cache(kind: KvKind) -> KvCache:
    return KvCache.empty(kind, (SLOTS, HEADS, POSITIONS, DIM), torch.zeros(1))


def test_what_was_put_is_read_where_its_position_lies_in_the_ring() -> None:
    ring = cache(KvKind.FULL)
    key, value = torch.randn(2, SLOTS, HEADS, DIM)
    ring.put(key, value, torch.tensor([0, 8, 20]), torch.tensor([True, True, True]))
    keys, values = ring.read(torch.float32)
    for slot, at in enumerate((0, 1, 6)):
        assert torch.equal(keys[slot, :, at], key[slot])
        assert torch.equal(values[slot, :, at], value[slot])


@pytest.mark.parametrize("kind", KvKind)
def test_a_masked_slot_remembers_nothing_new(kind: KvKind) -> None:
    ring = cache(kind)
    key, value = torch.randn(2, SLOTS, HEADS, DIM)
    ring.put(key, value, torch.zeros(SLOTS, dtype=torch.long), torch.tensor([True, False, True]))
    keys, values = ring.read(torch.float32)
    assert keys[0].any() and values[2].any()
    assert not keys[1].any() and not values[1].any()


def test_bytes_are_within_half_a_step_of_the_greatest_of_their_head() -> None:
    x = torch.randn(50, 4, 128) * torch.logspace(-4, 4, 50)[:, None, None]
    stored, scales = quantise(x, torch.int8, 127.0)
    wrong = (stored.float() * scales.float()[..., None] - x).abs().amax(-1)
    # The scale has 8 bits too, so the greatest itself may be cut a little.
    assert (wrong <= x.abs().amax(-1) * (0.5 / 127 + 2**-8)).all()
    assert float(wrong.pow(2).mean()) > 0


def test_silence_stays_silence() -> None:
    stored, scales = quantise(torch.zeros(3, 2, 16), torch.int8, 127.0)
    assert not stored.any()
    assert torch.isfinite(scales).all()


def test_bytes_take_half_of_what_bf16_takes_and_a_64th() -> None:
    def size(kind: KvKind) -> int:
        shape = (1, 32, 3000, 128)
        ring = KvCache.empty(kind, shape, torch.zeros(1, dtype=torch.bfloat16, device="meta"))
        return sum(tensor.nbytes for tensor in vars(ring).values() if tensor is not None)

    assert size(KvKind.INT8) / size(KvKind.FULL) == pytest.approx(0.5 + 1 / 128)
