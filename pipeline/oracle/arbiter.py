"""Whose answer is taken when several LLMs answer the same question: pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from pipeline.oracle.brevity import Brevity
from pipeline.oracle.words import words


@dataclass(slots=True)
class Answer:
    """One LLM's, so far."""

    name: str
    text: str = ""
    began_s: float | None = None
    """Loop time of its first text."""
    running: bool = False
    """It may say more."""


@dataclass(frozen=True, slots=True)
class Verdict:
    winner: int
    why: str


class Arbiter(Protocol):
    def judge(self, answers: Sequence[Answer], now: float) -> Verdict | None:
        """Which of `answers`, best liked first, to take; None: wait for more of them."""

    def deadline(self, answers: Sequence[Answer]) -> float | None:
        """When to judge again even if nothing more has come, loop time."""


class First:
    """Whoever speaks first."""

    def judge(self, answers: Sequence[Answer], now: float) -> Verdict | None:
        begun = _begun(answers)
        return Verdict(begun[0], "It was the first to answer.") if begun else None

    def deadline(self, answers: Sequence[Answer]) -> float | None:
        return None


class Preference:
    """The best liked, unless it begins `patience_s` later than another."""

    def __init__(self, patience_s: float) -> None:
        self._patience_s = patience_s

    def judge(self, answers: Sequence[Answer], now: float) -> Verdict | None:
        begun = _begun(answers)
        if not begun:
            return None
        best = min(begun)
        due_s = self.deadline(answers)
        awaited = any(each.running for each in answers[:best])
        if awaited and due_s is not None and now < due_s:
            return None
        return Verdict(best, "Those liked better are late." if awaited else "It is the best liked.")

    def deadline(self, answers: Sequence[Answer]) -> float | None:
        begun = _begun(answers)
        return None if not begun else _began_s(answers[begun[0]]) + self._patience_s


class Agreement:
    """The first two whose first sentences say the same; the best liked if no two do."""

    def judge(self, answers: Sequence[Answer], now: float) -> Verdict | None:
        said = [i for i in _begun(answers) if _sentence(answers[i])]
        for i, one in enumerate(said):
            for other in said[:i]:
                if agree(_sentence(answers[one]), _sentence(answers[other])):
                    first, second = sorted((one, other))
                    return Verdict(first, f"{answers[second].name} agrees.")
        if any(each.running and not _sentence(each) for each in answers) or not said:
            return None
        return Verdict(min(said), "No two agree, and it is the best liked.")

    def deadline(self, answers: Sequence[Answer]) -> float | None:
        return None


def agree(one: str, other: str) -> bool:
    """They give the same numbers, the one with fewer names names none but the other's, and most
    longer words of the shorter are in the longer.

    A rule of thumb: "It is not Paris" agrees with "It is Paris".
    """
    if _numbers(one) != _numbers(other):
        return False
    fewer, more = sorted((_names(one), _names(other)), key=len)
    shorter, longer = sorted((_telling(one), _telling(other)), key=len)
    if not shorter:
        return not longer
    return fewer <= more and 2 * len(shorter & longer) > len(shorter)


_NAME = re.compile(r"(?<=\w[ ,])\s*([^\W\d_a-z]\w+)")
"""A word with a capital, not the first."""
_DIGITS = re.compile(r"\d+(?:[.,]\d+)*")
_LONG = 4
"""Letters of a word that tells something; in scripts without spaces, one."""


def _sentence(answer: Answer) -> str:
    """The first one; empty while it lasts."""
    if not answer.running:
        return answer.text
    one = Brevity(sentences=1)
    text = one.push(answer.text)
    return text if one.done else ""


def _numbers(text: str) -> set[str]:
    return {digits.replace(",", "") for digits in _DIGITS.findall(text)}


def _names(text: str) -> set[str]:
    return {name for name in _NAME.findall(text) if name[0].isupper()}


def _telling(text: str) -> set[str]:
    return {word for word in words(text) if len(word) >= _LONG or not word.isascii()}


def _begun(answers: Sequence[Answer]) -> list[int]:
    """Those who have said something, in the order in which they began."""
    begun = [i for i, each in enumerate(answers) if each.began_s is not None]
    return sorted(begun, key=lambda i: (_began_s(answers[i]), i))


def _began_s(answer: Answer) -> float:
    assert answer.began_s is not None
    return answer.began_s
