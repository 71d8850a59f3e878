"""Is the microphone hearing us? An echo gate, not a canceller.

What the microphone hears is compared with what was played up to 0.9 s before it, band by band
(echo_path.py). Samples would be compared more sharply, but a browser's jitter buffer stretches
time whenever the network stumbles, and a room smears it.
"""

import numpy as np
from numpy.typing import NDArray

from pipeline.hearing.bands import BANDS, HOP, SILENCE_DB, Bands, Levels, level_db
from pipeline.hearing.echo_path import LAGS, EchoPath
from pipeline.types import AudioFrame, Pcm

HZ = 16_000
LEAD = 3
"""An echo may seem to come so many hops early: clocks are compared through two queues."""
AUDIBLE = 1e-6
"""Mean square of what is played below which it is silence (−60 dB)."""
KEPT = 2 * LAGS
"""Hops of what was played that are kept; it may be told of in bursts, ahead of the microphone."""

FADE = 10 ** (-0.24)
"""How a room's echo fades in a hop: 60 dB in 0.4 s (RT60, ISO 3382)."""
ROOM = 1 / FADE - 1
"""Its power beside the direct sound, so that all of it is as loud."""
DIRECT_DB = 3.0
"""A band that the room's echo makes no louder than this is direct sound."""


class EchoGate:
    """One microphone and what is played to its owner, both at 16 kHz."""

    def __init__(self) -> None:
        self._path = EchoPath()
        self._mic_bands, self._played_bands = Bands(), Bands()
        self._played = np.full((KEPT, BANDS), SILENCE_DB)
        self._direct = np.zeros((KEPT, BANDS), bool)
        self._room = np.zeros(BANDS)
        """Power of the room's echo."""
        self._played_end = 0
        """Media time just after the newest sample played."""
        self._hops_end = 0
        """The same in hops, of `_played`."""

    def played(self, frame: AudioFrame, at_s: float) -> None:
        """`frame` left for the listener at media time `at_s`."""
        sent = round(at_s * HZ)
        if self._played_end - sent > HZ:
            # Media time is not known before the microphone's first frame, and begins then.
            self._played_bands, self._played_end = Bands(), sent
            self._hops_end = sent // HOP
        # The listener gets one stream without holes (RFC 3550 section 5.1), whatever was dropped
        # from what the engine made or put between, in bursts or a little late.
        missing = sent - self._played_end
        if missing > HZ // 4:
            self._lay_out(np.zeros(min(missing, KEPT * HOP)))
            self._played_end, self._hops_end = sent, sent // HOP
        self._lay_out(frame.pcm)

    def heard(self, window: Pcm, end_s: float) -> bool:
        """Is the microphone's next window, which ends at media time `end_s`, our own echo?"""
        looks = self._mic_bands.push(window)
        first = round(end_s * HZ) // HOP - len(looks)
        for hop, power in enumerate(looks, first):
            self._path.hop(power, *self._what_may_sound(hop))
        return self._path.echo

    def _lay_out(self, pcm: NDArray[np.floating]) -> None:
        self._played_end += len(pcm)
        for power in self._played_bands.push(pcm):
            expected = level_db(power + ROOM * self._room)
            self._room = FADE * (self._room + power)
            self._hops_end += 1
            self._played = np.vstack([self._played[1:], expected])
            self._direct = np.vstack([self._direct[1:], level_db(power) > expected - DIRECT_DB])

    def _what_may_sound(self, hop: int) -> tuple[Levels, NDArray[np.bool_]]:
        """What was played at each lag before the microphone's `hop`, and where it is direct."""
        at = hop + LEAD - np.arange(LAGS) - (self._hops_end - KEPT)
        known = (at >= 0) & (at < KEPT)
        at = np.clip(at, 0, KEPT - 1)
        known = known[:, None]
        return np.where(known, self._played[at], SILENCE_DB), known & self._direct[at]
