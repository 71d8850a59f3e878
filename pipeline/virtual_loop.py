"""An event loop whose clock jumps: a minute of audio takes a tenth of a second.

`select` never waits for a timer; it moves the clock there. Only while an executor works does it
wait, and time stands still: what is computed takes none. With nothing pending and no timer it
raises Deadlock instead of hanging. Sockets, processes and threads of other kinds never look
pending to it.
"""

import asyncio
import selectors
from collections.abc import Callable
from concurrent.futures import Executor
from typing import TypeVar, TypeVarTuple, Unpack

T = TypeVar("T")
Args = TypeVarTuple("Args")


class Deadlock(RuntimeError):
    """Every task waits for something that nothing will bring."""


class JumpingSelector(selectors.SelectSelector):
    def __init__(self) -> None:
        super().__init__()
        self.now_s = 0.0
        self.working = 0
        """Calls that executors are busy with."""

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        waits = self.working and timeout != 0
        if ready := super().select(None if waits else 0):
            return ready
        if timeout is None:
            raise Deadlock("nothing pending and no timer")
        self.now_s += max(timeout, 0.0)
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._jumping = JumpingSelector()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.now_s

    def run_in_executor(
        self,
        executor: Executor | None,
        func: Callable[[Unpack[Args]], T],
        *args: *Args,
    ) -> asyncio.Future[T]:
        future = super().run_in_executor(executor, func, *args)
        self._jumping.working += 1
        future.add_done_callback(self._worked)
        return future

    def _worked(self, future: asyncio.Future[T]) -> None:
        self._jumping.working -= 1
