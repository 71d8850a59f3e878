"""How long things took, counted in a fixed number of bins."""

from bisect import bisect_left
from dataclasses import dataclass

BOUNDS_S = (
    *(0.001, 0.002, 0.005, 0.01, 0.015, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07),
    *(0.08, 0.1, 0.12, 0.16, 0.24, 0.5, 1.0),
)
"""Upper ends, inclusive; fine where one frame of 20 or 80 ms is or is not exceeded."""


@dataclass(frozen=True, slots=True)
class Times:
    """A histogram as a plain value."""

    counts: tuple[int, ...] = (0,) * (len(BOUNDS_S) + 1)
    """One for each of BOUNDS_S, and one for what took longer."""
    sum_s: float = 0.0


NO_TIMES = Times()


class Histogram:
    def __init__(self) -> None:
        self._counts = [0] * (len(BOUNDS_S) + 1)
        self._sum_s = 0.0

    def add(self, took_s: float) -> None:
        self._counts[bisect_left(BOUNDS_S, took_s)] += 1
        self._sum_s += took_s

    @property
    def times(self) -> Times:
        return Times(tuple(self._counts), self._sum_s)
