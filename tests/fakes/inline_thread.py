"""A thread that is none."""

from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any


class InlineThread(Executor):
    """Runs on the caller's thread, and counts how often."""

    def __init__(self) -> None:
        self.calls = 0

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        self.calls += 1
        done: Future[Any] = Future()
        try:
            done.set_result(fn(*args, **kwargs))
        except Exception as error:
            done.set_exception(error)
        return done
