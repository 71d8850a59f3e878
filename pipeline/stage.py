"""A step of the graph that knows no time: items in, items out."""

from collections.abc import Callable, Iterable
from typing import Generic, Protocol, TypeVar

In = TypeVar("In", contravariant=True)
Out = TypeVar("Out", covariant=True)
A = TypeVar("A")


class Stage(Protocol[In, Out]):
    """Pure: no I/O, no clock, no waiting."""

    def push(self, item: In) -> Iterable[Out]:
        """Take one item, give back what it completes."""


class Into(Generic[A]):
    """An outlet that calls a function: where stages end in plain code."""

    def __init__(self, put: Callable[[A], object]) -> None:
        self._put = put

    def offer(self, item: A) -> bool:
        self._put(item)
        return True

    async def send(self, item: A) -> None:
        self._put(item)
