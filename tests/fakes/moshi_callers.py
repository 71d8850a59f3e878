"""Callers who come and go on one MoshiFrontEnd, each with sound of its own."""

from collections.abc import Sequence

import numpy as np

from pipeline.frontends.moshi.moshi import MoshiFrontEnd
from pipeline.types import OracleUpdate, Pcm, SessionConfig, StepInput, StepOutput
from tests.fakes.upstream_moshi import Said

FRAME = 1920


def sound(frames: int, seed: int) -> list[Pcm]:
    """Noise that is now loud, now soft."""
    rng = np.random.default_rng(seed)
    return [(rng.normal(0, 0.5, FRAME) * rng.random()).astype(np.float32) for _ in range(frames)]


class MoshiCaller:
    """Has slot `index` of `front_end` from now on, and says one of `frames` in each step."""

    def __init__(
        self, front_end: MoshiFrontEnd, index: int, frames: Sequence[Pcm], config: SessionConfig
    ) -> None:
        self.index = index
        self.said: list[Said] = []
        self.outputs: list[StepOutput] = []
        self._front_end = front_end
        self._frames = iter(frames)
        front_end.open(index, config)

    def next(self, *oracle: OracleUpdate) -> StepInput:
        return StepInput(next(self._frames), (), oracle)

    def heard(self, output: StepOutput) -> None:
        self.outputs.append(output)
        self.said.append(Said(int(self._front_end._stepper.text[self.index]), output.pcm))


def step(
    front_end: MoshiFrontEnd, *callers: MoshiCaller, oracle: OracleUpdate | None = None
) -> None:
    """One step in which `callers` take part; `oracle` is for the first."""
    given = [(oracle,) if oracle and caller is callers[0] else () for caller in callers]
    inputs = {c.index: c.next(*more) for c, more in zip(callers, given, strict=True)}
    outputs = front_end.step(inputs)
    assert outputs.keys() == inputs.keys()
    for caller in callers:
        caller.heard(outputs[caller.index])


def same(ours: Sequence[Said], theirs: Sequence[Said]) -> bool:
    """Token by token, and the sound they make, for as long as `ours` lasts."""
    assert len(ours) <= len(theirs)
    pairs = list(zip(ours, theirs, strict=False))
    return all(a.text == b.text for a, b in pairs) and all(
        np.allclose(a.pcm, b.pcm, atol=1e-5) for a, b in pairs
    )
