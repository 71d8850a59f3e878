"""Sound files in and out, for the terminal client."""

import wave
from pathlib import Path

import av
import numpy as np

from pipeline.errors import InputError
from pipeline.types import Pcm


def read_sound(path: Path, rate_hz: int) -> Pcm:
    """The file as mono at `rate_hz`, whatever its rate, channels and format.

    Raises InputError if it is missing or holds no sound.
    """
    resampler = av.AudioResampler("flt", "mono", rate_hz)
    parts = []
    try:
        with av.open(str(path)) as file:
            for frame in [*file.decode(audio=0), None]:
                parts += [made.to_ndarray()[0] for made in resampler.resample(frame)]
    except (av.FFmpegError, OSError, IndexError) as error:
        raise InputError(f"{path} cannot be read as sound: {error}") from error
    return np.concatenate(parts) if parts else np.zeros(0, np.float32)


def write_wav(path: Path, pcm: Pcm, rate_hz: int) -> None:
    """Mono, 16 bits."""
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate_hz)
        file.writeframes((np.clip(pcm, -1, 1) * 32_767).astype("<i2").tobytes())
