"""A step of the graph to which time matters, and which is told the time."""

from collections.abc import Iterable
from typing import Protocol, TypeVar

from pipeline.channel import Channel, Outlet
from pipeline.clock import now
from pipeline.errors import ChannelClosed
from pipeline.probe import Probe

In = TypeVar("In", contravariant=True)
Out = TypeVar("Out", covariant=True)
A = TypeVar("A")
B = TypeVar("B")


class TimedCore(Protocol[In, Out]):
    """Pure: no I/O and no clock. `now` is in seconds and never falls."""

    def push(self, item: In, now: float) -> Iterable[Out]:
        """Take one item, give back what it completes."""

    def deadline(self) -> float | None:
        """When `poll` wants to be called next; None: only an item can change anything."""

    def poll(self, now: float) -> Iterable[Out]:
        """Give back what has become due; harmless when called early."""


async def run_timed(
    core: TimedCore[A, B], inbox: Channel[A], outbox: Outlet[B], probe: Probe
) -> None:
    """Feed `core` from `inbox`, and poll it at its deadlines, until the inbox ends."""
    while True:
        try:
            item = await inbox.receive(core.deadline())
        except TimeoutError:
            with probe.span():
                made = list(core.poll(now()))
        except ChannelClosed:
            return
        else:
            with probe.span():
                made = list(core.push(item, now()))
        for each in made:
            await outbox.send(each)
