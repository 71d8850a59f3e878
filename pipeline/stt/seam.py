"""Joins what two streams heard: where one follows the other, and where both heard the same audio.

Google ends every stream after some minutes, in mid-word if need be. The next one then starts a
little earlier, so that any word is whole in one of them; what both heard is found by its words.
Their time offsets would tell as well, but not every model gives them.
"""

import re

TAIL = 24
"""Tokens of either side that are compared."""
EDGE = 3
"""Tokens at either end that may be fragments of words that were cut."""

_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
"""Scripts written without spaces: Thai, Lao, Burmese, Khmer, kana, Han."""
_TOKEN = re.compile(rf"\s*(?:[{_UNSPACED}]|[^\s{_UNSPACED}]+)")
_NOT_A_LETTER = re.compile(r"[\W_]+")


def follow(before: str, after: str) -> str:
    """`after` written behind `before`, as its script has it, on one line."""
    before, after = (" ".join(text.split()) for text in (before, after))
    if not (before and after):
        return before or after
    unspaced = re.match(f"[{_UNSPACED}、。]", after) and re.search(f"[{_UNSPACED}、。]$", before)
    return before + ("" if unspaced else " ") + after


def join(before: str, after: str) -> str:
    """The same where the beginning of `after` was heard at the end of `before` too.

    The longest run of tokens that ends the one and begins the other is written once; what lies
    between it and the seam are fragments, and left out. If there is none nothing is left out:
    better a word twice than never.
    """
    old, new = _TOKEN.findall(before), _TOKEN.findall(after)
    said, heard = _plain(old[-TAIL:]), _plain(new[:TAIL])
    best = (0, 0, 0)
    for cut in range(min(EDGE, len(said)) + 1):
        for skip in range(min(EDGE, len(heard)) + 1):
            same = _shared(said[: len(said) - cut], heard[skip:])
            best = max(best, (same, -cut, -skip))
    same, cut, skip = best[0], -best[1], -best[2]
    if not same:
        return follow(before, after)
    return follow("".join(old[: len(old) - cut]), "".join(new[skip + same :]))


def _plain(tokens: list[str]) -> list[str]:
    return [_NOT_A_LETTER.sub("", token).casefold() or token for token in tokens]


def _shared(said: list[str], heard: list[str]) -> int:
    """Length of the longest end of `said` that `heard` begins with."""
    most = min(len(said), len(heard))
    return next((n for n in range(most, 0, -1) if said[-n:] == heard[:n]), 0)
