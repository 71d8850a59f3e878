"""A loudspeaker, a room and a microphone, and the listener's jitter buffer before them. 16 kHz."""

import numpy as np

from pipeline.types import Pcm, silence
from tests.fakes.sounds import RATE_HZ

PIECE, HOP, SEARCH = 320, 160, 128
"""Samples joined at once, between two, and sought for a good join: those of WSOLA."""


def stretched(pcm: Pcm, speed: float) -> Pcm:
    """Played at `speed` at the same pitch, as jitter buffers do (Verhelst and Roelands 1993)."""
    fade = np.hanning(PIECE + 1)[:PIECE]
    out, at, last = np.zeros(int(len(pcm) / speed) + 2 * PIECE), 0.0, 0
    size = 0
    while int(at) + 2 * PIECE + SEARCH < len(pcm):
        first = max(0, int(at) - SEARCH)
        goes_on = pcm[last + HOP : last + HOP + PIECE]
        fit = np.correlate(pcm[first : int(at) + SEARCH + PIECE], goes_on, "valid")
        last = first + int(np.argmax(fit)) if size else 0
        out[size : size + PIECE] += fade * pcm[last : last + PIECE]
        size, at = size + HOP, at + HOP * speed
    return out[:size].astype(np.float32)


def stumbling(pcm: Pcm, speed: float, seed: int) -> Pcm:
    """Now and then a stall of 60 to 150 ms, filled with more of the same; then `speed` for a while,
    to catch up or to build a reserve."""
    rng, out, at = np.random.default_rng(seed), [silence(0)], 0
    while at < len(pcm):
        stop = at + int(rng.uniform(0.5, 1.3) * RATE_HZ)
        out.append(pcm[at:stop])
        stall = int(rng.uniform(0.06, 0.15) * RATE_HZ)
        if speed > 1:
            more = np.tile(pcm[max(0, stop - PIECE) : stop], stall // PIECE + 1)[:stall]
            out.append(more * np.linspace(1, 0.1, len(more), dtype=np.float32))
        at = stop + int(stall / abs(speed - 1))
        out.append(stretched(pcm[stop:at], speed))
    return np.concatenate(out)


def reverberant(pcm: Pcm, seed: int, rt60_s: float = 0.4) -> Pcm:
    """In a room whose echo is as loud as the direct sound and fades by 60 dB in `rt60_s`."""
    samples = int(rt60_s * RATE_HZ)
    tail = np.random.default_rng(seed).standard_normal(samples)
    tail *= 10 ** (-3 * np.arange(samples) / samples)
    tail[:32] = 0  # 2 ms to the nearest wall and back
    tail /= np.sqrt(np.sum(tail**2))
    tail[0] = 1
    size = len(pcm) + samples
    heard = np.fft.irfft(np.fft.rfft(pcm, size) * np.fft.rfft(tail, size), size)
    return heard[: len(pcm)].astype(np.float32)


def echo(
    pcm: Pcm, level_db: float, late_s: float, *, speed: float = 1.0, room: bool = False
) -> Pcm:
    """What the microphone hears of `pcm`, as long as it is."""
    played = stumbling(pcm, speed, seed=3) if speed != 1 else pcm
    heard = reverberant(played, seed=4) if room else played
    late = np.concatenate([silence(round(late_s * RATE_HZ)), heard * 10 ** (level_db / 20)])
    return np.concatenate([late, silence(len(pcm))])[: len(pcm)].astype(np.float32)
