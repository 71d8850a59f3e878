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
from pipeline.engine.scheduler import Scheduler
from pipeline.engine.slots import SlotTable
from pipeline.types import SessionConfig, Slot, StepInput, StepOutput

MEASURED_STEPS = 500
"""The p95 is taken over these: ten seconds of one slot at 20 ms."""

HEADROOM = 0.8
"""Share of a frame that a step may take, p95, for one more conversation to fit."""

BATCHING = 0.1
"""Share of a frame that the first of a step's frames waits for those of other slots."""


class EngineCore:
    def __init__(self, front_end: FrontEnd) -> None:
        self.info = front_end.info
        self._front_end = front_end
        self._slots = SlotTable(self.info.slots)
        self._scheduler = Scheduler(self.info.frame_s, BATCHING * self.info.frame_s)
        self._steps_s: deque[float] = deque(maxlen=MEASURED_STEPS)
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
        steps_s = sorted(self._steps_s)
        p95_s = steps_s[int(0.95 * len(steps_s))] if steps_s else 0.0
        live = self._slots.live
        fits = live < self.info.slots and p95_s <= HEADROOM * self.info.frame_s
        return EngineLoad(live, p95_s, self._scheduler.shed, fits)

    def took(self, step_s: float) -> None:
        """The shell measured a step."""
        self._steps_s.append(step_s)

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

    def _placed(self, index: int, output: StepOutput) -> StepOutput:
        start = self._made[index]
        self._made[index] = start + len(output.pcm)
        return replace(output, start_sample=start)
