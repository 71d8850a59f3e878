"""An engine with a thread of its own in this process."""

import asyncio
import contextlib
import time
from collections.abc import Mapping
from concurrent.futures import Future
from typing import Self

from pipeline.channel import Channel
from pipeline.engine.core import EngineCore
from pipeline.engine.face import EngineLoad
from pipeline.engine.frontend import FrontEnd, FrontEndInfo
from pipeline.engine.outputs import Outputs
from pipeline.engine.thread import EngineThread
from pipeline.errors import EngineError
from pipeline.types import SessionConfig, Slot, StepInput, StepOutput, Ticks


class ThreadEngine:
    """Use as an async context manager; leaving it ends the thread and the front-end.

    A step's outputs cross from the thread to the loop in one call.
    """

    def __init__(self, front_end: FrontEnd) -> None:
        core = EngineCore(front_end)
        self.info: FrontEndInfo = core.info
        self.ticks: Ticks | None = None
        self._loop = asyncio.get_running_loop()
        self._outputs = Outputs()
        self._thread = EngineThread(lambda: core, self._deliver, self._fail)

    async def __aenter__(self) -> Self:
        self._thread.start()
        await asyncio.wrap_future(self._thread.loaded)
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        self._thread.stop()
        await asyncio.shield(asyncio.to_thread(self._thread.join))
        self._outputs.fail("the engine was shut down")

    # The event loop's side: pipeline/engine/face.py.

    @property
    def failed(self) -> "asyncio.Future[None]":
        return self._outputs.failed

    def load(self) -> EngineLoad:
        return self._thread.load()

    async def open(self, config: SessionConfig) -> Slot:
        self._outputs.raise_if_failed()
        slot, opened = self._thread.open(config)
        self._outputs.open(slot)
        try:
            await asyncio.wrap_future(opened)
        except BaseException:
            self._release(slot)
            raise
        return slot

    def submit(self, slot: Slot, frame: StepInput) -> None:
        self._thread.submit(slot, frame, time.monotonic())

    def outputs(self, slot: Slot) -> Channel[StepOutput]:
        return self._outputs.of(slot)

    def dropped(self, slot: Slot) -> int:
        return self._thread.shed(slot) + self._outputs.of(slot).dropped

    async def close(self, slot: Slot) -> None:
        if closed := self._release(slot):
            with contextlib.suppress(EngineError):  # then there is nothing left to close
                await asyncio.wrap_future(closed)

    def _release(self, slot: Slot) -> Future[None] | None:
        self._outputs.close(slot)
        return self._thread.close(slot)

    # The thread's side.

    def _deliver(self, outputs: Mapping[Slot, StepOutput]) -> None:
        self._loop.call_soon_threadsafe(self._outputs.deliver, outputs)

    def _fail(self, message: str, cause: Exception) -> None:
        self._loop.call_soon_threadsafe(self._outputs.fail, message, cause)
