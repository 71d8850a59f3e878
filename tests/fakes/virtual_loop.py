"""An event loop whose clock jumps: a minute of audio takes a tenth of a second.

`select(timeout)` never waits; it moves the clock by `timeout`. With nothing pending and no
timer it raises Deadlock instead of hanging. Threads, sockets and processes never look pending
to it: tests of those live in tests/io and tests/e2e, on a real loop.
"""

import asyncio
import selectors


class Deadlock(RuntimeError):
    """Every task waits for something that nothing will bring."""


class JumpingSelector(selectors.DefaultSelector):  # type: ignore[misc,valid-type]
    def __init__(self) -> None:
        super().__init__()
        self.now_s = 0.0

    def select(self, timeout=None):  # type: ignore[no-untyped-def]
        ready = super().select(0)
        if ready:
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
