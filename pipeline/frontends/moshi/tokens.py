"""Text to SentencePiece tokens and back, piece by piece: pure cores.

SentencePiece marks where a word begins with "▁" (U+2581) and never merges across it, so that text
may be encoded word by word. A part of a word must never be: "capital" is another token than
"cap" and "ital", and a stripped part would become a word of its own.
"""

import re
from typing import Protocol

from pipeline.types import Word

MARK = "▁"

LONGEST_WORD = 48
"""Bytes after which a word without an end is given out all the same."""

_SPACES = re.compile(r"\s+")

_BYTE = re.compile(r"<0x([0-9A-F]{2})>")

# Text without spaces may be cut after these, so that it need not wait for its end.
_STOPS = "、。！？"


class TextPieces(Protocol):
    """What is used of a SentencePieceProcessor."""

    def encode(self, text: str) -> list[int]:
        """Tokens of a word (no spaces in it), "▁" before it; none of ""."""

    def id_to_piece(self, token: int) -> str:
        """As the model spells it; nothing for what is not text."""


class OracleText:
    """Encodes one answer that comes in pieces; together the tokens are those of the whole.

    A word is held until it is known to be whole: until a space, or `final`.
    """

    def __init__(self, pieces: TextPieces) -> None:
        self._pieces = pieces
        self._word = ""
        """The last word, as far as it came."""
        self._given = 0
        """How many of its tokens were given out."""

    def push(self, delta: str, *, final: bool) -> list[int]:
        """The tokens that are now certain."""
        *whole, word = _SPACES.split(self._word + delta)
        tokens = []
        for one in whole:
            tokens += self._pieces.encode(one)[self._given :]
            self._given = 0
        certain = self._pieces.encode(word if final else word[: _after_stop(word)])
        tokens += certain[self._given :]
        self._word, self._given = ("", 0) if final else (word, len(certain))
        return tokens


def _after_stop(word: str) -> int:
    return max(word.rfind(stop) for stop in _STOPS) + 1


class WordStream:
    """Gathers one text token a frame into words that read as they were meant.

    A word ends before the next piece with "▁", and with padding; it has the place and the epoch of
    its first piece.
    """

    def __init__(self, pieces: TextPieces, padding: frozenset[int]) -> None:
        self._pieces = pieces
        self._padding = padding
        self._bytes = bytearray()
        self._epoch = self._start = 0

    def push(self, token: int, epoch: int, start_sample: int) -> Word | None:
        """The word that `token` ends."""
        if token in self._padding:
            return self._flush()
        piece = self._pieces.id_to_piece(token)
        too_long = len(self._bytes) >= LONGEST_WORD and not _BYTE.fullmatch(piece)
        ended = self._flush() if piece.startswith(MARK) or too_long else None
        if not self._bytes:
            self._epoch, self._start = epoch, start_sample
        self._bytes += _spelled(piece)
        return ended

    def _flush(self) -> Word | None:
        text = self._bytes.decode(errors="replace")
        self._bytes.clear()
        return Word(text, self._epoch, self._start) if text.strip() else None


def _spelled(piece: str) -> bytes:
    """A piece as UTF-8; a byte piece, such as <0xE6>, is part of a character."""
    if byte := _BYTE.fullmatch(piece):
        return bytes([int(byte[1], 16)])
    return piece.replace(MARK, " ").encode()
