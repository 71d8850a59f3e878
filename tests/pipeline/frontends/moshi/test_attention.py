"""Upstream's tokens, through joins and leaves, from a cache of our own; nearly so in 8 bits."""

import copy
from collections.abc import Iterator
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("moshi")

from moshi.models import LMGen, loaders  # noqa: E402
from moshi.utils.compile import no_compile  # noqa: E402

from pipeline.errors import ConfigError  # noqa: E402
from pipeline.frontends.moshi.attention import replace  # noqa: E402
from pipeline.frontends.moshi.kv_cache import KvKind  # noqa: E402

CONTEXT = 24
SHAPE = {
    **loaders._lm_kwargs,
    **{"dim": 64, "num_heads": 4, "num_layers": 3, "text_card": 60, "context": CONTEXT},
    **{"n_q": 4, "dep_q": 2, "card": 40, "delays": [0, 0, 1, 0, 1]},
    **{"depformer_dim": 32, "depformer_num_heads": 2, "depformer_num_layers": 1},
}
SLOTS = 3


@pytest.fixture(autouse=True)
def uncompiled() -> Iterator[None]:
    with no_compile(), torch.no_grad():
        yield


def model(**other: Any) -> Any:
    torch.manual_seed(1)
    return loaders.get_moshi_lm(None, {**SHAPE, **other}, "cpu", torch.float32)


def run(lm: Any, steps: int, slots: int = SLOTS) -> Any:
    """Tokens of `steps` steps in which slots come, miss steps, leave and come again."""
    torch.manual_seed(2)
    gen = LMGen(lm, use_sampling=False, support_out_of_sync=True)
    heard = torch.randint(0, SHAPE["card"], (steps, slots, 2, 1))
    tokens = []
    with gen.streaming(slots):
        for step in range(steps):
            if step % 31 == 30:
                gen.reset_streaming(torch.arange(slots) == step % slots)
            gen.set_exec_mask(
                torch.tensor([(step + slot) % (slot + 4) > 0 for slot in range(slots)])
            )
            tokens.append(gen.step(heard[step]))
    return torch.stack(tokens)


def test_tokens_are_upstreams_through_joins_leaves_and_more_than_a_context() -> None:
    lm = model()
    ours = copy.deepcopy(lm)
    replace(ours, KvKind.FULL)
    assert torch.equal(run(lm, 4 * CONTEXT), run(ours, 4 * CONTEXT))


def test_what_a_slot_says_does_not_depend_on_who_else_is_there() -> None:
    lm = model()
    replace(lm, KvKind.INT8)
    both = run(lm, 60)
    torch.manual_seed(2)
    heard = torch.randint(0, SHAPE["card"], (60, SLOTS, 2, 1))[:, 1:2]
    gen = LMGen(lm, use_sampling=False, support_out_of_sync=True)
    with gen.streaming(1):
        for step in range(30):
            gen.set_exec_mask(torch.tensor([(step + 1) % 5 > 0]))
            assert torch.equal(gen.step(heard[step])[0], both[step, 1])


def test_a_model_that_has_forgotten_says_what_a_new_one_says() -> None:
    lm = model()
    replace(lm, KvKind.INT8)
    gen = LMGen(lm, use_sampling=False, support_out_of_sync=True)
    heard = torch.randint(0, SHAPE["card"], (2 * CONTEXT, 2, 2, 1))
    with gen.streaming(2):
        first = [gen.step(codes) for codes in heard]
        gen.reset_streaming()
        assert torch.equal(torch.stack(first), torch.stack([gen.step(codes) for codes in heard]))


def logits(lm: Any, codes: Any) -> Any:
    """Of the text, [slots, steps, card], each step after the one before."""
    with lm.streaming(len(codes)):
        return torch.cat([lm.forward_text(each)[1][:, 0] for each in codes.split(1, dim=2)], dim=1)


def test_eight_bits_change_almost_nothing_at_full_context() -> None:
    lm = model(context=200, dim=256, num_layers=4)
    ours = copy.deepcopy(lm)
    replace(ours, KvKind.INT8)
    codes = torch.randint(0, SHAPE["card"], (8, 5, 320))
    full, bytes_ = (logits(each, codes)[:, 200:].log_softmax(-1) for each in (lm, ours))
    divergence = (full.exp() * (full - bytes_)).sum(-1).mean()
    agreement = (full.argmax(-1) == bytes_.argmax(-1)).float().mean()
    assert 0 < divergence < 2e-5
    assert agreement > 0.97  # of logits that are nearly flat, as random weights make them


def test_no_step_reads_what_lies_in_the_ring_from_an_earlier_conversation() -> None:
    lm = model()
    replace(lm, KvKind.INT8)
    codes = torch.randint(0, SHAPE["card"], (2, 5, 5))
    fresh = logits(lm, codes)
    with lm.streaming(2):
        for layer in lm.transformer.layers:
            cache = layer.self_attn._streaming_state.cache
            cache.keys.fill_(99), cache.key_scales.fill_(1e3)
            cache.values.fill_(99), cache.value_scales.fill_(1e3)
        used = [lm.forward_text(each)[1][:, 0] for each in codes.split(1, dim=2)]
    assert torch.equal(torch.cat(used, dim=1), fresh)


def test_a_model_whose_heads_share_keys_keeps_upstreams_cache_or_is_refused() -> None:
    lm = model(kv_repeat=2, depformer_kv_repeat=1)
    plain = run(copy.deepcopy(lm), 10)
    replace(lm, KvKind.FULL)
    assert torch.equal(run(lm, 10), plain)
    with pytest.raises(ConfigError, match="cannot be kept in int8"):
        replace(lm, KvKind.INT8)
