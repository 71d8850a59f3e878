"""Whether a newer answer goes on from what has been said, or contradicts it. Pure."""

from collections import Counter
from collections.abc import Iterator, Sequence
from enum import Enum

from pipeline.frontends.voice.clauses import WORD
from pipeline.oracle.words import words

FILLERS = frozenset(
    words(
        "a an the is are was were be been being am it its it's this that that's there there's of to"
        " in on at for and so well oh okay ok sure just very really actually i you your my we will"
        " would can could do does did has have had as by with from which who"
    )
)
"""Words that carry no meaning of their own."""

_NEGATIONS = frozenset(words("no not never none nothing neither nor cannot without"))


class Verdict(Enum):
    UNDECIDED = "undecided"
    """Too little of the newer answer is there."""
    CONTRADICTS = "contradicts"


def agreement(said: Sequence[str], text: str, *, final: bool) -> int | Verdict:
    """Where in `text`, the newer answer so far, to go on after having said the words `said`.

    It agrees when it begins with the same words, or if it holds the same words with a meaning
    in any order, near its start: "Paris is the capital" goes on from "It's the capital, Paris".
    A shorter answer that says nothing else agrees too: its end is returned.
    """
    told = list(words(" ".join(said)))
    newer = list(_complete_words(text, final=final))
    same = 0
    while same < min(len(told), len(newer)) and told[same] == newer[same][0]:
        same += 1
    if same == len(told):
        return newer[same - 1][1] if same else 0
    if same == len(newer):
        return len(text) if final else Verdict.UNDECIDED
    return _loosely(Counter(_meaning(told)), newer, len(text), final=final)


def _loosely(
    left: Counter[str], newer: list[tuple[str, int]], end: int, *, final: bool
) -> int | Verdict:
    spare = max(1, left.total() // 4)
    """How many words with a meaning may be new."""
    extra = at = 0
    for word, word_end in newer:
        if not left:
            return at
        at = word_end
        if word in left:
            left -= Counter([word])
        elif word not in FILLERS:
            extra += 1
            if extra > spare or _decisive(word):
                return Verdict.CONTRADICTS
    if not left:
        return at
    if not final:
        return Verdict.UNDECIDED
    return Verdict.CONTRADICTS if extra or any(map(_decisive, left)) else end


def _complete_words(text: str, *, final: bool) -> Iterator[tuple[str, int]]:
    """Each word and where it ends; the last may go on unless `final`."""
    for match in WORD.finditer(text):
        if match.end() < len(text) or final:
            for word in words(match.group()):
                yield word, match.end()


def _meaning(told: list[str]) -> list[str]:
    return [word for word in told if word not in FILLERS]


def _decisive(word: str) -> bool:
    """A word that turns what is said into something else."""
    return word in _NEGATIONS or word.endswith("n't") or word[0].isdigit()
