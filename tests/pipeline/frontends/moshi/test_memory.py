import pytest
import torch

from pipeline.errors import ConfigError
from pipeline.frontends.moshi.kv_cache import KvKind
from pipeline.frontends.moshi.memory import GIB, CacheShape, enough, slot_bytes, slots_that_fit
from pipeline.frontends.moshi.random_models import random_models

SEVEN_B = CacheShape(layers=32, positions=3000, width=4096, element_bytes=2)


def test_a_conversation_of_the_7b_keeps_1_57_gb() -> None:
    assert SEVEN_B.slot_bytes == pytest.approx(1.573e9, rel=1e-3)


def test_an_h200_holds_the_64_that_upstreams_cache_is_known_to_fit() -> None:
    free = 139 * GIB - 15_800_000_000
    assert 64 <= slots_that_fit(free, SEVEN_B.slot_bytes, most=128) < 90
    eight_bit = CacheShape(32, 3000, 4096, element_bytes=1 + 2 / 128)
    assert slots_that_fit(free, eight_bit.slot_bytes, most=128) == 128


def test_a_small_gpu_is_refused_with_what_it_lacks() -> None:
    with pytest.raises(ConfigError, match=r"2\.0 GiB are free beside the weights, 2\.5 GiB"):
        slots_that_fit(2 * GIB, SEVEN_B.slot_bytes, most=8)


def test_eight_bits_and_guidance_count() -> None:
    models = random_models(torch.device("cpu"), torch.float32, "tiny")
    of = {
        (kind, rows): slot_bytes(models.lm, models.mimi, kind, rows=rows)
        for kind in KvKind
        for rows in (1, 2)
    }
    own = 2 * 2 * 24 * 32  # keys and values, layers, positions, width
    assert of[KvKind.FULL, 2] - of[KvKind.FULL, 1] == 4 * own
    assert of[KvKind.FP8, 2] - of[KvKind.FP8, 1] == own + own // 16 * 2


def test_running_out_is_told_as_a_setting_to_change() -> None:
    with (
        pytest.raises(ConfigError, match=r"for 3 conversations.*Lower max_slots"),
        enough("for 3 conversations"),
    ):
        raise torch.OutOfMemoryError("CUDA out of memory")
