"""When the engine steps, and with which frames: a timed core."""

import math

from pipeline.engine.backlog import Backlog
from pipeline.types import StepInput

MOST_BACKLOG_S = 0.4
"""Audio that may wait in one slot; more is dropped, silence first."""


class Scheduler:
    """Takes one frame a slot, as soon as every live slot has one, or the oldest has waited.

    A slot with no frame is left out of that step. `now` never falls.
    """

    def __init__(self, frame_s: float, max_wait_s: float) -> None:
        self._most = max(2, math.floor(MOST_BACKLOG_S / frame_s))
        self._max_wait_s = max_wait_s
        self._backlogs: dict[int, Backlog] = {}
        self._since_s: dict[int, float] = {}
        self._shed_by_closed = 0

    @property
    def shed(self) -> int:
        """Frames dropped so far, all slots together."""
        return self._shed_by_closed + sum(backlog.shed for backlog in self._backlogs.values())

    def shed_of(self, index: int) -> int:
        """Frames dropped so far in slot `index`."""
        return self._backlogs[index].shed

    def waiting(self, index: int) -> int:
        """Frames that wait in slot `index`."""
        return len(self._backlogs[index])

    def open(self, index: int) -> None:
        self._backlogs[index] = Backlog(self._most)

    def close(self, index: int) -> None:
        self._shed_by_closed += self._backlogs.pop(index).shed
        self._since_s.pop(index, None)

    def submit(self, index: int, frame: StepInput, now: float) -> bool:
        """True if it brings the deadline nearer."""
        before = len(self._since_s)
        self._backlogs[index].push(frame, now)
        self._note(index)
        after = len(self._since_s)
        return after > before and (before == 0 or after == len(self._backlogs))

    def deadline(self) -> float | None:
        """When `take` has something to give; None: when another frame has come."""
        if not self._since_s:
            return None
        all_in = len(self._since_s) == len(self._backlogs)
        return min(self._since_s.values()) + (0.0 if all_in else self._max_wait_s)

    def take(self, now: float) -> dict[int, StepInput]:
        """The next step's frame for each slot that has one; empty if it is not yet time."""
        due_s = self.deadline()
        if due_s is None or now < due_s:
            return {}
        taken = {index: self._backlogs[index].pop() for index in self._since_s}
        for index in taken:
            self._note(index)
        return taken

    def _note(self, index: int) -> None:
        """Since when a slot's oldest frame has waited."""
        since_s = self._backlogs[index].since_s
        if since_s is None:
            self._since_s.pop(index, None)
        else:
            self._since_s[index] = since_s
