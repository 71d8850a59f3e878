"""Slots, scheduler and front-end together: everything of an engine but its thread.

`admit`, `dismiss`, `submit`, `shed`, `deadline`, `take` and `load` are called under the shell's
lock or from its only thread; `open`, `close`, `step` and `shutdown` from the thread that runs the
front-end.
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import replace

from pipeline.engine.face import EngineLoad
from pipeline.engine.frontend import FrontEnd
from pipeline.engine.histogram import Histogram
from pipeline.engine.scheduler import Scheduler
from pipeline.engine.slots import SlotTable
from pipeline.types import SessionConfig, Slot, StepInput, StepOutput, Ticks

MEASURED_STEPS = 500
"""The p95 is taken over these: ten seconds of one slot at 20 ms."""

ENOUGH_STEPS = 25
"""So many tell something; a single slow one among fewer keeps nobody out."""

HEADROOM = 0.8
"""Share of a frame that a step may take, p95, for one more conversation to fit."""

BATCHING = 0.1
"""Share of a frame that the first of a step's frames waits for those of other slots."""


class EngineCore:
    """Steps on `ticks`, if there are any (scheduler.py). `generation` is that of slots before
    they are first taken: an engine that replaces another begins above the other's."""

    def __init__(
        self, front_end: FrontEnd, ticks: Ticks | None = None, generation: int = 0
    ) -> None:
        self.info = front_end.info
        self.ticks = ticks
        self._front_end = front_end
        self._slots = SlotTable(self.info.slots, generation)
        self._scheduler = Scheduler(self.info.frame_s, BATCHING * self.info.frame_s, ticks)
        self._steps_s: deque[float] = deque(maxlen=MEASURED_STEPS)
        self._steps, self._latencies, self._late = Histogram(), Histogram(), 0
        self._made: dict[int, int] = {}
        """Samples of output so far, by slot."""

    def admit(self) -> Slot:
        """Raises EngineFull."""
        slot = self._slots.take()
        self._scheduler.open(slot.index)
        return slot

    def dismiss(self, slot: Slot) -> bool:
        """False if `slot` is stale."""
        if not self._slots.release(slot):
            return False
        self._scheduler.close(slot.index)
        if not self._slots.live:
            self._steps_s.clear()
        return True

    def submit(self, slot: Slot, frame: StepInput, now: float) -> bool:
        """True if it brings the deadline nearer."""
        return self._slots.holds(slot) and self._scheduler.submit(slot.index, frame, now)

    def shed(self, slot: Slot) -> int:
        """Frames of this slot that were dropped so far; 0 if it is stale."""
        return self._scheduler.shed_of(slot.index) if self._slots.holds(slot) else 0

    def deadline(self) -> float | None:
        return self._scheduler.deadline()

    def take(self, now: float) -> dict[Slot, StepInput]:
        """The next step's frames; empty if it is not yet time."""
        taken = self._scheduler.take(now)
        return {self._slots.at(index): frame for index, frame in taken.items()}

    def load(self) -> EngineLoad:
        live, p95_s = self._slots.live, self._p95_s()
        keeps_up = len(self._steps_s) < ENOUGH_STEPS or p95_s <= HEADROOM * self.info.frame_s
        return EngineLoad(
            live=live,
            step_p95_s=p95_s,
            shed=self._scheduler.shed,
            fits=live < self.info.slots and keeps_up,
            steps=self._steps.times,
            latencies=self._latencies.times,
            late=self._late,
            standing=self._scheduler.standing,
        )

    def took(self, step_s: float, now: float) -> None:
        """The shell measured a step, which has just ended."""
        self._steps_s.append(step_s)
        self._steps.add(step_s)
        self._scheduler.stepped(now)
        self._scheduler.step_s = self._p95_s()
        for came_s in self._scheduler.taken_s:
            self._latencies.add(now - came_s)
            self._late += now - came_s > self.info.frame_s

    def open(self, slot: Slot, config: SessionConfig) -> None:
        self._front_end.open(slot.index, config)
        self._made[slot.index] = 0

    def close(self, slot: Slot) -> None:
        self._front_end.close(slot.index)

    def step(self, batch: Mapping[Slot, StepInput]) -> dict[Slot, StepOutput]:
        outputs = self._front_end.step({slot.index: frame for slot, frame in batch.items()})
        return {slot: self._placed(slot.index, outputs[slot.index]) for slot in batch}

    def shutdown(self) -> None:
        self._front_end.shutdown()

    def _p95_s(self) -> float:
        steps_s = sorted(self._steps_s)
        return steps_s[int(0.95 * len(steps_s))] if steps_s else 0.0

    def _placed(self, index: int, output: StepOutput) -> StepOutput:
        start = self._made[index]
        self._made[index] = start + len(output.pcm)
        return replace(output, start_sample=start)
