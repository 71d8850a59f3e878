"""Callers of an engine, in real time: they come, speak, are steered by an oracle, and go.

Frames are cut to the engine's tick, as the server cuts them (pipeline/audio/align.py): each is
complete a few milliseconds before one, some more and some fewer.
"""

import asyncio
import random
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from pipeline.clock import now
from pipeline.engine.face import Engine
from pipeline.types import OracleUpdate, Pcm, SessionConfig, Slot, StepInput

EARLY_S = (0.003, 0.015)
"""How long before the tick a frame is complete: at the least, and at the most."""

STAY_S = 60.0
"""Mean length of a call; lengths are memoryless."""

ORACLE_RATE = 0.15
"""Share of the frames that a piece of the oracle rides on: about two a second."""

EPOCH_RATE = 0.1
"""Share of those that begin a new answer."""


@dataclass
class Heard:
    """Of the frames that were complete between `from_s` and `until_s`."""

    from_s: float
    until_s: float
    latencies_s: list[float] = field(default_factory=list)
    lost: int = 0
    """Frames that the engine dropped."""
    joins: int = 0

    def output(self, complete_s: float, at_s: float) -> None:
        if self.counts(complete_s):
            self.latencies_s.append(at_s - complete_s)

    def drop(self, complete_s: float) -> None:
        self.lost += self.counts(complete_s)

    def counts(self, complete_s: float) -> bool:
        return self.from_s <= complete_s < self.until_s

    @property
    def frames(self) -> int:
        return len(self.latencies_s) + self.lost

    def late_rate(self, frame_s: float) -> float:
        late = sum(each > frame_s for each in self.latencies_s)
        return (late + self.lost) / self.frames if self.frames else 0.0


async def crowd(
    engine: Engine, callers: int, permille: int, from_s: float, until_s: float
) -> Heard:
    """`callers` at once until `until_s`, their conversations `permille` of a context old."""
    heard = Heard(from_s, until_s)
    async with asyncio.TaskGroup() as tasks:
        for number in range(callers):
            work = _line(engine, random.Random(number), permille, heard)
            tasks.create_task(work, name=f"caller {number}")
    return heard


async def _line(engine: Engine, dice: random.Random, permille: int, heard: Heard) -> None:
    """One call after the other."""
    while now() < heard.until_s:
        leaves_s = min(now() + dice.expovariate(1 / STAY_S), heard.until_s)
        slot = await engine.open(SessionConfig(seed=permille))
        try:
            await _call(engine, slot, Frames(engine.info.frame_samples, dice), leaves_s, heard)
        finally:
            await engine.close(slot)
        heard.joins += now() < heard.until_s


async def _call(
    engine: Engine, slot: Slot, frames: "Frames", leaves_s: float, heard: Heard
) -> None:
    sent: deque[float] = deque()
    async with asyncio.TaskGroup() as tasks:
        listening = tasks.create_task(_listen(engine, slot, sent, heard), name="listen")
        await _speak(engine, slot, frames, leaves_s, sent)
        await asyncio.sleep(engine.info.frame_s)  # for what is still to come
        for complete_s in sent:
            heard.drop(complete_s)
        listening.cancel()


async def _speak(
    engine: Engine, slot: Slot, frames: "Frames", leaves_s: float, sent: deque[float]
) -> None:
    ticks = engine.ticks
    assert ticks is not None
    tick_s = ticks.next(now() + EARLY_S[1])
    for frame, early_s in frames:
        await asyncio.sleep(tick_s - early_s - now())
        if now() >= leaves_s:
            return
        sent.append(now())
        engine.submit(slot, frame)
        tick_s += ticks.every_s


async def _listen(engine: Engine, slot: Slot, sent: deque[float], heard: Heard) -> None:
    dropped = 0
    async for _ in engine.outputs(slot):
        at_s = now()
        while dropped < engine.dropped(slot) and len(sent) > 1:
            heard.drop(sent.popleft())
            dropped += 1
        heard.output(sent.popleft(), at_s)


class Frames:
    """A caller's frames without end, each with how long before the tick it is complete."""

    def __init__(self, samples: int, dice: random.Random) -> None:
        self._dice, self._epoch = dice, 1
        noise = np.random.default_rng(dice.getrandbits(32)).normal(0, 0.1, (8, samples))
        self._sounds: list[Pcm] = list(noise.astype(np.float32))

    def __iter__(self) -> Iterator[tuple[StepInput, float]]:
        while True:
            oracle = (self._update(),) if self._dice.random() < ORACLE_RATE else ()
            sound = self._dice.choice(self._sounds)
            yield StepInput(sound, oracle=oracle), self._dice.uniform(*EARLY_S)

    def _update(self) -> OracleUpdate:
        self._epoch += self._dice.random() < EPOCH_RATE
        words = " and so it goes" if self._dice.random() < 0.5 else " on"
        return OracleUpdate(self._epoch, words, False, 0.0, "bench")
