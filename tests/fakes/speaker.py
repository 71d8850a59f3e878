"""Sentences as sound files, in a voice a little higher than the server's: made once, then kept."""

import hashlib
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import soxr

from pipeline.frontends.voice.process import WorkerProcess
from pipeline.frontends.voice.wire import Kind, Message
from pipeline.frontends.voice.worker import RATE_HZ
from pipeline.types import Pcm, silence
from server.rtc.wav import write_wav
from server.weights import Weights

TEMPO = 1.05
PEAK = 0.7
TAKES = 10
HEAR_HZ = 16_000


def plain(text: str) -> str:
    """Its words, without what an STT may write otherwise."""
    return " ".join(re.findall(r"[a-z0-9']+", text.lower()))


class Speaker:
    """Files lie in `folder`; a worker is started when one is missing.

    Piper says a sentence differently each time, and at times badly: a take is kept only if
    `read` (an STT, 16 kHz) finds the sentence in it.
    """

    def __init__(self, folder: Path, read: Callable[[Pcm], str]) -> None:
        self._folder, self._read = folder, read
        self._worker: WorkerProcess | None = None

    def __call__(self, text: str, *, lead_s: float = 0.0, tail_s: float = 0.0) -> Path:
        """A WAV of `text`, with silence before and after it."""
        key = hashlib.sha256(f"{text} {lead_s} {tail_s}".encode()).hexdigest()[:16]
        path = self._folder / f"{key}.wav"
        if not path.exists():
            lead, tail = (silence(round(seconds * RATE_HZ)) for seconds in (lead_s, tail_s))
            write_wav(path, np.concatenate([lead, self._good_take(text), tail]), RATE_HZ)
        return path

    def close(self) -> None:
        if self._worker is not None:
            self._worker.stop()

    def _good_take(self, text: str) -> Pcm:
        for _ in range(TAKES):
            take = soxr.resample(self._speak(text), RATE_HZ * TEMPO, RATE_HZ)
            pcm = np.asarray(take * (PEAK / np.abs(take).max()), np.float32)
            if plain(self._read(soxr.resample(pcm, RATE_HZ, HEAR_HZ))) == plain(text):
                return pcm
        raise AssertionError(f"no good take of {text!r}")

    def _speak(self, text: str) -> Pcm:
        if self._worker is None:
            weights = Weights()
            weights.fetch(["tts"])
            self._worker = WorkerProcess.start(weights.path("tts"), 2)
        self._worker.write(Message(Kind.SAY, 1, text.encode()))
        pieces = [silence(0)]
        while (message := self._worker.read()) is not None and message.kind is Kind.PIECE:
            pieces.append(message.pcm)
        assert message is not None and message.kind is Kind.LAST, "the worker did not speak"
        return np.concatenate(pieces)
