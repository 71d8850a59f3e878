"""Moshi's 7B with random weights: as slow and as large as the real one, and nothing to fetch."""

import copy
from zlib import crc32

import torch
from moshi.models import loaders

from pipeline.frontends.moshi.loading import Models
from pipeline.frontends.moshi.tokens import MARK


class NumberPieces:
    """A vocabulary without a file: each token is a word."""

    def __init__(self, card: int) -> None:
        self._card = card

    def encode(self, text: str) -> list[int]:
        return [4 + crc32(text.encode()) % (self._card - 4)] if text else []

    def id_to_piece(self, token: int) -> str:
        return f"{MARK}{token}"


def random_models(device: torch.device, dtype: torch.dtype) -> Models:
    torch.manual_seed(0)
    lm = loaders.get_moshi_lm(None, None, device, dtype)
    mimi = loaders.get_mimi(None, None, device, num_codebooks=lm.n_q - lm.dep_q)
    for name, buffer in mimi.named_buffers():
        if name.endswith("embedding_sum"):
            buffer.normal_()  # zeros else: every sound would be the same
    lm.requires_grad_(False)
    return Models(lm, copy.deepcopy(lm.text_emb), True, mimi, NumberPieces(lm.text_card))
