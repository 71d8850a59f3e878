"""A peer's microphone: signals, and RTP made from them, for tests."""

import wave
from collections.abc import Iterable
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from pipeline.audio.opus import OpusEncoder
from pipeline.types import AudioFrame, OpusPacket, Pcm

RATE_HZ = 24_000


def sine(hz: float, seconds: float, rate_hz: int = RATE_HZ) -> Pcm:
    at_s = np.arange(round(seconds * rate_hz)) / rate_hz
    return (0.3 * np.sin(2 * np.pi * hz * at_s)).astype(np.float32)


def speech(seconds: float) -> Pcm:
    """A woman reading, 24 kHz: a recording that the STT's package carries."""
    package = find_spec("moonshine_voice")
    assert package is not None and package.submodule_search_locations
    path = Path(package.submodule_search_locations[0]) / "assets" / "two_cities.wav"
    with wave.open(str(path)) as file:
        rate_hz = file.getframerate()
        raw = np.frombuffer(file.readframes(round(seconds * rate_hz)), dtype=np.int16)
    at = np.arange(round(seconds * RATE_HZ)) * rate_hz / RATE_HZ
    return np.interp(at, np.arange(len(raw)), raw / 32768).astype(np.float32)


def packets(pcm: Pcm, packet_s: float = 0.02, skew: float = 0.0) -> list[OpusPacket]:
    """`pcm` as a sender would send it, on a clock that is `skew` too fast; arrival = end of audio.

    Numbers start where 16 and 32 bits nearly wrap.
    """
    encoder, size = OpusEncoder(RATE_HZ), round(packet_s * RATE_HZ)
    return [
        OpusPacket(
            encoder.encode(pcm[start : start + size]),
            65_500 + number,
            2**32 - 48_000 + start * 2,
            (start + size) / RATE_HZ / (1 + skew),
        )
        for number, start in enumerate(range(0, len(pcm) - size + 1, size))
    ]


def lost(sent: Iterable[OpusPacket], *indices: int) -> list[OpusPacket]:
    return [packet for index, packet in enumerate(sent) if index not in indices]


def delayed(packet: OpusPacket, by_s: float) -> OpusPacket:
    return replace(packet, arrived_s=packet.arrived_s + by_s)


def skewed(sent: Iterable[OpusPacket], by: float) -> list[OpusPacket]:
    """The same, from a sender whose clock is `by` too fast."""
    return [replace(packet, arrived_s=packet.arrived_s / (1 + by)) for packet in sent]


def joined(frames: Iterable[AudioFrame]) -> Pcm:
    return np.concatenate([frame.pcm for frame in frames])


def pitch_hz(pcm: Pcm, rate_hz: int) -> float:
    """The loudest frequency."""
    window = pcm * np.hanning(len(pcm))
    spectrum = np.abs(np.fft.rfft(window, 8 * len(pcm)))
    return float(np.argmax(spectrum) * rate_hz / (8 * len(pcm)))


def snr_db(heard: Pcm, meant: Pcm) -> float:
    error = float(np.sum((heard - meant) ** 2))
    return 10 * float(np.log10(float(np.sum(meant**2)) / (error + 1e-12)))
