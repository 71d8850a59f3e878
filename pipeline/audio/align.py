"""Shifts a stream so that the frames cut from it are complete just before the engine's ticks.

An engine that steps on a tick takes the frames that are in; one that is complete just after the
tick waits almost a frame for the next. Packets come when the caller's clock sends them. So the
stream begins with as much silence as makes a packet that comes shortly before a tick complete a
frame, and when packets come later in the end, or earlier, the stream is shifted by a packet:
resampled by a hair over a second (skew.py), so that nothing is cut or heard.

Of the sender's clock the jitter buffer keeps the stream free; what is left is a saw-tooth of 20 ms.
"""

import math
from collections import deque
from collections.abc import Collection
from dataclasses import replace

import numpy as np

from pipeline.audio.skew import MOST, stretched
from pipeline.types import AudioFrame, Ticks, silence

LEAD_S = 0.01
"""Before the tick, at first: what packets are late by on an ordinary network."""

GUARD_S = 0.002
"""A frame completed later than this before the tick may miss it on its way to the engine."""

STEP_S = 0.02
"""The stream is shifted by so much at a time: a packet."""

LOOK_BACK = 250
"""Frames over which is judged whether to shift: 20 s of 80 ms."""

ENOUGH = 80
"""Frames that tell how much packets' times vary."""

TAIL = 2.5
"""What is rare lies so much further from the median than the last twentieth does: the last
half per cent, of exponential lateness."""

IDLE_S = 0.006
"""Beyond a packet, that all frames were complete too early; then the stream is shifted back."""

MOST_S = 0.03
"""Before the tick, at the median; beyond it an even worse network is not waited for."""

LATEST_S = 0.03
"""After a tick; what is complete later counts as early for the next one."""

QUIET_S = 1.0
"""After so long without a packet, the next may come at any time."""


class Align:
    """Push every frame in order, before the Framer of the same `frame_samples`."""

    def __init__(self, ticks: Ticks, frame_samples: int, rate_hz: int) -> None:
        self._ticks, self._size, self._rate_hz = ticks, frame_samples, rate_hz
        self._filled = 0
        """Samples of the frame that the framer has not yet completed."""
        self._begun = False
        self._quiet = 0
        """Samples invented since the last packet."""
        self._owed = 0
        """Samples by which the stream is still to be shifted; negative: shortened."""
        self._slack_s: deque[float] = deque(maxlen=LOOK_BACK)
        """How long before its tick each frame was complete."""
        self.inserted = self.removed = 0
        """Samples so far."""

    def push(self, frame: AudioFrame, now: float) -> AudioFrame:
        """`frame`, perhaps a little longer or shorter, its end where it was."""
        real = frame.concealed < len(frame.pcm)
        if not self._begun or (real and self._quiet >= QUIET_S * self._rate_hz):
            frame = self._aligned(frame, now)
        elif self._owed:
            frame = self._shifted(frame)
        self._begun = True
        self._quiet = 0 if real else self._quiet + len(frame.pcm)
        self._count(len(frame.pcm), now)
        return frame

    def _aligned(self, frame: AudioFrame, now: float) -> AudioFrame:
        """Packets of this length follow: one of them shall complete a frame LEAD_S before a tick,
        or at most a packet sooner."""
        size = len(frame.pcm)
        left_s = self._ticks.next(now + LEAD_S) - LEAD_S - now
        more = math.floor(left_s * self._rate_hz / size) * size
        lacking = (self._size - more - self._filled - size) % self._size
        self._slack_s.clear()
        if self._begun and lacking > self._size // 2:
            self._owed = lacking - self._size
            return frame
        self._owed = 0
        self.inserted += lacking
        pcm = np.concatenate([silence(lacking), frame.pcm])
        return replace(frame, pcm=pcm, pts=frame.pts - lacking, concealed=frame.concealed + lacking)

    def _shifted(self, frame: AudioFrame) -> AudioFrame:
        size = len(frame.pcm)
        most = max(1, int(size * MOST))
        change = max(-most, min(most, self._owed))
        self._owed -= change
        self.inserted += max(0, change)
        self.removed += max(0, -change)
        pcm = stretched(frame.pcm, size + change)
        concealed = min(frame.concealed, len(pcm)) if frame.concealed < size else len(pcm)
        return replace(frame, pcm=pcm, pts=frame.pts - change, concealed=concealed)

    def _count(self, samples: int, now: float) -> None:
        self._filled += samples
        if self._filled < self._size:
            return
        self._filled %= self._size
        if not self._owed:
            self._judge(now)

    def _judge(self, now: float) -> None:
        slack_s = self._ticks.next(now) - now
        if slack_s > self._ticks.every_s - LATEST_S:
            slack_s -= self._ticks.every_s
        self._slack_s.append(slack_s)
        if len(self._slack_s) < ENOUGH:
            return
        middle, least = spread(self._slack_s)
        step = round(STEP_S * self._rate_hz)
        if least < GUARD_S and middle < MOST_S:
            self._shift(step)
        elif len(self._slack_s) == LOOK_BACK and least > STEP_S + IDLE_S:
            self._shift(-step)

    def _shift(self, by: int) -> None:
        self._owed = by
        self._slack_s.clear()


def spread(slack_s: Collection[float]) -> tuple[float, float]:
    """The median, and what is hardly ever fallen short of."""
    ordered = sorted(slack_s)
    middle, twentieth = ordered[len(ordered) // 2], ordered[len(ordered) // 20]
    return middle, middle - TAIL * (middle - twentieth)
