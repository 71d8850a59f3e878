"""Is that really speech? Neither a cough nor a hum is, though both wake a VAD or an ear.

A cough is broadband noise without pitch; an "mm-hm" has pitch but goes through the nose, which
lets almost nothing but the lowest harmonics out. Speech has both: pitch, and an open mouth.
Thresholds were measured on synthetic speech, coughs and hums; see tests/fakes/sounds.py.
"""

from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pipeline.types import Pcm

RATE_HZ = 16_000
WINDOW = 512
"""Samples a window: 32 ms."""
WINDOW_S = WINDOW / RATE_HZ

LIKELY = 0.5
"""VAD probability from which a window may be speech."""
VOICED = 0.42
"""Height of the autocorrelation's peak, 0..1, from which there is pitch."""
OPEN_LOW_SHARE = 0.76
"""Below this share of the energy under 400 Hz the mouth is open."""
OPEN_HIGH_SHARE = 0.016
"""It also is if more than this lies above 1.5 kHz: close vowels, as in "see"."""
SAME_VOICE_DB = 15.0
"""A window this far below the loudest is its echo in the room, or noise in a gap."""

_HANN = np.hanning(WINDOW)
_HANN2 = np.hanning(2 * WINDOW)
_HZ = np.fft.rfftfreq(WINDOW, 1 / RATE_HZ)
_LOW, _HIGH = (_HZ >= 80) & (_HZ < 400), (_HZ >= 1500) & (_HZ < 6000)
_BAND = (_HZ >= 80) & (_HZ < 6000)
_LAG_HZ = np.fft.rfftfreq(4 * WINDOW, 1 / RATE_HZ)
_PITCH_BAND = (_LAG_HZ >= 60) & (_LAG_HZ <= 2000)
_PITCH_LAGS = slice(RATE_HZ // 400, RATE_HZ // 60)
_TAPER = np.fft.irfft(np.abs(np.fft.rfft(_HANN2, 4 * WINDOW)) ** 2)
_TAPER = np.maximum(_TAPER / _TAPER[0], 1e-3)


@dataclass(frozen=True, slots=True)
class Window:
    """What is known of 32 ms of microphone."""

    end_s: float
    """Media time just after it."""
    likely: bool
    """The VAD takes it for speech, and it is not our own echo."""
    articulate: bool
    """It has pitch, and comes from an open mouth."""
    level_db: float
    """Mean square, dB of full scale."""


def look(pcm: Pcm, end_s: float, probability: float, echo: bool) -> Window:
    """Describe the last WINDOW samples of `pcm`, which holds 2 · WINDOW."""
    newest = pcm[WINDOW:]
    power = np.abs(np.fft.rfft(newest * _HANN)) ** 2
    total = power[_BAND].sum() + 1e-9
    low, high = power[_LOW].sum() / total, power[_HIGH].sum() / total
    opened = low < OPEN_LOW_SHARE or high > OPEN_HIGH_SHARE
    likely = probability >= LIKELY and not echo
    articulate = likely and opened and _pitch(pcm) > VOICED
    level_db = 10 * np.log10(float(np.mean(newest**2)) + 1e-10)
    return Window(end_s, likely, bool(articulate), float(level_db))


def _pitch(pcm: Pcm) -> float:
    """How periodic it is between 60 and 400 Hz, 0..1."""
    spectrum: NDArray[np.complex128] = np.fft.rfft(pcm * _HANN2, 4 * WINDOW)
    spectrum[~_PITCH_BAND] = 0
    correlation = np.fft.irfft(np.abs(spectrum) ** 2) / _TAPER
    return float(correlation[_PITCH_LAGS].max() / (correlation[0] + 1e-9))


class Onset:
    """Finds where speech begins, once it is sure that it does."""

    NEED = 4
    """Likely windows: 128 ms, so that no bang is enough."""
    NEED_ARTICULATE = 2
    GIVE_UP = 3
    """Unlikely windows in a row that end an attempt."""
    LONG = 25
    """Likely windows that are enough on their own: nobody hums for 0.8 s."""

    def __init__(self, need: int = NEED, need_articulate: int = NEED_ARTICULATE) -> None:
        self._need, self._need_articulate = need, need_articulate
        self._levels: deque[float] = deque(maxlen=8)
        self._forget()

    def _forget(self) -> None:
        self._began_s = 0.0
        self._likely = self._unlikely = 0
        self._articulate: list[float] = []

    @property
    def trying(self) -> bool:
        """Something has begun that may turn out to be speech."""
        return self._likely > 0

    def push(self, window: Window) -> float | None:
        """Media time at which speech began, told once, as soon as it is sure."""
        self._levels.append(window.level_db)
        if window.likely:
            if not self._likely:
                self._began_s = window.end_s - WINDOW_S
            self._likely, self._unlikely = self._likely + 1, 0
        else:
            self._unlikely += 1
            if self._unlikely >= self.GIVE_UP:
                self._forget()
        if window.articulate:
            self._articulate.append(window.level_db)
        if not self._sure():
            return None
        began_s = self._began_s
        self._forget()
        return began_s

    def _sure(self) -> bool:
        loud = max(self._levels) - SAME_VOICE_DB
        articulate = sum(level > loud for level in self._articulate)
        enough = self._likely >= self._need and articulate >= self._need_articulate
        return enough or self._likely >= self.LONG
