"""From loudspeaker to microphone: how late and how loud our own voice comes back, if it does.

For every lag a cost is kept: how far, in dB, the microphone's bands have lately been from what was
played that long before, at the gain and colour learnt on the way. A lag may become its neighbour
from hop to hop, so that the least cost is that of the best path through time (Viterbi 1967; as in
dynamic time warping), whatever a jitter buffer stretches. A room's echo only adds to what is
expected, and is not missed where there is none.

It is our echo if a path fits, and few bands are louder than it explains. Somebody who talks over
it is louder where their voice has its harmonics and ours has not.
"""

import numpy as np
from numpy.typing import NDArray

from pipeline.hearing.bands import BANDS, Levels, level_db

LAGS = 60
"""Hops: 0.9 s of network, jitter buffer, sound card and room."""

LOST = 8.0
"""Cost of a lag of which nothing is known, dB."""
FITS = 4.8
"""Highest cost of a path that is one."""
MEMORY = 0.85
"""Part of a path's cost that the hop before hands on."""
STEP = 1.0
"""What it costs to move by a hop."""
WORST = 15.0
"""What a band can cost at most."""
WHOLE = 20
"""Bands that make a hop count in full."""

RISE, FALL = 0.1, 0.03
"""How fast a path's gain follows, a hop; a voice over it should not move it much."""
GAIN_BANDS = 5
"""Fewer tell nothing of the gain."""
COLOUR = 0.05
"""How fast the colour of loudspeaker and room is learnt, a hop."""

LOUDER = 6.0
"""dB above what is expected that no echo explains."""
OVER = 0.11
"""Part of the bands that may be so, smoothed over OVER_MEMORY."""
OVER_MEMORY = 0.6

DEPTH = 28.0
"""What is so far below the loudest band (dB) is the codec's, not the voice's."""
AUDIBLE = 9.0
"""dB above the room's noise."""
FEW = 8
"""Fewer audible bands are nothing."""
QUIETEST, NOISIEST = -75.0, -45.0
"""Between these the noise is looked for, dB."""
PLAYED = -45.0
"""Loudest band of something played, dB."""
PLAYED_LOUD = -30.0
"""And of something that must be heard if there is an echo."""
MUTE = 12
"""Hops so played and not heard after which a lag is doubted…"""
MUTE_MOST = 40
"""…of which so many are remembered…"""
DOUBT = 2.0
"""…and so much worse, dB."""


