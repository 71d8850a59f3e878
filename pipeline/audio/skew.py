"""The difference between the sender's sound card and our clock, taken up without a gap.

A sender that records at 24 024 Hz of our seconds would fill a queue by 1 ms a second. Its audio
is resampled by a hair instead, as an asynchronous sample-rate converter does; but a whole frame
at a time, so that between corrections packets and the front-end's frames stay in step.
"""

import numpy as np

from pipeline.types import Pcm

WINDOW_S = 1.0
"""The earliest packet of one to two windows tells the clocks apart; the others are jitter."""

MOST = 0.02
"""Largest change of a packet's length: a frame is taken up in a second."""


class Skew:
    """Keeps the lead of the earliest packets within a band somewhat wider than a frame."""

    def __init__(self, frame_samples: int) -> None:
        self._frame = frame_samples
        self._low, self._high = -frame_samples // 4, frame_samples * 7 // 8
        self.middle = (self._low + self._high) // 2
        """Of the band: as far as can be from any correction."""
        self._owed = 0
        self.reset()

    def reset(self) -> None:
        """The stream was interrupted: what was learnt of its lead no longer holds."""
        self._until_s: float | None = None
        self._earlier: int | None = None
        self._lately = 0

    def correct(self, pcm: Pcm, lead: int, now: float) -> Pcm:
        """`pcm`, a little longer or shorter, of which the last sample is `lead` ahead.

        No more than a frame ahead, before and after.
        """
        peak = self._peak(lead, now)
        if not self._owed and lead > self._high:
            self._owed = -self._frame
        elif not self._owed and peak is not None and peak < self._low:
            self._owed = self._frame
        most = int(len(pcm) * MOST)
        change = max(-most, min(most, self._owed, self._frame - lead))
        if not change:
            return pcm
        self._owed -= change
        self._lately += change
        if self._earlier is not None:
            self._earlier += change
        return stretched(pcm, len(pcm) + change)

    def _peak(self, lead: int, now: float) -> int | None:
        """Lead of the earliest packet lately; None: too early to tell."""
        if self._until_s is None:
            self._until_s, self._lately = now + WINDOW_S, lead
        elif now >= self._until_s:
            self._earlier, self._lately, self._until_s = self._lately, lead, now + WINDOW_S
        self._lately = max(self._lately, lead)
        return None if self._earlier is None else max(self._earlier, self._lately)


def stretched(pcm: Pcm, samples: int) -> Pcm:
    """`pcm` resampled to so many samples; for a change so small that nobody hears it."""
    at = np.linspace(0, len(pcm) - 1, samples)
    return np.interp(at, np.arange(len(pcm)), pcm).astype(np.float32)
