"""Runs a timed core by itself: items at their times, polls at its deadlines."""

from collections.abc import Iterable
from typing import TypeVar

from pipeline.timed import TimedCore

A = TypeVar("A")
B = TypeVar("B")


def drive(
    core: TimedCore[A, B], items: Iterable[tuple[float, A]], until_s: float
) -> list[tuple[float, B]]:
    """Everything `core` gives back, each with the second at which it did."""
    now, out = 0.0, []
    for at_s, item in sorted(items, key=lambda each: each[0]):
        now = _wait(core, now, at_s, out)
        out += [(now, made) for made in core.push(item, now)]
    _wait(core, now, until_s, out)
    return out


def _wait(core: TimedCore[A, B], now: float, until_s: float, out: list[tuple[float, B]]) -> float:
    while (due_s := core.deadline()) is not None and due_s <= until_s:
        now = max(now, due_s)
        out += [(now, made) for made in core.poll(now)]
    return max(now, until_s)
