"""A step of the graph that knows no time: items in, items out."""

from collections.abc import Callable, Iterable
from typing import Generic, Protocol, TypeVar

from pipeline.channel import Channel, Outlet
from pipeline.probe import Probe

In = TypeVar("In", contravariant=True)
Out = TypeVar("Out", covariant=True)
A = TypeVar("A")
B = TypeVar("B")


class Stage(Protocol[In, Out]):
    """Pure: no I/O, no clock, no waiting."""

    def push(self, item: In) -> Iterable[Out]:
        """Take one item, give back what it completes."""

    def flush(self) -> Iterable[Out]:
        """Give back what is still inside; no more items will come."""


async def run_stage(stage: Stage[A, B], inbox: Channel[A], outbox: Outlet[B], probe: Probe) -> None:
    """Feed `stage` from `inbox` until that is closed and drained."""
    async for item in inbox:
        with probe.span():
            made = list(stage.push(item))
        for each in made:
            await outbox.send(each)
    for each in stage.flush():
        await outbox.send(each)


class Into(Generic[A]):
    """An outlet that calls a function: where stages end in plain code."""

    def __init__(self, put: Callable[[A], object]) -> None:
        self._put = put

    def offer(self, item: A) -> bool:
        self._put(item)
        return True

    async def send(self, item: A) -> None:
        self._put(item)


class Tap(Generic[A]):
    """Offers each item to every branch without waiting; a branch that is full drops and counts."""

    def __init__(self, *branches: Outlet[A]) -> None:
        self._branches = branches

    def offer(self, item: A) -> bool:
        return all([branch.offer(item) for branch in self._branches])

    async def send(self, item: A) -> None:
        self.offer(item)
