"""An engine's process as its parent sees it."""

import asyncio
import contextlib
import sys
from asyncio.subprocess import PIPE, Process
from pathlib import Path
from typing import Self

from pipeline.engine.client import EngineClient, error_of
from pipeline.engine.order import Order, Report
from pipeline.errors import EngineError

STOP_S = 6.0
"""For it to end by itself; then it is killed."""

DIES_S = 1.0
"""Between its last word and its end."""


class EngineProcess:
    def __init__(self, process: Process, client: EngineClient) -> None:
        self.client = client
        self._process = process

    @classmethod
    async def start(cls, order: Order) -> Self:
        """Waits until its front-end is loaded, however long that takes.

        Raises ConfigError or EngineError as the front-end did, EngineError if it ended otherwise.
        """
        module = "pipeline.engine.worker"
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", module, stdin=PIPE, stdout=PIPE
        )
        try:
            return cls(process, await _loaded(process, order))
        except BaseException:
            await asyncio.shield(_kill(process))
            raise

    @property
    def pid(self) -> int:
        return self._process.pid

    async def stop(self) -> int:
        """Let it end after the step under way; gives its exit status."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        return await self._end(STOP_S)

    async def bury(self) -> int:
        """It is dead, or as good as dead; gives its exit status."""
        return await self._end(DIES_S)

    async def _end(self, patience_s: float) -> int:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(patience_s):
                return await self._process.wait()
        return await _kill(self._process)


async def _loaded(process: Process, order: Order) -> EngineClient:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(order.line())
    if not (line := await process.stdout.readline()):
        raise EngineError(f"the engine's process ended with {await process.wait()} while loading")
    if (failed := Report.read(line).failed) is not None:
        raise error_of(failed)
    return await EngineClient.connect(Path(order.socket))


async def _kill(process: Process) -> int:
    with contextlib.suppress(ProcessLookupError):
        process.kill()
    return await process.wait()
