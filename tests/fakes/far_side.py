"""The other end of a call on the virtual clock: it speaks packets, and listens to what is sent."""

import asyncio
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from pipeline.audio.opus import OpusDecoder
from pipeline.channel import Channel, Full
from pipeline.clock import now
from pipeline.stage import Into
from pipeline.types import OpusPacket, Pcm, silence

RATE_HZ = 24_000


class FarSide:
    """A peer without a network."""

    def __init__(self) -> None:
        self.received = Channel[OpusPacket]("received", 50, Full.DROP_OLDEST)
        self.to_send = Into[OpusPacket](self._hear)
        self.heard: deque[tuple[float, OpusPacket]] = deque()
        """All that was sent, each packet with the time at which it was."""
        self._decoder = OpusDecoder(RATE_HZ)

    def nack(self, sequences: Sequence[int]) -> None: ...

    def rtt_s(self) -> float | None:
        return 0.02

    def relayed(self) -> bool | None:
        return False

    async def say(self, packets: Iterable[OpusPacket]) -> None:
        """Each at its time (`arrived_s`, from now)."""
        began_s = now()
        for packet in packets:
            await asyncio.sleep(began_s + packet.arrived_s - now())
            self.received.offer(replace(packet, arrived_s=now()))

    def hang_up(self) -> None:
        self.received.close()

    def sound(self) -> Pcm:
        """What was heard from the first packet on; every packet follows on the one before."""
        decoder = OpusDecoder(RATE_HZ)
        pieces = [decoder.decode(packet.payload) for _, packet in self.heard]
        return np.concatenate([silence(0), *pieces])

    def _hear(self, packet: OpusPacket) -> None:
        self.heard.append((now(), packet))
