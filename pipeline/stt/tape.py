"""The last seconds of audio, to be heard again if need be."""

from collections import deque
from dataclasses import dataclass, field

import numpy as np

from pipeline.types import AudioFrame, Pcm, silence


@dataclass(slots=True, eq=False)
class Tape:
    """Positions count samples. What was dropped before it came here is silence on it."""

    longest: int
    """Samples it holds at the most."""
    start: int = 0
    """Position of its first sample."""
    end: int = 0
    """Position just after its last."""
    _pieces: deque[tuple[int, Pcm]] = field(default_factory=deque)

    def append(self, frame: AudioFrame) -> None:
        missing = min(frame.pts - self.end, self.longest) if self._pieces else 0
        if missing > 0:
            self._pieces.append((frame.pts - missing, silence(missing)))
        self._pieces.append((frame.pts, frame.pcm))
        self.end = frame.pts + len(frame.pcm)
        while len(self._pieces) > 1 and self._pieces[1][0] <= self.end - self.longest:
            self._pieces.popleft()
        self.start = self._pieces[0][0]

    def since(self, position: int) -> Pcm:
        """What comes after `position`; empty if there is nothing."""
        pieces = [
            pcm[max(0, position - at) :] for at, pcm in self._pieces if at + len(pcm) > position
        ]
        return np.concatenate(pieces) if pieces else silence(0)
