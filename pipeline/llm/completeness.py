"""How a chat model tells whether a message ends here: by the odds of its next token."""

import re
from collections.abc import Mapping

TOP = 40
"""Tokens whose odds are asked for; the ends of sentences are among the first."""

_EXAMPLES = (
    "How tall is Mount Everest?",
    "Set an alarm for seven.",
    "Who wrote the book Dracula?",
    "Where do koalas live?",
)
"""Show that people are brief and say one thing."""
_OPEN, _CLOSE = "<|im_start|>user\n", "<|im_end|>\n"
_PRIMED = "".join(_OPEN + each + _CLOSE for each in _EXAMPLES) + _OPEN
_ENDS = re.compile(r'\s*([?.!"]|<\|im_end\|>|$)|\s*\n')


def prompt(text: str) -> str:
    """In ChatML, which the local model speaks: `text`, without the end that an STT always gives."""
    return _PRIMED + text.rstrip(" .,?!")


def ends(next_tokens: Mapping[str, float]) -> float:
    """Probability of an end, given those of the next tokens."""
    return min(1.0, sum(p for token, p in next_tokens.items() if _ENDS.match(token)))
