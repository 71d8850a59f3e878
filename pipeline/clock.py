"""Where shells get `now` from. Cores never import this: they are told the time."""

import asyncio
from collections.abc import Callable

Clock = Callable[[], float]
"""Seconds on a clock that never goes back."""


def now() -> float:
    """The running event loop's time: real under uvloop, virtual in tests."""
    return asyncio.get_running_loop().time()
