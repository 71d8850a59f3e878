"""The oracle's tokens on their way into a model, one a frame: a pure core."""

from collections import deque
from dataclasses import dataclass

from pipeline.frontends.moshi.tokens import OracleText, TextPieces
from pipeline.types import OracleUpdate


@dataclass(frozen=True, slots=True)
class OracleIds:
    """Which tokens stand for what in a model's oracle stream."""

    start: int
    """Comes before each new answer: KAME uses the text stream's initial token."""
    idle: int
    """Fed while there is nothing to say: text padding in tandem, which does move the model; in
    s2s the one id (−1) that embeds to nothing, so that the model is plain Moshi."""


class OracleQueue:
    """One slot's queue. A higher epoch replaces what waits; late tokens are used late, not skipped.

    It is not bounded by itself: an answer is cut to a few sentences before it comes here.
    """

    def __init__(self, ids: OracleIds, pieces: TextPieces) -> None:
        self._ids = ids
        self._pieces = pieces
        self._text = OracleText(pieces)
        self._waiting: deque[int] = deque()
        self._newest = 0
        self._stopped = False
        self.epoch = 0
        """Of the token fed last that was not idle; 0: none was yet."""

    def push(self, update: OracleUpdate) -> None:
        """Part of an answer came; one of an older epoch than was seen is ignored."""
        if update.epoch < self._newest or (update.epoch == self._newest and self._stopped):
            return
        if update.epoch > self._newest:
            self._newest, self._stopped = update.epoch, False
            self._text = OracleText(self._pieces)
            self._waiting = deque([self._ids.start])
        self._waiting.extend(self._text.push(update.text, final=update.final))

    def stop(self) -> None:
        """Say no more of the present answer, nor of what may still come of it."""
        self._stopped = True
        self._waiting.clear()

    def next(self) -> int:
        """The token for the next frame."""
        if not self._waiting:
            return self._ids.idle
        self.epoch = self._newest
        return self._waiting.popleft()
