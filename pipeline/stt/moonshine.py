"""Moonshine tiny-en through its C library: a whole piece of audio in, text out.

The Python binding copies audio through lists, which holds the GIL for milliseconds a second of
audio; here the samples are handed over where they are. The C call itself releases the GIL.
"""

import ctypes
from pathlib import Path

import moonshine_voice
import numpy as np
from moonshine_voice.errors import MoonshineError, check_error
from moonshine_voice.moonshine_api import ModelArch, TranscriptC
from moonshine_voice.transcriber import Transcriber

from pipeline.errors import ConfigError, ServiceError
from pipeline.types import Pcm

RATE_HZ = 16_000

# The library's own VAD invents a leading "You" when fed whole utterances; hearing has cut them.
OPTIONS = {"vad_threshold": "0.0"}


class Moonshine:
    """The model, loaded once; `decode` may be called from several threads."""

    def __init__(self) -> None:
        """Raises ConfigError if the weights cannot be loaded."""
        folder = Path(moonshine_voice.__file__).parent / "assets" / "tiny-en"
        try:
            self._model = Transcriber(folder, ModelArch.TINY, options=OPTIONS)
        except (MoonshineError, OSError) as error:
            raise ConfigError(
                f"The Moonshine speech-to-text model cannot be loaded: {error}",
                hint="Install moonshine-voice==0.1.0: later releases carry no weights.",
            ) from error

    def decode(self, pcm: Pcm) -> str:
        """What is said in `pcm` (RATE_HZ). Raises ServiceError."""
        audio = np.ascontiguousarray(pcm, dtype=np.float32)
        out = ctypes.POINTER(TranscriptC)()
        try:
            check_error(
                self._model._lib.moonshine_transcribe_without_streaming(
                    self._model._handle,
                    audio.ctypes.data_as(ctypes.POINTER(ctypes.c_float)),
                    len(audio),
                    RATE_HZ,
                    0,
                    ctypes.byref(out),
                )
            )
        except MoonshineError as error:
            raise ServiceError("stt", f"Moonshine could not decode: {error}") from error
        lines = out.contents.lines[: out.contents.line_count]
        texts = (ctypes.string_at(line.text).decode("utf-8", "ignore") for line in lines)
        return " ".join(text.strip() for text in texts).strip()
