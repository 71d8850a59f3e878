"""One conversation's STT branch against a server, and the loop most people would write instead."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import numpy as np
from google.api_core.exceptions import GoogleAPICallError
from google.cloud import speech_v2 as speech
from google.cloud.speech_v2.services.speech.transports import SpeechGrpcAsyncIOTransport
from grpc import aio

from pipeline.channel import Channel, Full
from pipeline.clock import now
from pipeline.events import ServiceState
from pipeline.settings import SttSettings
from pipeline.stage import Into
from pipeline.stt.face import Listened
from pipeline.stt.google.access import find_access
from pipeline.stt.google.speech import GoogleSpeech
from pipeline.stt.google.stt import GoogleStt
from pipeline.stt.streams import Times
from pipeline.supervise import keep_trying
from pipeline.types import (
    AudioFrame,
    Pcm,
    SessionConfig,
    SpeechEvent,
    SpeechKind,
    Transcript,
    silence,
)
from tests.fakes.tone_words import RATE_HZ

FRAME = 320
SPEED = 8.0
"""Times faster than real time that people speak here."""


class Speaker:
    """Says things into a channel as hearing hands them on, at SPEED."""

    def __init__(self) -> None:
        self.inbox = Channel[Listened](
            "stt", 1000, Full.DROP_OLDEST, spares=lambda item: isinstance(item, SpeechEvent)
        )
        self._pts = 0
        self._due_s = now()

    async def say(self, pcm: Pcm) -> None:
        for start in range(0, len(pcm), FRAME):
            piece = pcm[start : start + FRAME]
            self.inbox.offer(AudioFrame(piece, RATE_HZ, self._pts, now()))
            self._pts += len(piece)
            self._due_s += len(piece) / RATE_HZ / SPEED
            await asyncio.sleep(max(0.0, self._due_s - now()))

    async def quiet(self, seconds: float) -> None:
        await self.say(silence(round(seconds * RATE_HZ)))

    def tell(self, kind: SpeechKind, utterance: int, ago_s: float = 0.0) -> None:
        self.inbox.offer(SpeechEvent(kind, utterance, self._pts / RATE_HZ - ago_s))

    async def turn(self, pcm: Pcm, utterance: int = 1) -> None:
        """Noticed a tenth of a second late, at its start and at its end."""
        await self.say(pcm[:1600])
        self.tell(SpeechKind.STARTED, utterance, 0.1)
        await self.say(pcm[1600:])
        await self.quiet(0.1)
        self.tell(SpeechKind.STOPPED, utterance, 0.1)
        await self.quiet(0.5)
        self.tell(SpeechKind.TURN_ENDED, utterance, 0.6)


class Branch:
    """What came of it."""

    def __init__(self) -> None:
        self.told: list[Transcript] = []
        self.states: list[ServiceState] = []
        self._changed = asyncio.Event()

    @property
    def finals(self) -> list[str]:
        return [each.text for each in self.told if each.final]

    @property
    def causes(self) -> list[str]:
        return [state.message for state in self.states if not state.up]

    async def until_final(self, count: int = 1) -> None:
        async with asyncio.timeout(10):
            while len(self.finals) < count:
                await self._wait()

    async def until_up(self) -> None:
        async with asyncio.timeout(10):
            while not any(state.up for state in self.states):
                await self._wait()

    def note(self, each: Transcript | ServiceState) -> None:
        (self.told if isinstance(each, Transcript) else self.states).append(each)  # type: ignore[arg-type]
        self._changed.set()

    async def _wait(self) -> None:
        self._changed.clear()
        await self._changed.wait()


@asynccontextmanager
async def branch(
    address: str, speaker: Speaker, times: Times, language: str = "en-US"
) -> AsyncIterator[Branch]:
    """GoogleStt under the supervision it has in a call."""
    made, config = Branch(), SessionConfig(language=language)
    settings = SttSettings(google_endpoint=f"http://{address}", google_project="mine")
    google = GoogleSpeech(settings, find_access(settings))
    stt = GoogleStt(google, times=times)

    async def attempt() -> None:
        await stt.transcribe(config, speaker.inbox, Into(made.note))

    async with asyncio.TaskGroup() as tasks:
        run = tasks.create_task(keep_trying("stt", attempt, made.note), name="stt")
        try:
            yield made
        finally:
            speaker.inbox.close()
            await asyncio.wait([run], timeout=5)
            run.cancel()
    await google.close()


async def naive(address: str, speaker: Speaker) -> list[str]:
    """Streams all there is, opens a new stream when one breaks, and keeps what is final."""
    client = speech.SpeechAsyncClient(
        transport=SpeechGrpcAsyncIOTransport(channel=aio.insecure_channel(address))
    )
    finals: list[str] = []

    async def requests() -> AsyncIterator[speech.StreamingRecognizeRequest]:
        yield speech.StreamingRecognizeRequest(
            recognizer="projects/mine/locations/global/recognizers/_", streaming_config=CONFIG
        )
        async for item in speaker.inbox:
            if isinstance(item, AudioFrame):
                audio = (item.pcm * 32767).astype("<i2").tobytes()
                yield speech.StreamingRecognizeRequest(audio=audio)

    try:
        while not (speaker.inbox.closed and not speaker.inbox.depth):
            try:
                async for response in await client.streaming_recognize(requests=requests()):
                    results: Sequence[speech.StreamingRecognitionResult] = response.results
                    finals += [r.alternatives[0].transcript.strip() for r in results if r.is_final]
            except GoogleAPICallError:
                await asyncio.sleep(0.05)
    finally:
        await client.transport.close()
    return finals


CONFIG = speech.StreamingRecognitionConfig(
    config=speech.RecognitionConfig(
        explicit_decoding_config=speech.ExplicitDecodingConfig(
            encoding=speech.ExplicitDecodingConfig.AudioEncoding.LINEAR16,
            sample_rate_hertz=RATE_HZ,
            audio_channel_count=1,
        ),
        model="long",
        language_codes=["en-US"],
    ),
    streaming_features=speech.StreamingRecognitionFeatures(interim_results=True),
)


def run_on(first: int, count: int, gap_s: float = 0.04) -> tuple[Pcm, str]:
    """`count` words without an end in sight, and how they are written."""
    from tests.fakes.tone_words import sentence, word

    numbers = [1 + (first + n) % 60 for n in range(count)]
    return np.concatenate([sentence(n, 1, gap_s) for n in numbers]), " ".join(map(word, numbers))
