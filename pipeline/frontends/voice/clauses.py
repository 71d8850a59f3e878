"""Where a streamed answer can be cut, so that the voice starts before the text is complete.

While the listener waits, the shortest piece that sounds natural is cut off; while something is
being said there is time for a longer one, which sounds better. All functions are pure and see
the whole text so far.
"""

import re
import unicodedata
from dataclasses import dataclass

from pipeline.oracle.words import is_abbreviation, words


@dataclass(frozen=True, slots=True)
class Size:
    """How many words make a clause."""

    sentence: int
    """A sentence this long is a clause."""
    pause: int
    """So is what ends in a comma, colon or dash, from here on."""
    joint: int
    """From here on it is cut before a word that joins ("and", "because", "which")."""
    most: int
    """Here it is cut wherever it is."""


SHORT = Size(sentence=1, pause=2, joint=5, most=10)
LONG = Size(sentence=3, pause=8, joint=14, most=24)

WORD = re.compile(r"\S+")
_SENTENCE_END = re.compile(r"[.!?…]+[\"”’')\]*_]*$|[。！？]$")
_PAUSE_END = re.compile(r"[,;:—–][\"”’')\]*_]*$|[、，；：]$")
_LIST_NUMBER = re.compile(r"^\W*\d{1,3}[.)]$")
_JOINTS = frozenset(
    words("and but or because which that who so when where while although if as for with by from")
)


def clause_end(text: str, start: int, size: Size, *, final: bool) -> int | None:
    """Where the clause that begins at `start` ends; None: more text must come first.

    `final`: no more text will come, so what is left is a clause.
    """
    count = 0
    last_end = start
    for match in WORD.finditer(text, start):
        if match.end() == len(text) and not final:
            return None  # the word may go on: "3." is the start of "3.5"
        word = match.group()
        if count >= size.joint and word.lower() in _JOINTS:
            return last_end
        count += 1
        last_end = match.end()
        if _ends(word, count, size) or "\n" in text[last_end : last_end + 1]:
            return last_end
    return last_end if final and count else None


def _ends(word: str, count: int, size: Size) -> bool:
    if count >= size.most:
        return True
    if is_abbreviation(word) or (count == 1 and _LIST_NUMBER.match(word)):
        return False
    if _SENTENCE_END.search(word):
        return count >= size.sentence
    return count >= size.pause and _PAUSE_END.search(word) is not None


_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_MARKUP = re.compile(r"[*`|]+|~~+|[-=_]{3,}|^\s*(?:#+|>+|[-+•]\s)|(?<!\w)_+|_+(?!\w)", re.MULTILINE)
_PICTURES = {"So", "Sk", "Cs", "Co", "Cn", "Cf", "Cc"}
_SPOKEN_SIGNS = "°^"
_LOOSE_MARK = re.compile(r" +(?=[.,!?])(?!\.\d)")


def speakable(text: str) -> str:
    """`text` without what is to be seen and not heard: Markdown, emoji, control characters."""
    plain = _MARKUP.sub("", _LINK.sub(r"\1", text))
    kept = "".join(" " if _is_picture(c) else c for c in plain).replace("\ufe0f", "")
    if not any(c.isalnum() for c in kept):
        return ""
    return _LOOSE_MARK.sub("", " ".join(kept.split()))


def _is_picture(letter: str) -> bool:
    return letter not in _SPOKEN_SIGNS and unicodedata.category(letter) in _PICTURES
