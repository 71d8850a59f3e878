"""Sentences as sound files, in the voice the server has too: made once, then kept."""

import hashlib
from pathlib import Path

import numpy as np

from pipeline.frontends.voice.process import WorkerProcess
from pipeline.frontends.voice.wire import Kind, Message
from pipeline.frontends.voice.worker import RATE_HZ
from pipeline.types import Pcm, silence
from server.rtc.wav import write_wav
from server.weights import Weights


class Speaker:
    """Sound files lie in `folder`; a worker is started when one is missing."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._worker: WorkerProcess | None = None

    def __call__(self, text: str, *, lead_s: float = 0.0, tail_s: float = 0.0) -> Path:
        """A WAV of `text`, with silence before and after it."""
        key = hashlib.sha256(f"{text}|{lead_s}|{tail_s}".encode()).hexdigest()[:16]
        path = self._folder / f"{key}.wav"
        if not path.exists():
            padding = (silence(round(seconds * RATE_HZ)) for seconds in (lead_s, tail_s))
            lead, tail = padding
            write_wav(path, np.concatenate([lead, self._speak(text), tail]), RATE_HZ)
        return path

    def close(self) -> None:
        if self._worker is not None:
            self._worker.stop()

    def _speak(self, text: str) -> Pcm:
        if self._worker is None:
            weights = Weights()
            weights.fetch(["tts"])
            self._worker = WorkerProcess.start(weights.path("tts"), 2)
        self._worker.write(Message(Kind.SAY, 1, text.encode()))
        pieces = []
        while (message := self._worker.read()) is not None and message.kind is Kind.PIECE:
            pieces.append(message.pcm)
        assert message is not None and message.kind is Kind.LAST, "the worker did not speak"
        return np.concatenate([*pieces, silence(0)])
