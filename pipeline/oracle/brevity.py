"""Keeps an answer speakable: a few sentences, no markup. A pure core.

Small models ramble and repeat themselves; whatever they are told, nobody listens that long.
"""

import re

from pipeline.oracle.words import is_abbreviation

# A sentence ends before a space, so that "3.5" goes on.
_END = re.compile(r"[.!?…]+[\"”')\]]*(?=\s)|[。！？]|(?<=[^\s.!?…\"”')\]])\n")
_LIST_NUMBER = re.compile(r"^[ ]*\d{1,3}\.$", re.MULTILINE)
_MARKUP = str.maketrans("", "", "*`")


class Brevity:
    def __init__(self, sentences: int) -> None:
        self._sentences = sentences
        self._text = ""
        self.done = False
        """The answer is long enough: read no more of it."""

    def push(self, piece: str) -> str:
        """What of the next piece is to be said."""
        start = len(self._text)
        self._text = (self._text + piece.translate(_MARKUP)).lstrip()
        ends = [found.end() for found in _END.finditer(self._text) if self._ends(found.end())]
        if len(ends) >= self._sentences:
            self.done = True
            self._text = self._text[: max(ends[self._sentences - 1], start)]
        return self._text[start:]

    def _ends(self, at: int) -> bool:
        """Not so after "Dr." nor after the number of a list's line."""
        line = self._text[:at].rpartition("\n")[2]
        word = line.split()[-1] if line.split() else ""
        return not is_abbreviation(word) and _LIST_NUMBER.match(line) is None
