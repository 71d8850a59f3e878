"""The media graph of one attached conversation: the only file that names every stage in order.

    peer ─▶ jitter ─┬▶ framer ──▶ ENGINE ─▶ playout ─┬▶ encode ─▶ peer
                    └▶ resample ─▶ hearing ─▶ stt    │
                                      ▲              │
                                      └── resample ◀─┘ what was played: the echo reference

The upper line is the voice path. It hands on without waiting; the lower one hangs on channels
that drop their oldest audio, so that a slow STT is never heard as silence. What hearing and STT
find goes to the Conversation, and from there to front-end and oracle.
"""

import asyncio
from collections.abc import Coroutine, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, Protocol

from pipeline.audio.encode import Encode
from pipeline.audio.framer import Framer
from pipeline.audio.jitter import JitterBuffer, Nack
from pipeline.audio.opus import OpusDecoder, OpusEncoder
from pipeline.audio.playout import Playout
from pipeline.audio.resample import Resampler
from pipeline.channel import Channel, Full, Outlet
from pipeline.clock import now
from pipeline.conversation import Conversation
from pipeline.engine.face import Engine
from pipeline.hearing.hearing import Hearing, Hears, Played, run_hearing
from pipeline.probe import Probes
from pipeline.report import PathReport
from pipeline.stage import Into
from pipeline.stt.face import Listened, SpeechToText
from pipeline.supervise import keep_trying
from pipeline.timed import run_timed
from pipeline.types import AudioFrame, OpusPacket, Slot, SpeechEvent, Transcript

FRAMES_A_SECOND = 50
"""Of 20 ms each, as they come from the wire."""


class MediaPeer(Protocol):
    """What the graph needs of a WebRTC peer, or of a recording."""

    @property
    def received(self) -> Channel[OpusPacket]:
        """Closed when the peer is gone."""

    @property
    def to_send(self) -> Outlet[OpusPacket]: ...

    def nack(self, sequences: Sequence[int]) -> None:
        """Ask the sender for these packets again (RFC 4585 section 6.2.1)."""


@dataclass(frozen=True, slots=True)
class Services:
    """What all conversations of a server share."""

    stt: SpeechToText
    hearing_thread: Executor
    probes: Probes


class Graph:
    """Cores and channels of one attached conversation; `run` moves what is in them."""

    def __init__(
        self,
        peer: MediaPeer,
        engine: Engine,
        slot: Slot,
        conversation: Conversation,
        hearing: Hearing,
        services: Services,
    ) -> None:
        self._peer, self._engine, self._slot = peer, engine, slot
        self._conversation, self._hearing, self._services = conversation, hearing, services
        info, hear_hz = engine.info, services.stt.rate_hz
        self.jitter = JitterBuffer(OpusDecoder(info.rate_hz))
        self.playout = Playout(info.frame_samples, info.rate_hz)
        self._framer = Framer(info.frame_samples)
        self._encode = Encode(OpusEncoder(info.rate_hz))
        self._microphone = Resampler(info.rate_hz, hear_hz)
        self._reference = Resampler(info.rate_hz, hear_hz)
        self._blocks = Channel[AudioFrame]("blocks", 4)
        self._hears = Channel[Hears]("hears", 2 * FRAMES_A_SECOND, Full.DROP_OLDEST)
        self._listened = Channel[Listened]("stt", 20 * FRAMES_A_SECOND, Full.DROP_OLDEST)
        self.report = PathReport()
        self._arrived_s = 0.0

    async def run(self) -> None:
        """Until the peer is gone; then what is inside flows out, stage by stage."""
        async with asyncio.TaskGroup() as tasks:
            for name, work in self._work().items():
                tasks.create_task(work, name=f"{self._conversation.call_id} {name}")

    def dropped(self) -> dict[str, int]:
        """Frames of 20 ms dropped so far, by place."""
        return {
            "hearing": self._hears.dropped,
            "stt": self._listened.dropped,
            "playout": self.playout.stats.dropped_speech,
        }

    def _work(self) -> dict[str, Coroutine[Any, Any, None]]:
        return {
            "receive": self._receive(),
            "speak": self._speak(),
            "play": self._play(),
            "hear": self._hear(),
            "transcribe": self._transcribe(),
        }

    # The voice path.

    async def _receive(self) -> None:
        probe = self._services.probes("receive")
        await run_timed(self.jitter, self._peer.received, Into(self._received), probe)
        self._hears.close()
        await self._engine.close(self._slot)

    def _received(self, item: AudioFrame | Nack) -> None:
        if isinstance(item, Nack):
            return self._peer.nack(item.sequences)
        for frame in self._framer.push(item):
            self._arrived_s = frame.arrived_s
            self._engine.submit(self._slot, self._conversation.heard_frame(frame))
        for frame in self._microphone.push(item):
            self._hears.offer(frame)

    async def _speak(self) -> None:
        rate_hz = self._engine.info.rate_hz
        async for output in self._engine.outputs(self._slot):
            if output.yielded:
                self._conversation.cut(self.playout.flush())
            pts = self._conversation.spoke(output)
            await self._blocks.send(AudioFrame(output.pcm, rate_hz, pts, now()))
        self._blocks.close()

    async def _play(self) -> None:
        probe = self._services.probes("play")
        await run_timed(self.playout, self._blocks, Into(self._sent), probe)

    def _sent(self, frame: AudioFrame) -> None:
        for packet in self._encode.push(frame):
            self._peer.to_send.offer(packet)
        if not frame.concealed:
            self.report.answered(now() - self._arrived_s)
            self._conversation.sent(frame.pts + len(frame.pcm))
        for reference in self._reference.push(frame):
            self._hears.offer(Played(reference, self._conversation.media_s(now())))

    # Beside it.

    async def _hear(self) -> None:
        thread, probe = self._services.hearing_thread, self._services.probes("hear")
        await run_hearing(self._hearing, self._hears, Into(self._heard), thread, probe)
        self._listened.close()

    def _heard(self, item: Listened) -> None:
        self._listened.offer(item)
        if isinstance(item, SpeechEvent):
            self._conversation.heard_speech(item)

    async def _transcribe(self) -> None:
        await keep_trying("stt", self._attempt_stt, self._conversation.note)

    async def _attempt_stt(self) -> None:
        outlet = Into(self._transcribed)
        await self._services.stt.transcribe(self._conversation.config, self._listened, outlet)

    def _transcribed(self, transcript: Transcript) -> None:
        self._conversation.heard_words(transcript)
        self._hears.offer(transcript)
