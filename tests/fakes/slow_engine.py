"""An engine whose steps take time, which on the virtual clock only sleeping does."""

import asyncio

from pipeline.clock import now
from pipeline.engine.core import EngineCore
from pipeline.engine.frontend import FrontEnd
from pipeline.engine.inline import InlineEngine
from pipeline.types import Slot, StepInput


class SlowEngine(InlineEngine):
    """Steps one after another, each of `step_s`, while `run` runs."""

    def __init__(self, front_end: FrontEnd, step_s: float) -> None:
        super().__init__(front_end)
        self.step_s = step_s
        self._submitted = asyncio.Event()

    def submit(self, slot: Slot, frame: StepInput) -> None:
        self._core.submit(slot, frame, now())
        self._submitted.set()

    async def run(self) -> None:
        while True:
            batch = self._core.take(now())
            if not batch:
                await self._due(self._core)
                continue
            await asyncio.sleep(self.step_s)
            self._outputs.deliver(self._core.step(batch))

    async def _due(self, core: EngineCore) -> None:
        """Until there may be something to take."""
        self._submitted.clear()
        due_s = core.deadline()
        if due_s is not None:
            await asyncio.sleep(due_s - now())
        else:
            await self._submitted.wait()
