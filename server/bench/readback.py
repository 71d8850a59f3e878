"""Whether an answer can be understood: our own STT listens to it."""

from collections.abc import Sequence

import numpy as np
import soxr

from pipeline.oracle.words import words
from pipeline.stt.moonshine import RATE_HZ as HEARS_HZ
from pipeline.stt.moonshine import Moonshine
from pipeline.types import AudioFrame
from server.bench.asking import Asked
from server.rtc.microphone import RATE_HZ


def read_back(stt: Moonshine, asked: Asked) -> str:
    """What the assistant was heard to say after the question; blocks. Raises ServiceError."""
    pcm = _sound([frame for frame in asked.heard if frame.arrived_s > asked.said.ended_s])
    return stt.decode(soxr.resample(pcm, RATE_HZ, HEARS_HZ)) if len(pcm) else ""


def holds(heard: str, answer: Sequence[str]) -> bool:
    """One of the words that show a right answer was heard."""
    return not set(words(heard)).isdisjoint(answer)


def _sound(frames: Sequence[AudioFrame]) -> np.ndarray:
    """Without the silence around it."""
    pcm = np.concatenate([np.zeros(0, np.float32), *(frame.pcm for frame in frames)])
    loud = np.flatnonzero(np.abs(pcm) > 0.005)
    margin = RATE_HZ // 10
    return pcm[max(0, loud[0] - margin) : loud[-1] + margin] if len(loud) else pcm[:0]
