"""An engine on the event loop itself, in its time: for recordings replayed on a virtual clock."""

import asyncio

from pipeline.channel import Channel
from pipeline.clock import now
from pipeline.engine.core import EngineCore
from pipeline.engine.face import EngineLoad
from pipeline.engine.frontend import FrontEnd, FrontEndInfo
from pipeline.engine.outputs import Outputs
from pipeline.types import SessionConfig, Slot, StepInput, StepOutput, Ticks


class InlineEngine:
    """Steps take no time on the loop's clock. Not for live calls: a step blocks the loop."""

    def __init__(self, front_end: FrontEnd, ticks: Ticks | None = None) -> None:
        self._core = EngineCore(front_end, ticks)
        self._outputs = Outputs()
        self._timer: asyncio.TimerHandle | None = None

    @property
    def info(self) -> FrontEndInfo:
        return self._core.info

    @property
    def ticks(self) -> Ticks | None:
        return self._core.ticks

    @property
    def failed(self) -> "asyncio.Future[None]":
        return self._outputs.failed

    def load(self) -> EngineLoad:
        return self._core.load()

    async def open(self, config: SessionConfig) -> Slot:
        self._outputs.raise_if_failed()
        slot = self._core.admit()
        try:
            self._core.open(slot, config)
        except BaseException:
            self._core.dismiss(slot)
            raise
        self._outputs.open(slot)
        return slot

    def submit(self, slot: Slot, frame: StepInput) -> None:
        self._core.submit(slot, frame, now())
        self._step_when_due()

    def outputs(self, slot: Slot) -> Channel[StepOutput]:
        return self._outputs.of(slot)

    def dropped(self, slot: Slot) -> int:
        return self._core.shed(slot) + self._outputs.of(slot).dropped

    async def close(self, slot: Slot) -> None:
        self._outputs.close(slot)
        if self._core.dismiss(slot):
            self._core.close(slot)

    def _step_when_due(self, due_s: float = 0.0) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        # A timer may fire a rounding error early; what it was set for is due all the same.
        now_s = max(now(), due_s)
        while (next_s := self._core.deadline()) is not None and not self.failed.done():
            if next_s > now_s:
                loop = asyncio.get_running_loop()
                self._timer = loop.call_at(next_s, self._step_when_due, next_s)
                return
            self._step(now_s)

    def _step(self, now_s: float) -> None:
        try:
            self._outputs.deliver(self._core.step(self._core.take(now_s)))
        except Exception as error:
            self._outputs.fail(f"the {self.info.name} front-end failed", error)
