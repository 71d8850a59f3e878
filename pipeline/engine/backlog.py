"""The frames of one slot that wait for a step, and what goes when there are too many.

A front-end that needs 90 ms for 80 ms of audio falls behind for ever (kyutai-labs/moshi#229).
A short burst is no trouble: the engine works it off. A backlog that stands is: then silence
goes first, and speech only when `most` is reached. Nothing is reordered, and what rode on a
dropped frame rides on the next.
"""

from collections import deque
from dataclasses import dataclass, replace

import numpy as np

from pipeline.engine.carry import carried
from pipeline.types import StepInput

STANDING_S = 0.5
"""A backlog this old is not a burst."""

QUIET_RMS = 0.003
"""About −50 dBFS: below it a frame holds no speech."""


@dataclass(frozen=True, slots=True)
class _Waiting:
    frame: StepInput
    since_s: float


class Backlog:
    """Oldest frame first. More than `calm` frames are a burst, or the beginning of trouble."""

    def __init__(self, most: int, calm: int = 2) -> None:
        assert most >= 2
        self._most, self._calm = most, calm
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
        if len(self._frames) > self._calm and self._behind_since_s is None:
            self._behind_since_s = now
        if self._stands(now):
            self._shed_quiet()
        if len(self._frames) > self._most and not self._shed_quiet():
            self._shed(0)

    def pop(self) -> StepInput:
        frame = self._frames.popleft().frame
        if len(self._frames) < self._calm:
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
        self._frames[at + 1] = replace(heir, frame=carried(self._frames[at].frame, heir.frame))
        del self._frames[at]
        self.shed += 1


def _rms(frame: StepInput) -> float:
    return float(np.sqrt(np.mean(np.square(frame.pcm)))) if len(frame.pcm) else 0.0
