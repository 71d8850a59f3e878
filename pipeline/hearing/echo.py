"""Is the microphone hearing us? An echo gate, not a canceller.

The last quarter second of the microphone is compared with what was played up to REACH_S before
it. If a delayed, scaled, slightly smeared copy of our own output accounts for most of its
energy, nobody else is speaking. Somebody who talks over the echo adds energy that no copy
accounts for, whatever the echo's level. The delay is found anew for each window (normalised
cross-correlation through an FFT), so that a changed route or clock skew needs no tracking.
"""

import numpy as np
from numpy.typing import NDArray

from pipeline.types import AudioFrame, Pcm

Samples = NDArray[np.float64]

STEP = 4
"""16 kHz is thinned to 4 kHz: the voice's energy is there, at a sixteenth of the work."""
HZ = 16_000 // STEP
SPAN = HZ // 4
"""Samples at HZ compared at once."""
REACH_S = 0.7
"""Longest delay looked for, from sent to heard: network, jitter buffer, sound card, room."""
LEAD_S = 0.05
"""An echo may seem to come this early: clocks are compared through two queues."""
TAPS = 5
"""Samples at HZ over which the path may smear the copy (1.25 ms)."""
EXPLAINED = 0.6
"""Share of the microphone's energy that makes it an echo."""
AUDIBLE = 1e-6
"""Mean square of the reference below which nothing was played (−60 dB)."""
KEPT = int((REACH_S + 1.0) * HZ)
"""Samples at HZ of reference kept."""

_LOWPASS = np.sinc(np.arange(-16, 17) / STEP * 0.8) * np.hamming(33)
_LOWPASS /= _LOWPASS.sum()


class EchoGate:
    """One microphone and what is played to its owner, both at 16 kHz."""

    def __init__(self) -> None:
        self._thin_mic, self._thin_played = _Thin(), _Thin()
        self._mic: Samples = np.zeros(SPAN)
        self._played: Samples = np.zeros(KEPT)
        self._played_end = 0
        """Media time just after the newest of `_played`, samples at HZ."""

    def played(self, frame: AudioFrame, at_s: float) -> None:
        """`frame` left for the listener at media time `at_s`."""
        thin = self._thin_played(frame.pcm)
        start = self._played_end
        sent = round(at_s * HZ)
        if start - sent > HZ:
            # Media time is not known before the microphone's first frame, and begins then.
            self._played, self._played_end, start = np.zeros(KEPT), sent, sent
        # The listener gets one stream without holes (RFC 3550 section 5.1), whatever was dropped
        # from what the engine made or put between, in bursts or a little late.
        if sent - start > HZ // 4:
            start = sent
        fresh = np.concatenate([np.zeros(min(start - self._played_end, KEPT)), thin])
        self._played = np.concatenate([self._played, fresh])[-KEPT:]
        self._played_end = start + len(thin)

    def heard(self, window: Pcm, end_s: float) -> bool:
        """Is the microphone's next window, which ends at media time `end_s`, our own echo?"""
        thin = self._thin_mic(window)
        self._mic = np.concatenate([self._mic, thin])[-SPAN:]
        reference = self._reference(round(end_s * HZ))
        if float(reference @ reference) < AUDIBLE * max(len(reference), 1):
            return False
        return _explained(_whiten(self._mic), _whiten(reference)) > EXPLAINED

    def _reference(self, end: int) -> Samples:
        """What was played in the time that may sound in the microphone now."""
        last = end + int(LEAD_S * HZ) - self._played_end
        first = last - SPAN - int((REACH_S + LEAD_S) * HZ)
        padded = np.concatenate([self._played, np.zeros(max(last, 0))])
        stop = len(self._played) + last
        return padded[max(stop - (last - first), 0) : max(stop, 0)]


class _Thin:
    """Low-pass and keep one sample of STEP, seamlessly from piece to piece."""

    def __init__(self) -> None:
        self._tail = np.zeros(len(_LOWPASS) - 1)

    def __call__(self, pcm: Pcm) -> Samples:
        x = np.concatenate([self._tail, pcm])
        self._tail = x[len(x) - len(self._tail) :]
        return np.convolve(x, _LOWPASS, "valid")[::STEP]


def _whiten(x: Samples) -> Samples:
    """First difference: else any two vowels of one pitch look alike."""
    return np.diff(x)


def _explained(mic: Samples, reference: Samples) -> float:
    """Share of `mic`'s energy that the best delayed copy of `reference` accounts for, 0..1."""
    n, lags = len(mic), len(reference) - len(mic) + 1
    energy = float(mic @ mic)
    if lags < TAPS or energy <= 0:
        return 0.0
    size = 1 << (len(reference) - 1).bit_length()
    spectrum = np.fft.rfft(reference, size) * np.conj(np.fft.rfft(mic, size))
    correlation = np.fft.irfft(spectrum, size)[:lags]
    running = np.concatenate([[0.0], np.cumsum(reference**2)])
    power = running[n:] - running[:-n]
    floor = 1e-4 * power.max() + 1e-12
    best = int(np.argmax(correlation * np.abs(correlation) / np.maximum(power, floor)))
    first = min(max(best - TAPS // 2, 0), lags - TAPS)
    copies = np.stack([reference[first + k : first + k + n] for k in range(TAPS)])
    gram = copies @ copies.T + np.eye(TAPS) * (1e-3 * power[best] + 1e-12)
    taps = np.linalg.solve(gram, copies @ mic)
    left = mic - taps @ copies
    return 1.0 - float(left @ left) / energy
