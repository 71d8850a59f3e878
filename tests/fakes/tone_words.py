"""Words as tones, and who understands them: audio lost or heard twice is a word lost or twice.

Word n is `WORD_S` of the n-th tone. Of a tone that was cut only a "uh" is understood, as of half a
word. Like Google's, this recogniser settles its words once a pause follows, or when it is told
that no more will come.
"""

from dataclasses import dataclass, field

import numpy as np

from pipeline.types import Pcm, silence

RATE_HZ = 16_000
WORD_S = 0.12
WINDOW = 160
"""10 ms: tones are whole multiples of 100 Hz, and cuts fall between windows."""
PAUSE_WINDOWS = 15
FRAGMENT = "uh"


def word(n: int) -> str:
    return f"word{n}"


def tone(n: int) -> Pcm:
    t = np.arange(round(WORD_S * RATE_HZ)) / RATE_HZ
    return (0.5 * np.sin(2 * np.pi * (200 + 100 * n) * t)).astype(np.float32)


def sentence(first: int, count: int, gap_s: float = 0.04) -> Pcm:
    """`count` words from the `first` on; neighbours must differ where there is no gap."""
    gap = silence(round(gap_s * RATE_HZ))
    return np.concatenate([each for n in range(first, first + count) for each in (tone(n), gap)])


def words(first: int, count: int) -> str:
    return " ".join(word(n) for n in range(first, first + count))


@dataclass(slots=True)
class Recogniser:
    """One stream's audio and words."""

    samples: int = 0
    settled: list[str] = field(default_factory=list)
    """Newly settled words, with none taken away."""
    settled_until: int = 0
    _rest: Pcm = field(default_factory=lambda: silence(0))
    _tone: int | None = None
    _length: int = 0
    _open: list[str] = field(default_factory=list)
    _quiet: int = 0

    def hear(self, pcm: Pcm) -> None:
        pcm = np.concatenate([self._rest, pcm])
        whole = len(pcm) // WINDOW * WINDOW
        windows, self._rest = pcm[:whole].reshape(-1, WINDOW), pcm[whole:]
        loudest = np.abs(np.fft.rfft(windows)).argmax(axis=1) - 2
        for at_hz, loud in zip(
            loudest, np.abs(windows).max(axis=1, initial=0.0) > 0.01, strict=True
        ):
            self.samples += WINDOW
            self._window(int(at_hz) if loud else None)

    def finish(self) -> None:
        self._ended()
        self._settle()

    @property
    def open(self) -> list[str]:
        """Words that are not settled, the one that is being said included."""
        going_on = self._tone is not None
        return [*self._open, *([self._named()] if going_on else [])]

    def _window(self, heard: int | None) -> None:
        """10 ms of tone number `heard`, or of silence."""
        if heard != self._tone:
            self._ended()
            self._tone, self._length = heard, 0
        self._length += 1
        self._quiet = self._quiet + 1 if heard is None else 0
        if self._quiet == PAUSE_WINDOWS and self._open:
            self._settle()

    def _ended(self) -> None:
        if self._tone is not None:
            self._open.append(self._named())
        self._tone = None

    def _named(self) -> str:
        whole = self._length * WINDOW >= 0.9 * WORD_S * RATE_HZ
        return word(self._tone) if whole and self._tone is not None else FRAGMENT

    def _settle(self) -> None:
        self.settled += self._open
        self._open, self.settled_until = [], self.samples
