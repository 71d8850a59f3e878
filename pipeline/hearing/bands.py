"""Sound as levels of narrow bands: what a room, a codec and a stretched playout leave alike."""

import numpy as np
from numpy.typing import NDArray

Levels = NDArray[np.float64]
"""dB, shape [bands] or [hops, bands]."""

HOP = 256
"""Samples at 16 kHz between two looks: 16 ms."""
SPAN = 1024
"""Samples a look takes in: 64 ms, so that the harmonics of a voice are told apart."""
SILENCE_DB = -90.0

_HZ = 16_000
_HANN = np.hanning(SPAN + 1)[:SPAN]


def _edges(low: float = 90, knee: float = 1_500, high: float = 4_500) -> list[float]:
    """As narrow as the harmonics of a voice up to `knee` Hz, wider and wider above."""
    edges, width = [low], 31.25
    while edges[-1] < high:
        width *= 1.07 if edges[-1] >= knee else 1
        edges.append(edges[-1] + width)
    return edges


def _bank() -> NDArray[np.float64]:
    hz, edges = np.fft.rfftfreq(SPAN, 1 / _HZ), np.array(_edges())
    inside = (hz[:, None] >= edges[:-1]) & (hz[:, None] < edges[1:])
    return inside.astype(np.float64) * 2 / SPAN


_BANK = _bank()
BANDS = _BANK.shape[1]


class Bands:
    """Cuts a stream of samples at 16 kHz into looks of SPAN, one each HOP."""

    def __init__(self) -> None:
        self._waiting = np.zeros(SPAN - HOP)

    def push(self, pcm: NDArray[np.floating]) -> NDArray[np.float64]:
        """Power, [looks completed, BANDS]; the newest ends less than a HOP before `pcm` does."""
        self._waiting = np.concatenate([self._waiting, pcm])
        if len(self._waiting) < SPAN:
            return np.zeros((0, BANDS))
        looks = np.lib.stride_tricks.sliding_window_view(self._waiting, SPAN)[::HOP]
        self._waiting = self._waiting[len(looks) * HOP :]
        power: NDArray[np.float64] = np.abs(np.fft.rfft(looks * _HANN)) ** 2 @ _BANK
        return power


def level_db(power: NDArray[np.float64]) -> Levels:
    return 10 * np.log10(power + 10 ** (SILENCE_DB / 10))
