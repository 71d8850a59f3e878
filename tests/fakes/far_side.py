"""The other end of a call on the virtual clock: it speaks packets, and listens to what is sent."""

import asyncio
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import islice

import numpy as np

from pipeline.audio.opus import OpusDecoder, OpusEncoder
from pipeline.channel import Channel, Full
from pipeline.clock import now
from pipeline.stage import Into
from pipeline.types import OpusPacket, Pcm, silence

RATE_HZ = 24_000
PACKET = RATE_HZ // 50
CODEC_S = 0.013
"""Look-ahead of two encoders (RFC 6716 section 2)."""


class FarSide:
    """A peer without a network."""

    def __init__(self) -> None:
        self.received = Channel[OpusPacket]("received", 50, Full.DROP_OLDEST)
        self.to_send = Into[OpusPacket](self._hear)
        self.heard: deque[tuple[float, OpusPacket]] = deque()
        """All that was sent, each packet with the time at which it was."""

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

    async def listen_by_speakers(self, seconds: float, level_db: float, late_s: float) -> None:
        """In a quiet room, without headphones: the microphone picks up what is heard."""
        encoder, decoder, gain = OpusEncoder(RATE_HZ), OpusDecoder(RATE_HZ), 10 ** (level_db / 20)
        began_s, size, seen = now(), round(seconds * RATE_HZ), 0
        room = 3e-4 * np.random.default_rng(0).standard_normal(2 * size)
        at = round(late_s * RATE_HZ)
        for number, start in enumerate(range(0, size, PACKET)):
            await asyncio.sleep(began_s + (start + PACKET) / RATE_HZ - now())
            for _, packet in islice(self.heard, seen, None):
                room[at : at + PACKET] += gain * decoder.decode(packet.payload)
                at, seen = at + PACKET, seen + 1
            payload = encoder.encode(room[start : start + PACKET].astype(np.float32))
            self.received.offer(OpusPacket(payload, number, 2 * start, now()))

    def hang_up(self) -> None:
        self.received.close()

    def sound(self) -> Pcm:
        """What was heard from the first packet on; every packet follows on the one before."""
        decoder = OpusDecoder(RATE_HZ)
        pieces = [decoder.decode(packet.payload) for _, packet in self.heard]
        return np.concatenate([silence(0), *pieces])

    def delay_s(self, said: Pcm, from_s: float) -> float:
        """From a second's being spoken to its being sent back, codecs apart."""
        meant = said[round(from_s * RATE_HZ) : round((from_s + 1) * RATE_HZ)]
        start = PACKET * sum(sent_s < from_s - 0.2 for sent_s, _ in self.heard)
        around = self.sound()[start : start + RATE_HZ + round(0.8 * RATE_HZ)]
        at = start + int(np.argmax(np.correlate(around, meant))) - round(CODEC_S * RATE_HZ)
        sent_s, _ = self.heard[at // PACKET]
        return sent_s + at % PACKET / RATE_HZ - from_s

    def _hear(self, packet: OpusPacket) -> None:
        self.heard.append((now(), packet))
