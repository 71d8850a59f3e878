"""The voice path: from a peer's packets through the engine and back, waiting for nothing.

    peer ─▶ jitter ─┬▶ framer ─▶ ENGINE ─▶ playout ─┬▶ encode ─▶ peer
                    └▶ heard                        └▶ played

Whatever else wants the audio takes it from the two branches, and must not make them wait.
"""

import asyncio
from collections.abc import Sequence
from typing import Protocol

from pipeline.audio.align import Align
from pipeline.audio.encode import Encode
from pipeline.audio.framer import Framer
from pipeline.audio.jitter import JitterBuffer, Nack
from pipeline.audio.opus import OpusDecoder, OpusEncoder
from pipeline.audio.playout import Playout
from pipeline.channel import Channel, Outlet
from pipeline.clock import now
from pipeline.engine.face import Engine
from pipeline.probe import Probes
from pipeline.report import PathReport
from pipeline.stage import Into
from pipeline.timed import run_timed
from pipeline.types import AudioFrame, OpusPacket, Slot, StepInput, StepOutput

BLOCKS = 4
"""Of the engine's frames, between it and playout."""


class MediaPeer(Protocol):
    """What the voice path needs of a WebRTC peer, or of a recording."""

    @property
    def received(self) -> Channel[OpusPacket]:
        """Closed when the peer is gone."""

    @property
    def to_send(self) -> Outlet[OpusPacket]: ...

    def nack(self, sequences: Sequence[int]) -> None:
        """Ask the sender for these packets again (RFC 4585 section 6.2.1)."""


class Dialogue(Protocol):
    """Who is told what passes through, and knows what goes with it. Every call returns at once."""

    def heard_frame(self, frame: AudioFrame) -> StepInput:
        """The microphone's next frame, with all that is to ride on it."""

    def spoke(self, output: StepOutput) -> None:
        """The front-end's next frame."""

    def sent(self, until_sample: int) -> None:
        """Everything before `until_sample` has left."""

    def cut(self, sent_sample: int) -> None:
        """The front-end yielded: nothing after `sent_sample` will leave."""


class VoicePath:
    def __init__(
        self,
        name: str,
        peer: MediaPeer,
        engine: Engine,
        slot: Slot,
        dialogue: Dialogue,
        probes: Probes,
        *,
        heard: Outlet[AudioFrame],
        played: Outlet[AudioFrame],
    ) -> None:
        self._name, self._peer, self._engine, self._slot = name, peer, engine, slot
        self._dialogue, self._probes = dialogue, probes
        self._heard, self._played = heard, played
        info = engine.info
        self.jitter = JitterBuffer(OpusDecoder(info.rate_hz))
        self.playout = Playout(info.frame_samples, info.rate_hz)
        self.report = PathReport()
        self._framer = Framer(info.frame_samples)
        ticks = engine.ticks
        self._align = Align(ticks, info.frame_samples, info.rate_hz) if ticks else None
        self._encode = Encode(OpusEncoder(info.rate_hz))
        self._blocks = Channel[AudioFrame]("blocks", BLOCKS)
        self._arrived_s = 0.0

    async def run(self) -> None:
        """Until the peer is gone; then what is inside flows out, and the slot is given back."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._receive(), name=f"{self._name} receive")
            tasks.create_task(self._speak(), name=f"{self._name} speak")
            tasks.create_task(self._play(), name=f"{self._name} play")

    async def _receive(self) -> None:
        probe = self._probes("receive")
        await run_timed(self.jitter, self._peer.received, Into(self._received), probe)
        await self._engine.close(self._slot)

    def _received(self, item: AudioFrame | Nack) -> None:
        if isinstance(item, Nack):
            return self._peer.nack(item.sequences)
        timely = self._align.push(item, now()) if self._align else item
        for frame in self._framer.push(timely):
            self._arrived_s = frame.arrived_s
            self._engine.submit(self._slot, self._dialogue.heard_frame(frame))
        self._heard.offer(item)

    async def _speak(self) -> None:
        rate_hz = self._engine.info.rate_hz
        async for output in self._engine.outputs(self._slot):
            if output.yielded:
                self._blocks.clear()
                self._dialogue.cut(self.playout.flush())
            self._dialogue.spoke(output)
            await self._blocks.send(AudioFrame(output.pcm, rate_hz, output.start_sample, now()))
        self._blocks.close()

    async def _play(self) -> None:
        await run_timed(self.playout, self._blocks, Into(self._sent), self._probes("play"))

    def _sent(self, frame: AudioFrame) -> None:
        for packet in self._encode.push(frame):
            self._peer.to_send.offer(packet)
        if not frame.concealed:
            self.report.answered(now() - self._arrived_s)
            self._dialogue.sent(frame.pts + len(frame.pcm))
        self._played.offer(frame)
