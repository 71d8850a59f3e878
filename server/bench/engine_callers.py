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
from pipeline.types import OracleUpdate, Pcm, SessionConfig, Slot, StepInput, silence

EARLY_S = (0.002, 0.01)
"""How long before the tick a frame is complete: at the least, and at the most."""

SPURT_FRAMES = 25
"""Mean length of speech, and of the silence after it: two seconds."""

PATIENCE_S = 1.0
"""For the last outputs of a call; then they are lost."""

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
    engine: Engine, callers: int, permille: int, settle_s: float, seconds: float
) -> Heard:
    """`callers` at once for so long, their conversations `permille` of a context old.

    What they hear counts once they have been there for `settle_s`.
    """
    config = SessionConfig(seed=permille)
    slots = [await engine.open(config) for _ in range(callers)]
    heard = Heard(now() + settle_s, now() + settle_s + seconds)
    async with asyncio.TaskGroup() as tasks:
        for number, slot in enumerate(slots):
            work = _line(engine, slot, config, random.Random(number), heard)
            tasks.create_task(work, name=f"caller {number}")
    return heard


async def _line(
    engine: Engine, slot: Slot, config: SessionConfig, dice: random.Random, heard: Heard
) -> None:
    """One call after the other."""
    while True:
        leaves_s = min(now() + dice.expovariate(1 / STAY_S), heard.until_s)
        frames = Frames(engine.info.frame_samples, dice)
        try:
            await _call(engine, slot, frames, leaves_s, heard)
        finally:
            await engine.close(slot)
        if leaves_s >= heard.until_s:
            return
        slot = await engine.open(config)
        heard.joins += 1


async def _call(
    engine: Engine, slot: Slot, frames: "Frames", leaves_s: float, heard: Heard
) -> None:
    sent: deque[float] = deque()
    spoken = asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        listening = tasks.create_task(_listen(engine, slot, sent, spoken, heard), name="listen")
        await _speak(engine, slot, frames, leaves_s, sent)
        spoken.set()
        if sent:
            await asyncio.wait({listening}, timeout=PATIENCE_S)
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
        complete_s = tick_s - early_s
        await asyncio.sleep(min(complete_s, leaves_s) - now())
        if complete_s >= leaves_s:
            return
        sent.append(now())
        engine.submit(slot, frame)
        tick_s += ticks.every_s


async def _listen(
    engine: Engine, slot: Slot, sent: deque[float], spoken: asyncio.Event, heard: Heard
) -> None:
    """Until all has been `spoken` and heard."""
    dropped = 0
    async for _ in engine.outputs(slot):
        at_s = now()
        while dropped < engine.dropped(slot) and len(sent) > 1:
            heard.drop(sent.popleft())
            dropped += 1
        heard.output(sent.popleft(), at_s)
        if spoken.is_set() and not sent:
            return


class Frames:
    """A caller's frames without end, each with how long before the tick it is complete."""

    def __init__(self, samples: int, dice: random.Random) -> None:
        self._dice, self._epoch = dice, 1
        noise = np.random.default_rng(dice.getrandbits(32)).normal(0, 0.1, (8, samples))
        self._sounds: list[Pcm] = list(noise.astype(np.float32))
        self._quiet = silence(samples)

    def __iter__(self) -> Iterator[tuple[StepInput, float]]:
        speaking = False
        while True:
            speaking ^= self._dice.random() < 1 / SPURT_FRAMES
            oracle = (self._update(),) if self._dice.random() < ORACLE_RATE else ()
            sound = self._dice.choice(self._sounds) if speaking else self._quiet
            yield StepInput(sound, oracle=oracle), self._dice.uniform(*EARLY_S)

    def _update(self) -> OracleUpdate:
        self._epoch += self._dice.random() < EPOCH_RATE
        words = " and so it goes" if self._dice.random() < 0.5 else " on"
        return OracleUpdate(self._epoch, words, False, 0.0, "bench")
