"""A microphone that plays sound it is given, and silence in between."""

import asyncio
from dataclasses import dataclass

import numpy as np

from pipeline.audio.encode import Encode
from pipeline.audio.opus import OpusEncoder
from pipeline.channel import Channel
from pipeline.clock import now
from pipeline.types import AudioFrame, OpusPacket, Pcm, silence

RATE_HZ = 24_000
FRAME = RATE_HZ // 50
"""Samples in a packet of 20 ms."""
AUDIBLE = 0.01
"""Peak, −40 dBFS: what is quieter at either end of a sound is not speech."""


@dataclass(frozen=True, slots=True)
class Said:
    """When a sound was spoken, in loop time: as a listener beside the microphone would say."""

    began_s: float
    """Its first audible sample."""
    ended_s: float
    """Its last audible sample. The packet that holds it leaves up to 20 ms later."""


class Microphone:
    """Sends a packet each 20 ms of real time, however late it was woken for the one before."""

    def __init__(self, to_send: Channel[OpusPacket]) -> None:
        self._to_send = to_send
        self._encode = Encode(OpusEncoder(RATE_HZ))
        self._pending = silence(0)
        self._drained = asyncio.Event()
        self._frames = 0
        self._began_s = now()

    async def run(self) -> None:
        """Until cancelled, or the channel is closed."""
        while not self._to_send.closed:
            due_s = self._began_s + (self._frames + 1) * FRAME / RATE_HZ
            await asyncio.sleep(due_s - now())
            self._send_frame()
        self._drained.set()

    async def say(self, pcm: Pcm) -> Said:
        """Speak `pcm` (mono, RATE_HZ) after whatever is being said; returns when it is out.

        Cancelling falls silent at once.
        """
        audible = np.flatnonzero(np.abs(pcm) >= AUDIBLE)
        first, last = (audible[0], audible[-1]) if len(audible) else (0, len(pcm))
        start = self._frames * FRAME + len(self._pending)
        self._pending = np.concatenate([self._pending, pcm])
        self._drained.clear()
        try:
            await self._drained.wait()
        except asyncio.CancelledError:
            self._pending = silence(0)
            raise
        return Said(self._spoken_s(start + first), self._spoken_s(start + last))

    def _spoken_s(self, sample: int) -> float:
        return self._began_s + float(sample) / RATE_HZ

    def _send_frame(self) -> None:
        block, self._pending = self._pending[:FRAME], self._pending[FRAME:]
        pcm = np.concatenate([block, silence(FRAME - len(block))])
        for packet in self._encode.push(AudioFrame(pcm, RATE_HZ, self._frames * FRAME, now())):
            self._to_send.offer(packet)
        self._frames += 1
        if not len(self._pending):
            self._drained.set()
