"""What two transcripts have in common."""

import re

# A letter of a script without spaces counts as a word of its own.
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W_\u3040-\u30ff\u3400-\u9fff]+(?:['’]\w+)*")

_ABBREVIATION = re.compile(
    r"^\W*(?:Mr|Mrs|Ms|Dr|Prof|St|Mt|vs|etc|approx|Inc|Jr|Sr|[A-Za-z]|(?:[A-Za-z]\.)+[A-Za-z]"
    r"|Jan|Feb|Mar|Apr|Aug|Sept|Oct|Nov|Dec)\.$"
)


def words(text: str) -> tuple[str, ...]:
    """The words of `text`, without case and punctuation."""
    return tuple(_WORD.findall(text.casefold().replace("’", "'")))


def is_abbreviation(word: str) -> bool:
    """Its full stop ends no sentence: "Dr.", "e.g.", "Jan."."""
    return _ABBREVIATION.match(word) is not None
