"""A click now and then, and how long it was away. Pure."""

from bisect import bisect_right
from collections.abc import Sequence

import numpy as np

from pipeline.audio.opus import OpusEncoder
from pipeline.types import Pcm, silence

RATE_HZ = 24_000
PACKET = RATE_HZ // 50
"""Samples in 20 ms."""
PERIOD = 25
"""Packets from click to click, 0.5 s: a click that is away for longer counts as the next one.

One more than a multiple of four, so that clicks take every place in frames of 80 ms.
"""
CLICK_S = 0.004
PITCH_HZ = 1_000
HEARD = 0.1
"""Peak that only a click has."""


def click_packets() -> list[bytes]:
    """One period as Opus; the first packet begins with the click. To be sent over and over.

    Of 20 ms, 4 are the click and 13 what two codecs add: it comes back in the same place.
    """
    at_s = np.arange(int(CLICK_S * RATE_HZ)) / RATE_HZ
    pcm = silence(PERIOD * PACKET)
    pcm[: len(at_s)] = 0.5 * np.sin(2 * np.pi * PITCH_HZ * at_s)
    encoder = OpusEncoder(RATE_HZ)
    periods = [[encoder.encode(each) for each in np.split(pcm, PERIOD)] for _ in range(2)]
    return periods[-1]  # the encoder has settled


class ClickFinder:
    """Packets' sound in, in order; tells in which of them a click begins."""

    def __init__(self) -> None:
        self._since = PERIOD

    def push(self, pcm: Pcm) -> bool:
        self._since += 1
        found = self._since > PERIOD // 2 and bool(np.abs(pcm).max(initial=0.0) >= HEARD)
        if found:
            self._since = 0
        return found


def away_s(sent_s: Sequence[float], heard_s: Sequence[float]) -> list[float]:
    """How long after the newest click sent each was heard. Both rise."""
    before = ((bisect_right(sent_s, each), each) for each in heard_s)
    return [each - sent_s[index - 1] for index, each in before if index]
