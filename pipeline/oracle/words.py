"""What two transcripts have in common."""

import re

# A letter of a script without spaces counts as a word of its own.
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W_\u3040-\u30ff\u3400-\u9fff]+(?:['’]\w+)*")


def words(text: str) -> tuple[str, ...]:
    """The words of `text`, without case and punctuation."""
    return tuple(_WORD.findall(text.casefold().replace("’", "'")))
