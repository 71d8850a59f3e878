import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from pipeline.errors import ConfigError
from pipeline.frontends.moshi.checkpoint import find
from pipeline.frontends.moshi.loading import Models, load, read_weights
from tests.fakes.tiny_moshi import TinyCheckpoint

CPU = torch.device("cpu")


@pytest.fixture
def copied(kame: TinyCheckpoint, tmp_path: Path) -> TinyCheckpoint:
    """A KAME checkpoint to be spoilt."""
    shutil.copytree(kame.folder, tmp_path / "copy")
    return replace(kame, folder=tmp_path / "copy")


def models(tiny: TinyCheckpoint, dtype: torch.dtype = torch.float32, **settings: Any) -> Models:
    chosen = tiny.settings.model_copy(update=settings)
    return load(find(chosen, tiny.fetch), CPU, dtype, fuse_lora=chosen.fuse_lora)


def edit_config(tiny: TinyCheckpoint, **changes: Any) -> None:
    path = tiny.folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def edit_weights(tiny: TinyCheckpoint, **changes: torch.Tensor | None) -> None:
    path = tiny.folder / "lm.safetensors"
    state = load_file(path) | changes
    save_file({name: value for name, value in state.items() if value is not None}, path)


def test_a_kame_checkpoint_comes_back_as_it_was_saved(kame: TinyCheckpoint) -> None:
    loaded = models(kame)
    saved = kame.lm.state_dict()
    assert loaded.lm.state_dict().keys() == saved.keys(), "nothing but upstream's own weights"
    assert all(value.equal(saved[name]) for name, value in loaded.lm.state_dict().items())
    assert kame.oracle is not None
    assert loaded.oracle_emb.weight.equal(kame.oracle)
    assert loaded.oracle_trained


def test_plain_moshi_gets_an_oracle_embedding_of_its_text_as_kame_began(
    plain: TinyCheckpoint,
) -> None:
    loaded = models(plain)
    assert not loaded.oracle_trained
    assert loaded.oracle_emb.weight.equal(loaded.lm.text_emb.weight)
    assert loaded.oracle_emb.weight is not loaded.lm.text_emb.weight


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_weights_are_had_in_the_dtype_asked_for_and_the_codec_stays_in_fp32(
    kame: TinyCheckpoint, dtype: torch.dtype
) -> None:
    loaded = models(kame, dtype)
    assert {parameter.dtype for parameter in loaded.lm.parameters()} == {dtype}
    assert loaded.oracle_emb.weight.dtype is dtype
    assert {parameter.dtype for parameter in loaded.mimi.parameters()} == {torch.float32}


def test_the_scales_of_8_bit_weights_stay_exact(tmp_path: Path) -> None:
    weights = {
        "linear.weight": torch.ones(2, 2, dtype=torch.int8),
        "linear.weight_scb": torch.ones(2),
        "norm.alpha": torch.ones(2),
    }
    save_file(weights, tmp_path / "model.q8.safetensors")
    state = read_weights(tmp_path / "model.q8.safetensors", CPU, torch.bfloat16)
    assert {name: value.dtype for name, value in state.items()} == {
        "linear.weight": torch.int8,
        "linear.weight_scb": torch.float32,
        "norm.alpha": torch.bfloat16,
    }


@pytest.mark.parametrize("fuse", [True, False])
def test_lora_changes_every_linear_layer_as_its_formula_says(
    copied: TinyCheckpoint, fuse: bool
) -> None:
    rank, scaling = 2, 1.5
    state = copied.lm.state_dict()
    lora = {}
    for name, module in copied.lm.named_modules():
        if isinstance(module, torch.nn.Linear):
            lora[f"{name}.lora_A.weight"] = torch.randn(rank, module.in_features)
            lora[f"{name}.lora_B.weight"] = torch.randn(module.out_features, rank)
    save_file(lora, copied.folder / "lora.safetensors")
    edit_config(
        copied, lora=True, lora_rank=rank, lora_scaling=scaling, lora_name="lora.safetensors"
    )
    linear = models(copied, fuse_lora=fuse).lm.text_linear
    assert isinstance(linear, torch.nn.Linear) is fuse
    low, high = lora["text_linear.lora_A.weight"], lora["text_linear.lora_B.weight"]
    x = torch.randn(1, linear.in_features)
    wanted = x @ (state["text_linear.weight"] + scaling * high @ low).T
    torch.testing.assert_close(linear(x), wanted, rtol=1e-4, atol=1e-4)


def test_a_lora_checkpoint_without_its_file_is_told(copied: TinyCheckpoint) -> None:
    edit_config(copied, lora=True)
    with pytest.raises(ConfigError, match=r"LoRA weights, but not where.*--lora-weight"):
        models(copied)


@pytest.mark.parametrize("name", ["lm.safetensors", "mimi.safetensors", "text.model"])
def test_a_truncated_file_is_named(copied: TinyCheckpoint, name: str) -> None:
    path = copied.folder / name
    path.write_bytes(path.read_bytes()[:-1000])
    with pytest.raises(ConfigError, match=rf"{name} is truncated.*Fetch it again"):
        models(copied)


def test_weights_in_another_format_are_told(copied: TinyCheckpoint, tmp_path: Path) -> None:
    (tmp_path / "model.pt").write_bytes(b"")
    with pytest.raises(ConfigError, match=r"model.pt is not a safetensors file"):
        models(copied, moshi_weight=str(tmp_path / "model.pt"))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"text_emb.weight": None}, r"lm.safetensors lacks text_emb.weight"),
        ({"stray.weight": torch.zeros(1)}, r"holds what the model has not: stray.weight"),
        ({"text_emb.weight": torch.zeros(5, 32)}, r"does not fit: .*text_emb.weight"),
        ({"oracle_emb.weight": torch.zeros(5, 32)}, r"does not fit: .*weight"),
    ],
)
def test_weights_that_do_not_fit_are_named(
    copied: TinyCheckpoint, changes: dict[str, torch.Tensor | None], said: str
) -> None:
    edit_weights(copied, **changes)
    with pytest.raises(ConfigError, match=f"{said}.*not of the same model"):
        models(copied)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"no_such_option": 1}, r"describes no Moshi model.*no_such_option"),
        ({"delays": [0, 1]}, r"describes no Moshi model.*expected 9 delays"),
        ({"dep_q": 8}, r"does not both listen and speak"),
        ({"card": 64}, r"The codec has 32 codes a book, the model 64"),
        ({"quantize": True}, r"8-bit.*moshi-q8"),
    ],
)
def test_a_model_that_cannot_be_a_front_end_is_told(
    copied: TinyCheckpoint, changes: dict[str, Any], said: str
) -> None:
    edit_config(copied, **changes)
    with pytest.raises(ConfigError, match=said):
        models(copied)


def test_a_tokenizer_of_another_model_is_told(copied: TinyCheckpoint) -> None:
    edit_config(copied, text_card=64)
    edit_weights(
        copied,
        **{
            "text_emb.weight": torch.zeros(65, 32),
            "depformer_text_emb.weight": torch.zeros(65, 16),
            "text_linear.weight": torch.zeros(64, 32),
            "oracle_emb.weight": torch.zeros(65, 32),
        },
    )
    with pytest.raises(ConfigError, match=r"text.model has 96 tokens, the model 64"):
        models(copied)
