"""Upstream's own loop for one caller (moshi/server.py), to be equalled."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from moshi.conditioners import ConditionAttributes
from moshi.models import LMGen
from moshi.utils.compile import no_compile

from pipeline.types import Pcm
from tests.fakes.tiny_moshi import TinyCheckpoint


@dataclass(frozen=True)
class Said:
    """What a model made of a frame."""

    text: int
    """Token; −2 in the first frame."""
    pcm: Pcm


@dataclass
class Upstream:
    """LMGen and Mimi for one caller; iterate `run`."""

    tiny: TinyCheckpoint
    options: dict[str, Any]
    """LMGen's."""
    qualities: Sequence[str] = ()
    """Hibiki's condition of each row, if the model has it."""

    def __post_init__(self) -> None:
        self.lm = self.tiny.fresh_lm()
        self.gen = LMGen(
            self.lm,
            use_sampling=False,
            condition_tensors=self._conditions() if self.qualities else None,
            **self.options,
        )
        self.mimi = self.tiny.mimi()
        self.gen.streaming_forever(1)
        self.mimi.streaming_forever(1)

    def _conditions(self) -> Any:
        self.lm.text_emb.weight.data[2] = self.lm.text_emb.weight.data[3]  # as its loader does
        rows = [ConditionAttributes(text={"description": text}) for text in self.qualities]
        with torch.no_grad():
            return self.lm.condition_provider.prepare_and_provide(rows)

    def run(self, frames: Sequence[Pcm]) -> Iterator[Said]:
        for count, pcm in enumerate(frames):
            with torch.no_grad(), no_compile():
                yield self._step(pcm, first=count == 0)

    def _step(self, pcm: Pcm, *, first: bool) -> Said:
        codes = self.mimi.encode(torch.from_numpy(pcm)[None, None])
        if first:
            self.mimi.reset_streaming()
        tokens = self.gen.step(codes)
        if tokens is None:
            return Said(-2, np.zeros_like(pcm))
        return Said(int(tokens[0, 0, 0]), self.mimi.decode(tokens[:, 1:])[0, 0].numpy())


def upstream(tiny: TinyCheckpoint, frames: Sequence[Pcm], **options: Any) -> list[Said]:
    """`options` are LMGen's."""
    return list(Upstream(tiny, options).run(frames))


def kame_formula(tiny: TinyCheckpoint, frames: Sequence[Pcm], oracle: Sequence[int]) -> list[Said]:
    """The same, with KAME's formula (arXiv 2510.02327): what enters the transformer is the sum of
    the embeddings of audio, text and `oracle`, one token a frame."""
    assert tiny.oracle is not None
    now = iter(oracle)
    reference = Upstream(tiny, {})
    embed = reference.lm.text_emb.forward
    reference.lm.text_emb.forward = _summed(embed, tiny.oracle, now)
    return list(reference.run(frames))


def _summed(
    embed: Callable[[torch.Tensor], torch.Tensor], weight: torch.Tensor, oracle: Iterator[int]
) -> Callable[[torch.Tensor], torch.Tensor]:
    return lambda tokens: embed(tokens) + weight[next(oracle)]
