"""What one slot is saying: recordings cut into frames, with the words that start in each."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from pipeline.types import Pcm, Word, silence

FADE_S = 0.01
"""Speech that is cut off fades over this: a hard edge clicks."""

DIGIT_LETTERS = 6
"""Letters that take as long to say as a digit other than 0: "1969" is four words."""

LOUD = 0.01
"""About −40 dBFS: a sample above it belongs to speech."""


@dataclass(frozen=True, slots=True)
class Line:
    """Words to be said together, all from one oracle."""

    words: tuple[str, ...]
    """With the spaces in front, so that joined they are the text."""
    epoch: int


class Track:
    """One recording at a time; positions are samples of the slot's output."""

    def __init__(self, rate_hz: int) -> None:
        self._fade = int(FADE_S * rate_hz)
        self._pcm = silence(0)
        self._at = 0
        self._coming: list[tuple[int, str]] = []
        """Words not begun yet, and the sample of the recording at which they start."""
        self._epoch = 0

    @property
    def left(self) -> int:
        """Samples not said yet."""
        return len(self._pcm) - self._at

    @property
    def rests(self) -> bool:
        """No word, or part of one, is left to be said."""
        return not np.any(np.abs(self._pcm[self._at :]) > LOUD)

    def load(self, pcm: Pcm, line: Line) -> None:
        """Say this next; what was on the track is gone."""
        self._pcm, self._at, self._epoch = pcm, 0, line.epoch
        self._coming = list(zip(word_starts(line.words, pcm), line.words, strict=True))

    def read(self, samples: int, position: int) -> tuple[Pcm, list[Word]]:
        """The next `samples` (fewer at the end), which go out at `position`."""
        start = self._at
        pcm = self._pcm[start : start + samples]
        self._at += len(pcm)
        words = []
        while self._coming and self._coming[0][0] < self._at:
            sample, text = self._coming.pop(0)
            words.append(Word(text, self._epoch, position + sample - start))
        return pcm, words

    def cut(self) -> Pcm:
        """Stop; returns the fade-out to be heard instead of the rest."""
        tail = self._pcm[self._at : self._at + self._fade]
        faded = tail * np.linspace(1, 0, len(tail), dtype=np.float32)
        self._pcm, self._at, self._coming = silence(0), 0, []
        return faded


def word_starts(words: Sequence[str], pcm: Pcm) -> list[int]:
    """At which sample each word begins: the speech shared out by the words' lengths."""
    loud = np.flatnonzero(np.abs(pcm) > LOUD)
    speech = int(loud[-1]) + 1 if len(loud) else len(pcm)
    lengths = [_letters(word.strip()) + 1 for word in words]
    before = [0, *accumulate(lengths)]
    return [speech * length // before[-1] for length in before[:-1]]


def _letters(word: str) -> int:
    """As it is spoken."""
    return len(word) + (DIGIT_LETTERS - 1) * sum(letter in "123456789" for letter in word)
