"""The frames of one slot that wait for a step, and what goes when there are too many.

A front-end that needs 90 ms for 80 ms of audio falls behind for ever (kyutai-labs/moshi#229).
A short burst is no trouble: the engine works it off. A backlog that stands is: then silence
goes first, and speech only when `most` is reached. Nothing is reordered, and what rode on a
dropped frame rides on the next.
"""

from collections import deque
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from pipeline.types import OracleUpdate, StepInput

STANDING_S = 0.5
"""A backlog this old is not a burst."""

QUIET_RMS = 0.003
"""About −50 dBFS: below it a frame holds no speech."""

MOST_EVENTS = 64
"""Speech events and commands a frame can carry: minutes of talk, should steps never come."""


@dataclass(frozen=True, slots=True)
class _Waiting:
    frame: StepInput
    since_s: float


class Backlog:
    """Oldest frame first."""

    def __init__(self, most: int) -> None:
        assert most >= 2
        self._most = most
        self._frames: deque[_Waiting] = deque()
        self._behind_since_s: float | None = None
        self.shed = 0
        """Frames dropped so far."""

    def __len__(self) -> int:
        return len(self._frames)

    @property
    def since_s(self) -> float | None:
        """When the oldest frame came."""
        return self._frames[0].since_s if self._frames else None

    def push(self, frame: StepInput, now: float) -> None:
        self._frames.append(_Waiting(frame, now))
        if len(self._frames) > 2 and self._behind_since_s is None:
            self._behind_since_s = now
        if self._stands(now):
            self._shed_quiet()
        if len(self._frames) > self._most and not self._shed_quiet():
            self._shed(0)

    def pop(self) -> StepInput:
        frame = self._frames.popleft().frame
        if len(self._frames) <= 1:
            self._behind_since_s = None
        return frame

    def _stands(self, now: float) -> bool:
        return self._behind_since_s is not None and now - self._behind_since_s >= STANDING_S

    def _shed_quiet(self) -> bool:
        # Never the newest: what rides on it must have a frame to go to.
        for at in range(len(self._frames) - 1):
            if _rms(self._frames[at].frame) < QUIET_RMS:
                self._shed(at)
                return True
        return False

    def _shed(self, at: int) -> None:
        heir = self._frames[at + 1]
        self._frames[at + 1] = replace(heir, frame=_carry(self._frames[at].frame, heir.frame))
        del self._frames[at]
        self.shed += 1


def _rms(frame: StepInput) -> float:
    return float(np.sqrt(np.mean(np.square(frame.pcm)))) if len(frame.pcm) else 0.0


def _carry(shed: StepInput, heir: StepInput) -> StepInput:
    """`heir` with what rode on `shed`, in the order it came."""
    return replace(
        heir,
        speech=(*shed.speech, *heir.speech)[-MOST_EVENTS:],
        commands=(*shed.commands, *heir.commands)[-MOST_EVENTS:],
        oracle=_joined((*shed.oracle, *heir.oracle)),
    )


def _joined(updates: tuple[OracleUpdate, ...]) -> tuple[OracleUpdate, ...]:
    """The newest epoch's text in one piece: however much is shed, one update is carried."""
    newest = max((update.epoch for update in updates), default=0)
    pieces = [update for update in updates if update.epoch == newest]
    return (reduce(OracleUpdate.joined, pieces),) if pieces else ()
