"""A bounded queue between two tasks of one event loop.

Every channel has a size and says what full means:

WAIT         the sender waits: nothing is lost, pressure goes upstream
DROP_OLDEST  the oldest item makes room, counted: for live media, where the newest matters
DROP_NEWEST  the new item is refused, counted: for requests, where the first come counts
"""

import asyncio
from collections import deque
from collections.abc import Callable
from enum import Enum
from typing import Generic, Protocol, TypeVar

from pipeline.clock import now
from pipeline.errors import ChannelClosed

T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)


class Full(Enum):
    WAIT = "wait"
    DROP_OLDEST = "drop oldest"
    DROP_NEWEST = "drop newest"


class Outlet(Protocol[T_contra]):
    """Where a stage puts what it makes."""

    async def send(self, item: T_contra) -> None: ...
    def offer(self, item: T_contra) -> bool: ...


class Channel(Generic[T]):
    """One reader, any number of senders, all on the same loop.

    Where the oldest makes room, items that `spares` names go only when there are no others.
    """

    def __init__(
        self,
        name: str,
        capacity: int,
        full: Full = Full.WAIT,
        *,
        spares: Callable[[T], bool] = lambda item: False,
    ) -> None:
        assert capacity > 0
        self.name = name
        self.capacity = capacity
        self.full = full
        self.dropped = 0
        self._spares = spares
        self._items: deque[T] = deque()
        self._closed = False
        self._readable = asyncio.Event()
        self._writable = asyncio.Event()
        self._alarm: asyncio.TimerHandle | None = None

    @property
    def depth(self) -> int:
        return len(self._items)

    @property
    def closed(self) -> bool:
        return self._closed

    def offer(self, item: T) -> bool:
        """Put `item` without waiting; False if something had to be dropped for it or it was.

        A closed channel refuses quietly: its reader is gone and the sender will learn so too.
        """
        if self._closed:
            return False
        full = len(self._items) >= self.capacity
        if full:
            self.dropped += 1
            if self.full is not Full.DROP_OLDEST:
                return False
            self._make_room()
        self._append(item)
        return not full

    async def send(self, item: T) -> None:
        """Put `item`, waiting for room in a WAIT channel. Safe to cancel: then it is not put.

        Raises ChannelClosed if the channel is closed, now or while waiting.
        """
        if self.full is Full.WAIT:
            while len(self._items) >= self.capacity and not self._closed:
                self._writable.clear()
                await self._writable.wait()
        if self._closed:
            raise ChannelClosed(self.name)
        self.offer(item)

    async def receive(self, until_s: float | None = None) -> T:
        """The next item. Safe to cancel: nothing is lost.

        Raises ChannelClosed once the channel is closed and drained, TimeoutError if it is still
        empty at loop time `until_s`.
        """
        while not self._items:
            if self._closed:
                raise ChannelClosed(self.name)
            if until_s is not None and until_s <= now():
                raise TimeoutError
            self._readable.clear()
            self._wake_at(until_s)
            await self._readable.wait()
        self._writable.set()
        return self._items.popleft()

    def clear(self) -> None:
        """Throw away what waits: somebody has decided that it is not wanted any more."""
        self._items.clear()
        self._writable.set()

    def close(self) -> None:
        """No more items; those inside can still be received."""
        self._closed = True
        self._readable.set()
        self._writable.set()

    def __aiter__(self) -> "Channel[T]":
        return self

    async def __anext__(self) -> T:
        try:
            return await self.receive()
        except ChannelClosed:
            raise StopAsyncIteration from None

    def _wake_at(self, until_s: float | None) -> None:
        """An alarm that is set already may go off too early, not too late.

        Deadlines move with every packet; a timer for each would cost more than the waiting.
        """
        if until_s is None or (self._alarm is not None and self._alarm.when() <= until_s):
            return
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm = asyncio.get_running_loop().call_at(until_s, self._wake)

    def _wake(self) -> None:
        self._alarm = None
        self._readable.set()

    def _make_room(self) -> None:
        del self._items[
            next((at for at, each in enumerate(self._items) if not self._spares(each)), 0)
        ]

    def _append(self, item: T) -> None:
        self._items.append(item)
        self._readable.set()
