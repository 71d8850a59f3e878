"""The contract between the engine and what speaks."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from pipeline.types import Mode, SessionConfig, StepInput, StepOutput


@dataclass(frozen=True, slots=True)
class FrontEndInfo:
    """What the rest of the server must know of a front-end."""

    name: str
    rate_hz: int
    frame_samples: int
    """One step's audio, samples at rate_hz: 480 at 24 kHz is 20 ms."""
    slots: int
    """How many conversations it can hold."""
    speaks_alone: bool
    """True if it can answer without an oracle (s2s)."""
    modes: tuple[Mode, ...] = tuple(Mode)
    """What it can do at all; the first is for calls that ask for none."""
    about: str = ""
    """What an operator should know of it, in a few words."""

    @property
    def frame_s(self) -> float:
        return self.frame_samples / self.rate_hz


class FrontEnd(Protocol):
    """Batched over slots. Every method is called from one thread only.

    A slot absent from `step` keeps its state. An error raised by `step` is the end of the
    front-end: every session ends with it.
    """

    @property
    def info(self) -> FrontEndInfo: ...

    def open(self, index: int, config: SessionConfig) -> None:
        """Make slot `index` fresh for a new conversation."""

    def close(self, index: int) -> None:
        """Forget slot `index`; harmless if `open` had refused it."""

    def step(self, inputs: Mapping[int, StepInput]) -> Mapping[int, StepOutput]:
        """Advance each slot in `inputs` by one frame; one output for each input."""

    def shutdown(self) -> None:
        """Free what it holds (models, worker processes). Called once, last."""
