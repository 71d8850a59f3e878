"""Tidies what small speech models write."""

import re

_OLD_SPELLINGS = re.compile(r"\b(to)-(day|night|morrow)\b", re.IGNORECASE)
_EDGES = " \t\n\"'“”‘’-–—"
_LOOP = re.compile(r"\b(\w+(?:[ ,]+\w+){0,3})(?:[ ,.]+\1\b){3,}", re.IGNORECASE)
"""A phrase four times in a row: the decoder ran in a circle."""


def clean(text: str) -> str:
    """One line of words as a person would write them; "" if there are none."""
    line = _OLD_SPELLINGS.sub(r"\1\2", " ".join(text.split())).strip(_EDGES)
    line = _LOOP.sub(r"\1", line)
    return line if re.search(r"\w", line) else ""
