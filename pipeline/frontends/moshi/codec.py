"""Mimi, for slots that hear and speak at different times."""

from typing import Any

import torch

from pipeline.frontends.moshi.lm import UNGENERATED


class Codec:
    """Encoder and decoder of all slots. Each keeps a state of its own, which moves only for the
    slots that take part; upstream has one mask for both, so it is set before each."""

    def __init__(self, mimi: Any, slots: int) -> None:
        self._mimi = mimi
        mimi.streaming_forever(slots)

    def reset(self, slots: torch.Tensor) -> None:
        """`slots` (bool [B]) begin anew."""
        self._mimi.reset_streaming(slots)

    def encode(self, pcm: torch.Tensor, hearing: torch.Tensor) -> Any:
        """Codes, int64 [B, codebooks, 1], of `pcm`, float32 [B, frame], for slots in `hearing`."""
        self._mimi.set_exec_mask(hearing)
        return self._mimi.encode(pcm[:, None])

    def decode(self, tokens: torch.Tensor) -> Any:
        """float32 [B, frame] of audio tokens, int64 [B, dep_q, 1]; silence where there are none.

        A slot without tokens is left out. Clamping them instead would be heard later: the first
        real frame came out 36 % off.
        """
        speaking = tokens[:, 0, 0] != UNGENERATED
        self._mimi.set_exec_mask(speaking)
        pcm = self._mimi.decode(tokens.clamp(min=0))[:, 0]
        return torch.where(speaking[:, None], pcm, 0.0)
