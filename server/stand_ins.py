"""Stand-ins for whoever is not there in a replay: the caller, who answers, and the LLM."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import replace

from pipeline.channel import Channel, Full
from pipeline.clock import now
from pipeline.engine.frontend import FrontEndInfo
from pipeline.errors import ServiceError
from pipeline.stage import Into
from pipeline.types import Message, OpusPacket, Pcm, SessionConfig, StepInput, StepOutput, silence

RATE_HZ = 24_000
FRAME = RATE_HZ // 50


class RecordedPeer:
    """A MediaPeer that sends a recording and hears nothing."""

    def __init__(self) -> None:
        self.received = Channel[OpusPacket]("recording", 50, Full.DROP_OLDEST)
        self.to_send = Into[OpusPacket](lambda packet: None)

    def nack(self, sequences: Sequence[int]) -> None:
        """Nobody is there to send them again."""

    async def play(self, packets: Sequence[OpusPacket]) -> None:
        """Each at its time (`arrived_s`, from zero)."""
        began_s = now()
        for packet in packets:
            await asyncio.sleep(began_s + packet.arrived_s - now())
            self.received.offer(replace(packet, arrived_s=now()))


class Listener:
    """A FrontEnd with one slot that keeps what it hears and says nothing."""

    def __init__(self) -> None:
        self.info = FrontEndInfo("listener", RATE_HZ, FRAME, 1, speaks_alone=True)
        self.heard: list[Pcm] = []

    def open(self, index: int, config: SessionConfig) -> None: ...

    def close(self, index: int) -> None: ...

    def step(self, inputs: Mapping[int, StepInput]) -> Mapping[int, StepOutput]:
        self.heard += [frame.pcm for frame in inputs.values()]
        return {index: StepOutput(silence(FRAME)) for index in inputs}

    def shutdown(self) -> None: ...


class Nobody:
    """A TextModel that cannot be asked."""

    name = "nobody"

    async def stream(self, messages: Sequence[Message]) -> AsyncGenerator[str, None]:
        raise ServiceError("llm", "There is no LLM here.")
        yield ""
