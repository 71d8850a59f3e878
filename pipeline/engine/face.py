"""What a session sees of an engine, in this process or another.

Narrow, asynchronous, plain values: nothing that could not cross a pipe.
"""

import asyncio
from dataclasses import dataclass
from typing import Protocol

from pipeline.channel import Channel
from pipeline.engine.frontend import FrontEndInfo
from pipeline.engine.histogram import NO_TIMES, Times
from pipeline.types import SessionConfig, Slot, StepInput, StepOutput, Ticks


@dataclass(frozen=True, slots=True)
class EngineLoad:
    """How busy it is."""

    live: int
    """Slots taken."""
    step_p95_s: float
    """Time of a step, p95 over the last seconds; must stay under the frame."""
    shed: int
    """Frames dropped so far to keep up with real time."""
    fits: bool
    """One more conversation fits: a slot is free and steps leave room in the frame."""
    steps: Times = NO_TIMES
    """Of each step so far."""
    latencies: Times = NO_TIMES
    """From a frame's coming in to its output, of each frame so far."""
    late: int = 0
    """Frames whose output took longer than a frame lasts."""
    standing: int = 0
    """Frames that wait behind another of their slot at the moment."""
    restarts: int = 0
    """How often it died and was started anew."""


class Engine(Protocol):
    """One front-end, many slots."""

    @property
    def info(self) -> FrontEndInfo: ...

    @property
    def ticks(self) -> Ticks | None:
        """When it steps; None: whenever frames come."""

    @property
    def failed(self) -> "asyncio.Future[None]":
        """Gets an EngineError as its exception if the front-end dies.

        An engine that comes back by itself has another one then.
        """

    def load(self) -> EngineLoad: ...

    async def open(self, config: SessionConfig) -> Slot:
        """Take a slot. Raises EngineFull if there is none, EngineError if it has failed."""

    def submit(self, slot: Slot, frame: StepInput) -> None:
        """Hand in a slot's next frame; never waits. A stale slot is ignored."""

    def outputs(self, slot: Slot) -> Channel[StepOutput]:
        """What the slot says, a StepOutput a frame; closed when the slot is.

        If it is left unread for too long the oldest go; `start_sample` tells that they are missing.
        """

    def dropped(self, slot: Slot) -> int:
        """Frames of this slot, in or out, that were dropped so far to keep up with real time."""

    async def close(self, slot: Slot) -> None:
        """Give the slot back; a second or stale close does nothing."""
