"""An engine in a process of its own, started anew when it dies."""

import asyncio
import logging
import tempfile
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import count
from typing import Any

from pipeline.channel import Channel
from pipeline.engine.client import EngineClient
from pipeline.engine.face import EngineLoad
from pipeline.engine.frontend import FrontEndInfo
from pipeline.engine.order import Order
from pipeline.engine.process import EngineProcess
from pipeline.errors import EngineError, UmigameError
from pipeline.types import SessionConfig, Slot, StepInput, StepOutput, Ticks

log = logging.getLogger(__name__)

FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 30.0
"""Before a process that cannot be started is started again; doubles each time."""


class ProcessEngine:
    """Implements Engine (pipeline/engine/face.py). `process_engine` makes one."""

    def __init__(self, process: EngineProcess, order: Order) -> None:
        self._process, self._order = process, order
        self._client: EngineClient = process.client
        self._restarts = 0
        self.not_ready = ""
        """Why no call can be taken; "" if one can."""

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def socket(self) -> str:
        """Where other event loops reach it (client.py)."""
        return self._order.socket

    @property
    def info(self) -> FrontEndInfo:
        return self._client.info

    @property
    def ticks(self) -> Ticks | None:
        return self._client.ticks

    @property
    def failed(self) -> "asyncio.Future[None]":
        return self._client.failed

    def load(self) -> EngineLoad:
        load = replace(self._client.load(), restarts=self._restarts)
        return replace(load, live=0, fits=False) if self.failed.done() else load

    async def open(self, config: SessionConfig) -> Slot:
        return await self._client.open(config)

    def submit(self, slot: Slot, frame: StepInput) -> None:
        self._client.submit(slot, frame)

    def outputs(self, slot: Slot) -> Channel[StepOutput]:
        return self._client.outputs(slot)

    def dropped(self, slot: Slot) -> int:
        return self._client.dropped(slot)

    async def close(self, slot: Slot) -> None:
        await self._client.close(slot)

    async def keep_alive(self) -> None:
        """Until cancelled; then the process is stopped."""
        try:
            for number in count(1):
                await self._live()
                self._order = self._order.anew(number)
                await self._start_anew()
        finally:
            self._client.fail("the engine was shut down")
            await asyncio.shield(self._process.stop())

    async def _live(self) -> None:
        """Until it is dead, and every session on it ends with the cause."""
        cause = await self._client.run()
        status = await self._process.bury()
        message = cause or f"the engine's process {ended(status)}"
        level = logging.WARNING if cause or status else logging.INFO
        log.log(level, "%s; starting it anew", message)
        self.not_ready = f"{message[:1].upper()}{message[1:]}; it is being started anew."
        self._client.fail(message)

    async def _start_anew(self) -> None:
        pause_s = FIRST_PAUSE_S
        while True:
            try:
                self._process = await EngineProcess.start(self._order)
                break
            except UmigameError as error:
                log.warning("the engine cannot be started: %s", error)
                self.not_ready = f"The engine cannot be started: {error}"
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
        self._client, self.not_ready = self._process.client, ""
        self._restarts += 1


@asynccontextmanager
async def process_engine(
    front_end: str, settings: Mapping[str, Any]
) -> AsyncGenerator[ProcessEngine, None]:
    """Ready while inside. Raises what the front-end raises when it is loaded (order.py)."""
    with tempfile.TemporaryDirectory(prefix="umigame-") as folder:
        order = Order(front_end, settings, folder)
        try:
            process = await EngineProcess.start(order)
        except EngineError as error:
            raise EngineError(f"The front-end cannot be loaded: {error.message}") from error
        engine = ProcessEngine(process, order)
        async with asyncio.TaskGroup() as tasks:
            keeping = tasks.create_task(engine.keep_alive(), name="engine process")
            try:
                yield engine
            finally:
                keeping.cancel()


def ended(status: int) -> str:
    """How a process did, by its exit status."""
    return f"was killed by signal {-status}" if status < 0 else f"ended with {status}"
