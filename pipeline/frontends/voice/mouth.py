"""Turns clauses into frames: one slot's output, sample after sample."""

from collections.abc import Callable

import numpy as np

from pipeline.frontends.voice.agreement import FILLERS
from pipeline.frontends.voice.reply import Clause
from pipeline.frontends.voice.track import Line, Track
from pipeline.types import Pcm, Word, silence


class Mouth:
    def __init__(self, frame_samples: int, rate_hz: int) -> None:
        self._frame = frame_samples
        self._track = Track(rate_hz)
        self._position = 0
        """Samples put out so far."""
        self._last_word = ""
        """Of the reply so far; empty: a new reply begins."""

    def frame(self, next_clause: Callable[[], Clause | None]) -> tuple[Pcm, tuple[Word, ...], bool]:
        """The next frame, the words that start in it, and whether anything is said in it.

        `next_clause` is asked when there is nothing left to say.
        """
        pieces: list[Pcm] = []
        words: list[Word] = []
        missing = self._frame
        while missing and (self._track.left or self._load(next_clause())):
            pcm, begun = self._track.read(missing, self._position + self._frame - missing)
            pieces.append(pcm)
            words.extend(begun)
            missing -= len(pcm)
        self._position += self._frame
        return np.concatenate([*pieces, silence(missing)]), tuple(words), missing < self._frame

    @property
    def rests(self) -> bool:
        """It is at the end of a clause, if only in the pause after it."""
        return self._track.rests

    def cut(self) -> Pcm:
        """Stop in mid-word; the frame in which it fades away."""
        self.end()
        self._position += self._frame
        faded = self._track.cut()[: self._frame]
        return np.concatenate([faded, silence(self._frame - len(faded))])

    def end(self) -> None:
        """What is said next begins a reply."""
        self._last_word = ""

    def _load(self, clause: Clause | None) -> bool:
        if clause is None:
            return False
        first, *rest = clause.words
        first = _after(self._last_word, first)
        self._last_word = clause.words[-1]
        line = Line((first, *(f" {word}" for word in rest)), clause.epoch)
        self._track.load(clause.clip.audio, line)
        return True


def _after(last_word: str, word: str) -> str:
    """`word` as it reads behind `last_word`: "Well," "The" gives " the"."""
    if not last_word:
        return word
    lower = word.lower()
    return f" {lower}" if last_word.endswith(",") and lower in FILLERS - {"i"} else f" {word}"
