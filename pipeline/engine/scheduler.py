"""When the engine steps, and with which frames: a timed core.

Without ticks a step begins as soon as every live slot has a frame, or the oldest has waited
long enough: right where a step costs little. Where one step is dear, however few are in it,
there is one a frame: as soon as all are in, or shortly after the tick at the latest. Framers cut
to the tick (pipeline/audio/align.py), so that nobody waits a phase for it.

A slot that missed its tick would be a frame behind for good. It is stepped once more, alone with
others that did, if that ends before the next tick; else the backlog sheds its next silence.
"""

import math

from pipeline.engine.backlog import Backlog
from pipeline.types import StepInput, Ticks

MOST_BACKLOG_S = 0.4
"""Audio that may wait in one slot; more is dropped, silence first."""

GRACE = 0.15
"""Share of a frame that a tick waits for frames that are on their way. A hundred take 10 ms from
the first to the last; whoever missed the tick by a hair would wait a whole frame."""


class Scheduler:
    """Takes one frame a slot; a slot with none is left out of that step. `now` never falls."""

    def __init__(self, frame_s: float, max_wait_s: float, ticks: Ticks | None = None) -> None:
        self._most = max(2, math.floor(MOST_BACKLOG_S / frame_s))
        self._max_wait_s, self._ticks = max_wait_s, ticks
        self._grace_s = GRACE * frame_s
        self._backlogs: dict[int, Backlog] = {}
        self._since_s: dict[int, float] = {}
        self._begun: set[int] = set()
        """Slots that have had a frame."""
        self._missed: set[int] = set()
        """Those of them that are behind."""
        self._shed_by_closed = 0
        self._free_s = -math.inf
        self._tick_s = -math.inf
        """For which tick the frames were that were taken last."""
        self.step_s = 0.0
        """How long a step takes, as far as is known; set by the shell."""
        self.taken_s: tuple[float, ...] = ()
        """When the frames that were taken last had come."""

    @property
    def shed(self) -> int:
        """Frames dropped so far, all slots together."""
        return self._shed_by_closed + sum(backlog.shed for backlog in self._backlogs.values())

    @property
    def standing(self) -> int:
        """Frames that wait behind another of their slot."""
        return sum(max(0, len(backlog) - 1) for backlog in self._backlogs.values())

    def shed_of(self, index: int) -> int:
        """Frames dropped so far in slot `index`."""
        return self._backlogs[index].shed

    def waiting(self, index: int) -> int:
        """Frames that wait in slot `index`."""
        return len(self._backlogs[index])

    def open(self, index: int) -> None:
        self._backlogs[index] = Backlog(self._most, calm=1 if self._ticks else 2)

    def close(self, index: int) -> None:
        self._shed_by_closed += self._backlogs.pop(index).shed
        self._since_s.pop(index, None)
        self._begun.discard(index)
        self._missed.discard(index)

    def submit(self, index: int, frame: StepInput, now: float) -> bool:
        """True if it brings the deadline nearer."""
        idle, fresh = not self._since_s, index not in self._since_s
        self._backlogs[index].push(frame, now)
        if index not in self._begun and self._ticks and self._ticks.next(now) <= self._tick_s:
            self._missed.add(index)  # else a step for it alone would make all others miss theirs
        self._begun.add(index)
        self._note(index)
        return fresh and (idle or self._all_in or index in self._missed)

    def deadline(self) -> float | None:
        """When `take` has something to give; None: when another frame has come."""
        if not self._since_s:
            return None
        if self._all_in:
            return min(self._since_s.values())
        if self._ticks is None:
            return min(self._since_s.values()) + self._max_wait_s
        return min(self._due_s(index, self._ticks) for index in self._since_s)

    def take(self, now: float) -> dict[int, StepInput]:
        """The next step's frame for each slot that has one; empty if it is not yet time."""
        due_s = self.deadline()
        if due_s is None or now < due_s:
            return {}
        chosen = self._chosen(now)
        self.taken_s = tuple(self._since_s[index] for index in chosen)
        if self._ticks is not None:
            self._tick_s = max(self._tick_s, self._ticks.next(max(self.taken_s)))
        taken = {index: self._backlogs[index].pop() for index in chosen}
        for index in taken:
            self._note(index)
        self._missed = (self._missed - chosen) | (chosen & self._since_s.keys())
        return taken

    def stepped(self, now: float) -> None:
        """The step is over, and the engine free for another."""
        self._free_s = now

    @property
    def _all_in(self) -> bool:
        """On ticks nobody is waited for who has yet to begin: a caller who comes costs the others
        nothing."""
        awaited = self._backlogs.keys() if self._ticks is None else self._begun
        return awaited <= self._since_s.keys()

    def _due_s(self, index: int, ticks: Ticks) -> float:
        since_s = self._since_s[index]
        if index not in self._missed:
            return ticks.next(since_s) + self._grace_s
        earliest_s = max(since_s, self._free_s)
        tick_s = ticks.next(earliest_s)
        return earliest_s if tick_s - earliest_s >= self.step_s else tick_s + self._grace_s

    def _chosen(self, now: float) -> set[int]:
        """All that are in; between two ticks, only those that missed the last."""
        ready = set(self._since_s)
        if self._ticks is None or self._all_in:
            return ready
        regular, ticks = ready - self._missed, self._ticks
        if not any(self._due_s(index, ticks) <= now for index in regular):
            return ready & self._missed
        self._missed = self._begun - ready
        return ready

    def _note(self, index: int) -> None:
        """Since when a slot's oldest frame has waited."""
        since_s = self._backlogs[index].since_s
        if since_s is None:
            self._since_s.pop(index, None)
        else:
            self._since_s[index] = since_s
