"""Models with random weights and nothing to fetch: the 7B to measure with, and a tiny one.

The 7B is as slow and as large as the real one. Neither says anything sensible.
"""

import copy
from collections.abc import Mapping
from typing import Any
from zlib import crc32

import torch
from moshi.models import loaders

from pipeline.frontends.moshi.loading import Models
from pipeline.frontends.moshi.tokens import MARK

TINY_LM: Mapping[str, Any] = loaders._lm_kwargs | {
    "dim": 32,
    "text_card": 96,
    "n_q": 8,
    "dep_q": 4,
    "card": 32,
    "num_heads": 2,
    "num_layers": 2,
    "hidden_scale": 2,
    "context": 24,
    "depformer_dim": 16,
    "depformer_dim_feedforward": 32,
    "depformer_num_heads": 2,
    "depformer_num_layers": 1,
    "depformer_context": 4,
    "delays": [0, 0, 1, 1, 1, 0, 1, 1, 1],
}

_WIDTH = 8
TINY_MIMI: Mapping[str, Any] = loaders._mimi_config | {
    "seanet": loaders._seanet_kwargs | {"dimension": _WIDTH, "n_filters": 2},
    "quantizer": {
        "dimension": 4,
        "n_q": 4,
        "bins": 32,
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


class NumberPieces:
    """A vocabulary without a file: each token is a word."""

    def __init__(self, card: int) -> None:
        self._card = card

    def encode(self, text: str) -> list[int]:
        return [4 + crc32(text.encode()) % (self._card - 4)] if text else []

    def id_to_piece(self, token: int) -> str:
        return f"{MARK}{token}"


_SHAPES = {"7b": (loaders._lm_kwargs, loaders._mimi_config), "tiny": (TINY_LM, TINY_MIMI)}


def random_models(device: torch.device, dtype: torch.dtype, size: str = "7b") -> Models:
    """The same ones each time; `size` is "7b" or "tiny"."""
    torch.manual_seed(0)
    lm_shape, mimi_shape = _SHAPES[size]
    lm = loaders.get_moshi_lm(None, dict(lm_shape), device, dtype)
    mimi = random_mimi(dict(mimi_shape), device, lm.dep_q)
    lm.requires_grad_(False)
    return Models(lm, copy.deepcopy(lm.text_emb), True, mimi, NumberPieces(lm.text_card))


def random_mimi(shape: dict[str, Any], device: torch.device, codebooks: int) -> Any:
    mimi = loaders.get_mimi(None, shape, device, num_codebooks=codebooks)
    for name, buffer in mimi.named_buffers():
        if name.endswith("embedding_sum"):
            buffer.normal_()  # as made they are zeros, and every sound is the same
    return mimi
