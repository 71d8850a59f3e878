"""Keeps an answer speakable: a few sentences, no markup. A pure core.

Small models ramble and repeat themselves; whatever they are told, nobody listens that long.
"""

import re

# A sentence ends before a space, so that "3.5" goes on; after a title or an initial it does not.
_END = re.compile(
    r"(?<!\bMr)(?<!\bMrs)(?<!\bMs)(?<!\bDr)(?<!\bSt)(?<!\b[A-Z])[.!?…]+[\"”')\]]*(?=\s)"
    r"|[。！？]|(?<=[^\s.!?…\"”')\]])\n"
)
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
        ends = list(_END.finditer(self._text))
        if len(ends) >= self._sentences:
            self.done = True
            self._text = self._text[: max(ends[self._sentences - 1].end(), start)]
        return self._text[start:].replace("\n", " ")
