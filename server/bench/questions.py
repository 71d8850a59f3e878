"""What the benches ask, and its sound.

The questions are spoken with the server's own TTS voice, since there is no other that is sure to
be there. So that they do not all sound alike, each is played a little faster and higher, or
slower and lower, than the one before.
"""

import asyncio
import hashlib
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from itertools import cycle
from pathlib import Path

import numpy as np
import soxr
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from pipeline.errors import ServiceError
from pipeline.frontends.voice.face import Synthesizer
from pipeline.frontends.voice.tts import PiperTts
from pipeline.types import Pcm, silence
from server.rtc.microphone import AUDIBLE, RATE_HZ
from server.rtc.wav import read_sound, write_wav
from server.settings import load
from server.weights import Weights

PAUSE = "…"
TEMPI = (1.0, 0.95, 1.05, 0.97, 1.03)
"""Speed and pitch, in turns."""
PEAK = 0.7
"""Of full scale: as browsers level a microphone."""
POLL_S = 0.01


class Question(BaseModel):
    """As in questions.toml."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: str
    answer: tuple[str, ...]
    """Any of these words, in lower case, shows that it was answered right."""
    pause_s: float = 0.0
    """How long the speaker is silent in mid-sentence, at the PAUSE in the text."""


@dataclass(frozen=True, slots=True, eq=False)
class SpokenQuestion:
    """A question and its sound, mono at RATE_HZ."""

    question: Question
    pcm: Pcm


def read_questions() -> list[Question]:
    text = resources.files("server.bench").joinpath("questions.toml").read_text()
    return [Question.model_validate(entry) for entry in tomllib.loads(text)["questions"]]


async def speak_all(questions: Sequence[Question]) -> list[SpokenQuestion]:
    """Their sounds, from the cache or newly made. Raises ConfigError, ServiceError."""
    cache = load().server.cache
    folder = cache / "questions"
    folder.mkdir(parents=True, exist_ok=True)
    takes = [_Take(question, tempo, folder) for question, tempo in zip(questions, cycle(TEMPI))]
    if missing := [take for take in takes if not take.file.is_file()]:
        await _record(missing, Weights(cache))
    return [
        SpokenQuestion(take.question, await asyncio.to_thread(read_sound, take.file, RATE_HZ))
        for take in takes
    ]


@dataclass(frozen=True, slots=True)
class _Take:
    question: Question
    tempo: float
    folder: Path

    @property
    def file(self) -> Path:
        what = f"{self.question.text} {self.question.pause_s} {self.tempo}"
        return self.folder / f"{hashlib.sha256(what.encode()).hexdigest()[:16]}.wav"

    def join(self, parts: Sequence[Pcm]) -> Pcm:
        """The parts at this tempo, with the pause between them."""
        joined, *rest = [soxr.resample(part, RATE_HZ * self.tempo, RATE_HZ) for part in parts]
        for part in rest:
            quiet = len(joined) - _audible(joined)[-1] + _audible(part)[0]
            missing = round(self.question.pause_s * RATE_HZ) - quiet
            joined = np.concatenate([joined, silence(max(0, missing)), part])
        return np.asarray(joined * (PEAK / np.abs(joined).max()), np.float32)


def _audible(pcm: Pcm) -> NDArray[np.intp]:
    return np.flatnonzero(np.abs(pcm) >= AUDIBLE)


async def _record(takes: Sequence[_Take], weights: Weights) -> None:
    await asyncio.to_thread(weights.fetch, ["tts"])
    tts = await asyncio.to_thread(PiperTts, weights.path("tts"))
    try:
        for take in takes:
            parts = [await _say(tts, part.strip()) for part in take.question.text.split(PAUSE)]
            write_wav(take.file, take.join(parts), RATE_HZ)
    finally:
        await asyncio.to_thread(tts.shutdown)


async def _say(tts: Synthesizer, text: str) -> Pcm:
    tts.say(text)
    pieces: list[Pcm] = []
    while True:
        for spoken in tts.collect():
            if spoken.failed:
                raise ServiceError("tts", spoken.failed)
            pieces.append(spoken.pcm)
            if spoken.last:
                return np.concatenate(pieces)
        await asyncio.sleep(POLL_S)
