"""Our voice path with a front-end that says at once what it hears."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from pipeline.engine.engine import ThreadEngine
from pipeline.engine.frontend import FrontEndInfo
from pipeline.probe import no_probes
from pipeline.stage import Into
from pipeline.types import AudioFrame, SessionConfig, StepInput, StepOutput
from pipeline.voice_path import VoicePath
from server.rtc.gather import IceConfig
from server.rtc.peer import Peer

RATE_HZ = 24_000
SLOTS = 256


class PassThrough:
    """A FrontEnd."""

    def __init__(self, frame_ms: int) -> None:
        samples = frame_ms * RATE_HZ // 1000
        self.info = FrontEndInfo("pass-through", RATE_HZ, samples, SLOTS, speaks_alone=True)

    def open(self, index: int, config: SessionConfig) -> None: ...

    def close(self, index: int) -> None: ...

    def step(self, inputs: Mapping[int, StepInput]) -> Mapping[int, StepOutput]:
        return {index: StepOutput(frame.pcm) for index, frame in inputs.items()}

    def shutdown(self) -> None: ...


class NoDialogue:
    """A Dialogue of which nobody wants to know anything."""

    def heard_frame(self, frame: AudioFrame) -> StepInput:
        return StepInput(frame.pcm)

    def spoke(self, output: StepOutput) -> None: ...

    def sent(self, until_sample: int) -> None: ...

    def cut(self, sent_sample: int) -> None: ...


class OurEcho:
    """Answers offers; each call runs until its peer is gone."""

    def __init__(self, engine: ThreadEngine, tasks: asyncio.TaskGroup) -> None:
        self._engine, self._tasks = engine, tasks

    async def answer(self, offer: str) -> str:
        peer = Peer("echo", IceConfig(loopback=True))
        answer = await peer.answer(offer)
        self._tasks.create_task(self._serve(peer), name="echo call")
        return answer

    async def _serve(self, peer: Peer) -> None:
        nothing = Into[AudioFrame](lambda frame: None)
        try:
            await asyncio.wait((peer.connected, peer.closed), return_when=asyncio.FIRST_COMPLETED)
            slot = await self._engine.open(SessionConfig())
            path = VoicePath(
                "echo",
                peer,
                self._engine,
                slot,
                NoDialogue(),
                no_probes,
                heard=nothing,
                played=nothing,
            )
            await path.run()
        finally:
            await peer.close()


@asynccontextmanager
async def our_echo(frame_ms: int) -> AsyncIterator[OurEcho]:
    async with ThreadEngine(PassThrough(frame_ms)) as engine, asyncio.TaskGroup() as tasks:
        yield OurEcho(engine, tasks)
