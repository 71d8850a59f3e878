"""The difference between the sender's sound card and our clock, taken up without a gap.

A sender that records at 24 024 Hz of our seconds fills a queue by 1 ms a second. Its audio is
resampled by a hair instead, as an asynchronous sample-rate converter does.
"""

import numpy as np

from pipeline.types import Pcm

WINDOW_S = 2.0
"""The earliest packet of one to two windows tells the clocks apart; the others are jitter."""

MOST = 0.02
"""Largest change of a packet's length; sound cards differ by 0.0002, pitch is heard from 0.005."""


class Skew:
    """Keeps the lead of the earliest packets between `low` and `high` samples."""

    def __init__(self, low: int, high: int) -> None:
        self._low, self._high = low, high
        self.reset()

    def reset(self) -> None:
        """The stream was interrupted: what was learnt of its lead no longer holds."""
        self._until_s: float | None = None
        self._earlier: int | None = None
        self._lately = 0

    def correct(self, pcm: Pcm, lead: int, now: float) -> Pcm:
        """`pcm`, a little longer or shorter; uncorrected it would be `lead` ahead."""
        peak = self._peak(lead, now)
        most = int(len(pcm) * MOST)
        if lead > self._high:
            change = -min(most, lead - self._high)
        elif peak is not None and peak < self._low:
            change = min(most, self._low - peak)
        else:
            change = 0
        if not change:
            return pcm
        self._lately += change
        if self._earlier is not None:
            self._earlier += change
        return _stretched(pcm, len(pcm) + change)

    def _peak(self, lead: int, now: float) -> int | None:
        """Lead of the earliest packet lately; None: too early to tell."""
        if self._until_s is None:
            self._until_s, self._lately = now + WINDOW_S, lead
        elif now >= self._until_s:
            self._earlier, self._lately, self._until_s = self._lately, lead, now + WINDOW_S
        self._lately = max(self._lately, lead)
        return None if self._earlier is None else max(self._earlier, self._lately)


def _stretched(pcm: Pcm, samples: int) -> Pcm:
    at = np.linspace(0, len(pcm) - 1, samples)
    return np.interp(at, np.arange(len(pcm)), pcm).astype(np.float32)
