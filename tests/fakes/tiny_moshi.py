"""A Moshi or KAME checkpoint of a few kilobytes, in the real formats, with random weights."""

import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sentencepiece
import torch
from moshi.models import loaders
from safetensors.torch import save_file

from pipeline.settings import MoshiSettings

CORPUS = (
    "the capital of france is paris and the capital of japan is tokyo",
    "turtles live in the sea and some of them grow very old indeed",
    "what is the tallest mountain in the world and how tall is it",
    "mount everest is the tallest mountain it is almost nine kilometres tall",
)

CONTEXT = 24
"""Frames: two seconds."""

CARD = 32
TEXT_CARD = 96
N_Q, DEP_Q = 8, 4

LM: dict[str, Any] = {
    "dim": 32,
    "text_card": TEXT_CARD,
    "existing_text_padding_id": 3,
    "n_q": N_Q,
    "dep_q": DEP_Q,
    "card": CARD,
    "num_heads": 2,
    "num_layers": 2,
    "hidden_scale": 2,
    "causal": True,
    "layer_scale": None,
    "context": CONTEXT,
    "max_period": 10000,
    "gating": "silu",
    "norm": "rms_norm_f32",
    "positional_embedding": "rope",
    "depformer_dim": 16,
    "depformer_dim_feedforward": 32,
    "depformer_num_heads": 2,
    "depformer_num_layers": 1,
    "depformer_layer_scale": None,
    "depformer_multi_linear": True,
    "depformer_context": DEP_Q,
    "depformer_max_period": 10000,
    "depformer_gating": "silu",
    "depformer_pos_emb": "none",
    "depformer_weights_per_step": True,
    "delays": [0, 0, 1, 1, 1, 0, 1, 1, 1],
}

_WIDTH = 8
MIMI: dict[str, Any] = {
    "sample_rate": 24000,
    "channels": 1,
    "frame_rate": 12.5,
    "seanet": loaders._seanet_kwargs | {"dimension": _WIDTH, "n_filters": 2},
    "quantizer": {
        "dimension": 4,
        "n_q": DEP_Q,
        "bins": CARD,
        "input_dimension": _WIDTH,
        "output_dimension": _WIDTH,
    },
    "transformer": loaders._transformer_kwargs
    | {
        "d_model": _WIDTH,
        "num_heads": 2,
        "num_layers": 1,
        "context": 16,
        "dim_feedforward": 16,
        "input_dimension": _WIDTH,
        "output_dimensions": [_WIDTH],
    },
}


@dataclass(frozen=True)
class TinyCheckpoint:
    """The files of one checkpoint, as a repository would hold them."""

    folder: Path
    lm: Any
    """What was saved, as upstream's model."""
    oracle: torch.Tensor | None
    """KAME's oracle_emb.weight."""

    @property
    def settings(self) -> MoshiSettings:
        """For local files, greedy."""
        return MoshiSettings(
            hf_repo="",
            config_path=str(self.folder / "config.json"),
            device="cpu",
            dtype="fp32",
            max_slots=3,
            temperature=0.0,
            text_temperature=0.0,
        )

    def fetch(self, repo: str, file: str) -> Path:
        """Stands in for the Hub: every repository is this folder."""
        if not (self.folder / file).is_file():
            raise FileNotFoundError(file)
        return self.folder / file

    def mimi(self) -> Any:
        """A fresh codec as upstream loads it."""
        return loaders.get_mimi(self.folder / "mimi.safetensors", MIMI, num_codebooks=DEP_Q)

    def fresh_lm(self) -> Any:
        lm = loaders.get_moshi_lm(None, LM, "cpu", torch.float32)
        lm.load_state_dict(self.lm.state_dict())
        return lm.eval()


def write(folder: Path, *, kame: bool, **config: Any) -> TinyCheckpoint:
    """`config` goes into config.json, beside the shape and the names."""
    torch.manual_seed(7)
    lm = loaders.get_moshi_lm(None, LM, "cpu", torch.float32).eval()
    state = {name: value.clone() for name, value in lm.state_dict().items()}
    oracle = torch.randn(TEXT_CARD + 1, LM["dim"]) / 4 if kame else None
    if oracle is not None:
        state["oracle_emb.weight"] = oracle
    save_file(state, folder / "lm.safetensors")
    save_file(_mimi_state(), folder / "mimi.safetensors")
    (folder / "mimi.json").write_text(json.dumps(MIMI))
    (folder / "text.model").write_bytes(_pieces())
    names = {
        "moshi_name": "lm.safetensors",
        "mimi_name": "mimi.safetensors",
        "mimi_config_name": "mimi.json",
        "tokenizer_name": "text.model",
    }
    (folder / "config.json").write_text(json.dumps(LM | names | config))
    return TinyCheckpoint(folder, lm, oracle)


def _mimi_state() -> dict[str, torch.Tensor]:
    """Codebooks that spread over what the random encoder makes of sound, so that codes vary."""
    mimi = loaders.get_mimi(None, MIMI, num_codebooks=DEP_Q)
    with torch.no_grad():
        for name, buffer in mimi.named_buffers():
            if name.endswith("embedding_sum"):
                buffer.normal_()
        for name, parameter in mimi.named_parameters():
            if name.endswith("conv.weight"):
                parameter.mul_(2.0)
    return {name: value.clone() for name, value in mimi.state_dict().items()}


def _pieces() -> bytes:
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(CORPUS * 20),
        model_writer=model,
        vocab_size=TEXT_CARD,
        model_type="bpe",
        pad_id=3,
        minloglevel=2,
    )
    return model.getvalue()
