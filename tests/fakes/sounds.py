"""Sounds for hearing: people, and what only sounds like people. 16 kHz, seeded."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from pipeline.audio.jitter import JitterBuffer
from pipeline.audio.opus import OpusDecoder
from pipeline.audio.resample import Resampler
from pipeline.audio.rtpdump import read_rtpdump
from pipeline.types import AudioFrame, Pcm
from tests.fakes.drive import drive

RATE_HZ = 16_000
FRAME = 320
RECORDINGS = Path(__file__).parents[1] / "recordings"


def at_level(sound: np.ndarray, rms: float = 0.08) -> Pcm:
    return (sound * (rms / np.sqrt(np.mean(sound**2)))).astype(np.float32)


def syllables(seed: int, seconds: float, pitch_hz: float = 120.0) -> Pcm:
    """Voiced syllables of random vowels: no words, but what a larynx and a mouth make."""
    rng, n = np.random.default_rng(seed), int(seconds * RATE_HZ)
    t = np.arange(n) / RATE_HZ
    phase = (
        2 * np.pi * np.cumsum(pitch_hz * (1 + 0.1 * np.sin(2 * np.pi * 1.3 * t + seed))) / RATE_HZ
    )
    beats = (t * 5).astype(int)
    first = rng.uniform(450, 800, beats.max() + 1)[beats]
    second = rng.uniform(1000, 2300, beats.max() + 1)[beats]
    sound = np.zeros(n)
    for k in range(1, int(4000 / pitch_hz)):
        hz = k * pitch_hz
        peak = np.exp(-(((hz - first) / 150) ** 2)) + 0.4 * np.exp(-(((hz - second) / 250) ** 2))
        sound += (peak + 0.02) * np.sin(k * phase + rng.uniform(0, 6))
    return at_level(sound * (0.55 - 0.45 * np.cos(2 * np.pi * 5 * t)))


def cough(seed: int, seconds: float = 0.2) -> Pcm:
    """A burst of noise through an open throat."""
    rng, n = np.random.default_rng(seed), int(seconds * RATE_HZ)
    spectrum, hz = np.fft.rfft(rng.standard_normal(n)), np.fft.rfftfreq(n, 1 / RATE_HZ)
    spectrum *= 1 / (1 + ((hz - rng.uniform(700, 1600)) / rng.uniform(400, 900)) ** 2)
    t = np.arange(n) / RATE_HZ
    fade = np.minimum(t / 0.008, 1) * np.exp(-t / rng.uniform(0.05, 0.1))
    return at_level(np.fft.irfft(spectrum, n) * fade, 0.12)


def hum(pitch_hz: float, seconds: float = 0.5) -> Pcm:
    """ "Mm-hm": two beats through the nose."""
    t = np.arange(int(seconds * RATE_HZ)) / RATE_HZ
    phase = 2 * np.pi * np.cumsum(pitch_hz * (1 + 0.08 * np.sin(2 * np.pi * 1.2 * t))) / RATE_HZ
    nasal = [1 / k if k * pitch_hz < 350 else 0.02 / k for k in range(1, 20)]
    sound = sum(level * np.sin(k * phase) for k, level in enumerate(nasal, 1))
    edges = np.minimum(1, np.minimum(t / 0.03, (seconds - t) / 0.05))
    return at_level(sound * edges * (1 - 0.98 * np.exp(-(((t - seconds * 0.45) / 0.03) ** 2))))


def recorded(name: str) -> Pcm:
    """What a browser sent (tests/recordings), decoded."""
    packets = list(read_rtpdump(RECORDINGS / f"{name}.rtpdump"))
    out = drive(
        JitterBuffer(OpusDecoder(24_000)),
        [(p.arrived_s, p) for p in packets],
        packets[-1].arrived_s,
    )
    resampler = Resampler(24_000, RATE_HZ)
    frames = [f for _, item in out if isinstance(item, AudioFrame) for f in resampler.push(item)]
    return np.concatenate([f.pcm for f in frames])


def words_of(name: str) -> str:
    return (RECORDINGS / f"{name}.txt").read_text().strip()


def scene(seconds: float, *sounds: tuple[float, Pcm], seed: int = 0) -> Pcm:
    """`seconds` of a quiet room, with each sound beginning at its time."""
    n = int(seconds * RATE_HZ)
    room = 3e-4 * np.random.default_rng(seed).standard_normal(n)
    for at_s, sound in sounds:
        start = round(at_s * RATE_HZ)
        room[start : start + len(sound)] += sound[: n - start]
    return room.astype(np.float32)


def frames(pcm: Pcm, samples: int = FRAME) -> Sequence[AudioFrame]:
    whole = range(0, len(pcm) - samples + 1, samples)
    return [AudioFrame(pcm[i : i + samples], RATE_HZ, i, (i + samples) / RATE_HZ) for i in whole]