class EchoPath:
    """Told every hop; `echo` says whether the newest held nothing but our own voice."""

    def __init__(self) -> None:
        self.echo = False
        self._cost = np.full(LAGS, LOST)
        self._gain = np.zeros(LAGS)
        self._hops = np.zeros(LAGS)
        """From which `_gain` was learnt."""
        self._mute = np.zeros(LAGS)
        self._colour = np.zeros(BANDS)
        self._smooth: Levels | None = None
        self._noise = np.full(BANDS, NOISIEST)
        self._over = 0.0

    def hop(self, power: NDArray[np.float64], played: Levels, direct: NDArray[np.bool_]) -> None:
        """The microphone's bands, and what may sound in them.

        `power`: [BANDS]. `played`: [LAGS, BANDS], dB, with the room's echo; `direct`: where it is
        not that which makes it.
        """
        mic = level_db(power)
        audible = self._above_noise(power, mic)
        loudest = played.max(axis=1)
        if not (loudest > PLAYED).any():
            self._cost[:], self._over, self.echo = LOST, 0.0, False
            return
        quiet = np.count_nonzero(audible) < FEW
        heard = np.where(loudest > PLAYED_LOUD, 1 if quiet else -1, 0)
        self._mute = np.clip(self._mute + heard, 0, MUTE_MOST)
        if quiet:
            self._over *= OVER_MEMORY
            return
        floor = np.maximum(self._noise + AUDIBLE, mic.max() - DEPTH)
        expected = played + self._colour
        self._follow(mic, expected, direct & (mic > floor), loudest)
        off, counts = self._misfit(mic, expected, floor, direct)
        self._charge(off, counts, loudest)
        self._judge(mic, expected, floor, off)

    def _above_noise(self, power: NDArray[np.float64], mic: Levels) -> NDArray[np.bool_]:
        """Which bands are, by the least of late."""
        if self._smooth is None:
            self._smooth, self._noise = power, np.clip(mic, QUIETEST, -60.0)
        self._smooth = 0.9 * self._smooth + 0.1 * power
        least = np.maximum(level_db(self._smooth), QUIETEST)
        self._noise = np.minimum(np.minimum(self._noise + 0.03, NOISIEST), least)
        return mic > self._noise + AUDIBLE

    def _follow(
        self, mic: Levels, expected: Levels, telling: NDArray[np.bool_], loudest: Levels
    ) -> None:
        """Each lag becomes the best way to it, and what leads there learns its gain."""
        ways = np.full((3, LAGS), np.inf)
        ways[0, 1:], ways[1], ways[2, :-1] = (
            self._cost[:-1] + STEP,
            self._cost,
            self._cost[1:] + STEP,
        )
        source = np.clip(np.arange(LAGS) + ways.argmin(axis=0) - 1, 0, LAGS - 1)
        self._cost = ways.min(axis=0)
        self._hops = np.where(self._cost > LOST - 0.5, 0, self._hops[source])
        telling &= expected > (loudest - DEPTH)[:, None]
        bands = np.count_nonzero(telling, axis=1)
        off = np.where(telling, mic - expected, 0).sum(axis=1) / np.maximum(bands, 1)
        off -= self._gain[source]
        rate = np.maximum(np.where(off > 0, RISE, FALL), 1 / (self._hops + 1))
        learns = (bands >= GAIN_BANDS) & (loudest > PLAYED)
        self._gain = self._gain[source] + np.where(learns, rate * off, 0)
        self._hops += learns

    def _misfit(
        self, mic: Levels, expected: Levels, floor: Levels, direct: NDArray[np.bool_]
    ) -> tuple[Levels, NDArray[np.bool_]]:
        """How much louder than expected each band is at each lag, dB, and whether it counts."""
        expected = expected + self._gain[:, None]
        floors = np.maximum(floor, expected.max(axis=1, keepdims=True) - DEPTH)
        off = np.maximum(mic, floors) - np.maximum(expected, floors)
        counts = (mic > floors) | (expected > floors)
        return np.where(direct | (off > 0), off, 0), counts

    def _charge(self, off: Levels, counts: NDArray[np.bool_], loudest: Levels) -> None:
        bands = np.count_nonzero(counts, axis=1)
        cost = np.where(counts, np.minimum(np.abs(off), WORST), 0).sum(axis=1)
        cost = np.where(loudest > PLAYED, cost / np.maximum(bands, 1), LOST)
        weight = (1 - MEMORY) * np.minimum(1, bands / WHOLE)
        self._cost = np.minimum(self._cost + weight * (cost - self._cost), LOST)

    def _judge(self, mic: Levels, expected: Levels, floor: Levels, off: Levels) -> None:
        doubted = self._cost + DOUBT * np.minimum(self._mute / MUTE, 1)
        best = int(doubted.argmin())
        # A hop to either side: echoes do not keep to our hops.
        near = expected[max(best - 1, 0) : best + 2].max(axis=0) + self._gain[best]
        audible = mic > floor
        louder = (mic > np.maximum(near, floor) + LOUDER)[audible].mean()
        self._over = OVER_MEMORY * self._over + (1 - OVER_MEMORY) * float(louder)
        self.echo = bool(doubted[best] < FITS and self._over < OVER)
        if self.echo:
            self._colour += np.where(audible, COLOUR * np.clip(off[best], -6, 6), 0)
            self._colour = np.clip(self._colour - self._colour.mean(), -12, 12)
