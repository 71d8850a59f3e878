"""The event loop's end of an engine: a channel for each slot, and the news of its death."""

import asyncio
from collections.abc import Mapping

from pipeline.channel import Channel, Full
from pipeline.errors import EngineError
from pipeline.types import Slot, StepOutput

WAITING = 32
"""Frames a session may leave unread: 0.64 s at 20 ms; then the oldest is dropped, and counted."""


class Outputs:
    """Made and used on the event loop only."""

    def __init__(self) -> None:
        self.failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._channels: dict[Slot, Channel[StepOutput]] = {}

    def open(self, slot: Slot) -> None:
        # A frame that cuts the reply off must not be missed, whatever else is.
        self._channels[slot] = Channel(
            f"slot {slot.index}", WAITING, Full.DROP_OLDEST, spares=lambda output: output.yielded
        )

    def close(self, slot: Slot) -> None:
        if slot in self._channels:
            self._channels.pop(slot).close()

    def of(self, slot: Slot) -> Channel[StepOutput]:
        """A closed channel if `slot` is stale."""
        if slot in self._channels:
            return self._channels[slot]
        nothing = Channel[StepOutput](f"slot {slot.index}", 1)
        nothing.close()
        return nothing

    def deliver(self, outputs: Mapping[Slot, StepOutput]) -> None:
        """Outputs of slots that were closed during the step go nowhere."""
        for slot, output in outputs.items():
            if slot in self._channels:
                self._channels[slot].offer(output)

    def raise_if_failed(self) -> None:
        if self.failed.done():
            self.failed.result()

    def fail(self, message: str, cause: Exception | None = None) -> None:
        """Every session that watches `failed` ends with this; only the first cause is told."""
        if not self.failed.done():
            error = EngineError(f"{message}: {cause}" if cause else message)
            error.__cause__ = cause
            self.failed.set_exception(error)
            # Nobody has to be watching: without this, asyncio logs that nobody was.
            self.failed.exception()
        for slot in list(self._channels):
            self.close(slot)
