"""An engine with a thread of its own, which alone touches the front-end."""

import asyncio
import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Self

from pipeline.channel import Channel
from pipeline.engine.core import EngineCore
from pipeline.engine.face import EngineLoad
from pipeline.engine.frontend import FrontEnd, FrontEndInfo
from pipeline.engine.outputs import Outputs
from pipeline.errors import EngineError
from pipeline.types import SessionConfig, Slot, StepInput, StepOutput


class ThreadEngine:
    """Use as an async context manager; leaving it ends the thread and the front-end.

    Frames cross to the thread through the scheduler, which is bounded, under one lock that
    nobody holds for longer than it takes to move a frame. A step's outputs cross back in one
    call. Front-end calls of open and close run between steps, in the order they were asked.
    """

    def __init__(self, front_end: FrontEnd) -> None:
        self._core = EngineCore(front_end)
        self._loop = asyncio.get_running_loop()
        self._outputs = Outputs()
        self._changed = threading.Condition()
        self._calls: deque[tuple[Future[None], Callable[[], None]]] = deque()
        self._stopping = False
        name = f"engine {front_end.info.name}"
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    async def __aenter__(self) -> Self:
        self._thread.start()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        with self._changed:
            self._stopping = True
            self._changed.notify()
        await asyncio.shield(asyncio.to_thread(self._thread.join))
        self._outputs.fail("the engine was shut down")

    # The event loop's side: pipeline/engine/face.py.

    @property
    def info(self) -> FrontEndInfo:
        return self._core.info

    @property
    def failed(self) -> "asyncio.Future[None]":
        return self._outputs.failed

    def load(self) -> EngineLoad:
        with self._changed:
            return self._core.load()

    async def open(self, config: SessionConfig) -> Slot:
        self._outputs.raise_if_failed()
        with self._changed:
            slot = self._core.admit()
        self._outputs.open(slot)
        try:
            await asyncio.wrap_future(self._call(lambda: self._core.open(slot, config)))
        except BaseException:
            self._release(slot)
            raise
        return slot

    def submit(self, slot: Slot, frame: StepInput) -> None:
        with self._changed:
            if self._core.submit(slot, frame, time.monotonic()):
                self._changed.notify()

    def outputs(self, slot: Slot) -> Channel[StepOutput]:
        return self._outputs.of(slot)

    def dropped(self, slot: Slot) -> int:
        with self._changed:
            shed = self._core.shed(slot)
        return shed + self._outputs.of(slot).dropped

    async def close(self, slot: Slot) -> None:
        if closed := self._release(slot):
            with contextlib.suppress(EngineError):  # then there is nothing left to close
                await asyncio.wrap_future(closed)

    def _release(self, slot: Slot) -> Future[None] | None:
        self._outputs.close(slot)
        with self._changed:
            held = self._core.dismiss(slot)
        return self._call(lambda: self._core.close(slot)) if held else None

    def _call(self, call: Callable[[], None]) -> Future[None]:
        """Have the thread do `call` between steps."""
        done: Future[None] = Future()
        with self._changed:
            if self._stopping:
                done.set_exception(EngineError("the engine is shut down"))
            else:
                self._calls.append((done, call))
                self._changed.notify()
        return done

    # The thread's side.

    def _run(self) -> None:
        try:
            while self._wait():
                self._answer_calls()
                if batch := self._take():
                    self._deliver(self._step(batch))
        except Exception as error:
            message = f"the {self.info.name} front-end failed"
            self._loop.call_soon_threadsafe(self._outputs.fail, message, error)
        finally:
            self._end()

    def _wait(self) -> bool:
        """Until there is something to do; False: stop."""
        with self._changed:
            while not self._stopping and not self._calls:
                due_s = self._core.deadline()
                left_s = None if due_s is None else due_s - time.monotonic()
                if left_s is not None and left_s <= 0:
                    break
                self._changed.wait(left_s)
            return not self._stopping

    def _answer_calls(self) -> None:
        with self._changed:
            calls, self._calls = self._calls, deque()
        for done, call in calls:
            _answer(done, call)

    def _take(self) -> dict[Slot, StepInput]:
        with self._changed:
            return self._core.take(time.monotonic())

    def _step(self, batch: dict[Slot, StepInput]) -> dict[Slot, StepOutput]:
        began_s = time.perf_counter()
        outputs = self._core.step(batch)
        took_s = time.perf_counter() - began_s
        with self._changed:
            self._core.took(took_s)
        return outputs

    def _deliver(self, outputs: dict[Slot, StepOutput]) -> None:
        self._loop.call_soon_threadsafe(self._outputs.deliver, outputs)

    def _end(self) -> None:
        with self._changed:
            self._stopping = True
            calls, self._calls = self._calls, deque()
        for done, _ in calls:
            if done.set_running_or_notify_cancel():
                done.set_exception(EngineError("the engine is shut down"))
        self._core.shutdown()


def _answer(done: Future[None], call: Callable[[], None]) -> None:
    # Done even if the caller has given up: an open must come before the close that undoes it.
    awaited = done.set_running_or_notify_cancel()
    try:
        call()
    except Exception as error:
        if awaited:
            done.set_exception(error)
    else:
        if awaited:
            done.set_result(None)
