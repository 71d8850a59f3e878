"""A whole session on the virtual clock: only network, VAD, STT, LLM and TTS are fakes."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TypeVar

import numpy as np

from pipeline.audio.resample import Resampler
from pipeline.clock import now
from pipeline.conversation import Conversation, Happened
from pipeline.engine.face import Engine
from pipeline.engine.inline import InlineEngine
from pipeline.errors import ServiceError
from pipeline.frontends.voice.voice import VoiceFrontEnd
from pipeline.graph import Services
from pipeline.hearing.hearing import Hearing
from pipeline.hearing.vad import Vad
from pipeline.llm.face import TextModel
from pipeline.oracle.history import History
from pipeline.oracle.oracle import Oracle
from pipeline.oracle.race import alone
from pipeline.probe import no_probes
from pipeline.session import run_session
from pipeline.settings import OracleSettings, VoiceSettings
from pipeline.stt.face import SpeechToText
from pipeline.types import Message, OpusPacket, Pcm, SessionConfig, silence
from tests.fakes.far_side import RATE_HZ, FarSide
from tests.fakes.inline_thread import InlineThread
from tests.fakes.scripted_model import ScriptedModel
from tests.fakes.scripted_stt import ScriptedStt
from tests.fakes.sender import packets
from tests.fakes.sounds import RATE_HZ as HEAR_HZ
from tests.fakes.sounds import frames, recorded, scene
from tests.fakes.tone_voice import ToneVoice

E = TypeVar("E")

FLUSH_S = 0.5
"""As much time as a call gives what is still inside."""

DEAD = ScriptedModel([ServiceError("llm", "There is none.")])


class Talk:
    """One conversation; `run` is its session."""

    def __init__(
        self,
        engine: Engine,
        stt: SpeechToText | None = None,
        model: TextModel | None = None,
        config: SessionConfig | None = None,
    ) -> None:
        self.engine, self.peer = engine, FarSide()
        self.history = History(600)
        config = config or SessionConfig()
        oracle = Oracle(alone(model or DEAD), OracleSettings(), self.history, config)
        self.conversation = Conversation("call", config, oracle, self.history, now)
        self.happened: deque[Happened] = deque()
        self.vad: Vad = _loud
        self._services = Services(stt or ScriptedStt(), InlineThread(), no_probes)

    async def run(self) -> None:
        hearing = Hearing(self.vad, self.conversation.next_utterance)
        await run_session(self.conversation, self.peer, self.engine, hearing, self._services)

    async def read(self) -> None:
        async for happened in self.conversation.events:
            self.happened.append(happened)

    def told(self, kind: type[E]) -> list[E]:
        """All events of a kind so far."""
        return [each.event for each in self.happened if isinstance(each.event, kind)]

    def messages(self) -> Sequence[Message]:
        """The conversation as the next request to the LLM would show it."""
        return self.history.messages()


@asynccontextmanager
async def talking(talk: Talk) -> AsyncIterator[Talk]:
    """The session runs while inside; then the caller hangs up."""
    async with asyncio.TaskGroup() as tasks:
        reading = tasks.create_task(talk.read())
        session = tasks.create_task(talk.run())
        try:
            yield talk
        finally:
            talk.peer.hang_up()
            await asyncio.wait([session], timeout=FLUSH_S)
            session.cancel()
            await asyncio.wait([session])
            await asyncio.sleep(0)
            reading.cancel()


def voice_engine(voice: ToneVoice | None = None) -> InlineEngine:
    """The voice front-end, its own phrases recorded."""
    front_end = VoiceFrontEnd(VoiceSettings(), voice or ToneVoice())
    for _ in range(10):
        front_end.step({})
    return InlineEngine(front_end)


def question() -> Pcm:
    """What somebody really said to a browser, without the silence around it; HEAR_HZ."""
    pcm = recorded("capital")
    loud = np.nonzero(np.abs(pcm) > 0.02 * np.abs(pcm).max())[0]
    return pcm[loud[0] : loud[-1] + 1]


def microphone(seconds: float, *asked_s: float) -> list[OpusPacket]:
    """A quiet room in which the question is asked at these times."""
    room = scene(seconds, *((at_s, question()) for at_s in asked_s))
    resampler = Resampler(HEAR_HZ, RATE_HZ)
    pieces = [made.pcm for frame in frames(room) for made in resampler.push(frame)]
    return packets(np.concatenate([silence(0), *pieces]))


def _loud(window: Pcm) -> float:
    """A VAD that takes whatever is loud for speech."""
    return float(np.mean(window**2) > 1e-5)
