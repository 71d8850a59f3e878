"""A Moshi or KAME checkpoint of a few kilobytes, in the real formats, with random weights."""

import copy
import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sentencepiece
import torch
from moshi.models import loaders
from safetensors.torch import save_file

from pipeline.frontends.moshi.random_models import TINY_LM, TINY_MIMI, random_mimi
from pipeline.settings import MoshiSettings

CORPUS = (
    "the capital of france is paris and the capital of japan is tokyo",
    "turtles live in the sea and some of them grow very old indeed",
    "what is the tallest mountain in the world and how tall is it",
    "mount everest is the tallest mountain it is almost nine kilometres tall",
)

CONTEXT: int = TINY_LM["context"]
"""Frames: two seconds."""


@dataclass(frozen=True)
class TinyCheckpoint:
    """The files of one checkpoint, as a repository would hold them."""

    folder: Path
    shape: dict[str, Any]
    """Of the model, as upstream takes it."""
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
        return loaders.get_mimi(
            self.folder / "mimi.safetensors", dict(TINY_MIMI), num_codebooks=TINY_LM["dep_q"]
        )

    def fresh_lm(self) -> Any:
        lm = loaders.get_moshi_lm(None, copy.deepcopy(self.shape), "cpu", torch.float32)
        lm.load_state_dict(self.lm.state_dict())
        return lm.eval()


def write(folder: Path, *, kame: bool, **config: Any) -> TinyCheckpoint:
    """`config` goes into config.json, beside the names and over the shape."""
    torch.manual_seed(7)
    shape = TINY_LM | {k: v for k, v in config.items() if k in (*TINY_LM, "conditioners", "fuser")}
    lm = loaders.get_moshi_lm(None, copy.deepcopy(shape), "cpu", torch.float32).eval()
    state = {name: value.clone() for name, value in lm.state_dict().items()}
    oracle = torch.randn(TINY_LM["text_card"] + 1, TINY_LM["dim"]) / 4 if kame else None
    if oracle is not None:
        state["oracle_emb.weight"] = oracle
    save_file(state, folder / "lm.safetensors")
    save_file(_mimi_state(), folder / "mimi.safetensors")
    (folder / "mimi.json").write_text(json.dumps(TINY_MIMI))
    (folder / "text.model").write_bytes(_pieces())
    names = {
        "moshi_name": "lm.safetensors",
        "mimi_name": "mimi.safetensors",
        "mimi_config_name": "mimi.json",
        "tokenizer_name": "text.model",
    }
    (folder / "config.json").write_text(json.dumps(TINY_LM | names | config))
    return TinyCheckpoint(folder, shape, lm, oracle)


def _mimi_state() -> dict[str, torch.Tensor]:
    """Louder than as made, so that what is heard and said makes a difference."""
    mimi = random_mimi(dict(TINY_MIMI), torch.device("cpu"), TINY_LM["dep_q"])
    with torch.no_grad():
        for name, parameter in mimi.named_parameters():
            if name.endswith("conv.weight"):
                parameter.mul_(2.0)
    return {name: value.clone() for name, value in mimi.state_dict().items()}


def _pieces() -> bytes:
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(CORPUS * 20),
        model_writer=model,
        vocab_size=TINY_LM["text_card"],
        model_type="bpe",
        pad_id=3,
        minloglevel=2,
    )
    return model.getvalue()
