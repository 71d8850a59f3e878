"""Google's speech service as far as streams go: its own protos over gRPC, with faults as scripted.

It understands tone_words.py. What it enforces is what Google does: a configuration first, audio
in pieces of at most 25,600 bytes, and an end to every stream after `limit_s`.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta

import grpc
import numpy as np
from google.cloud import speech_v2 as speech
from grpc import StatusCode, aio

from tests.fakes.tone_words import RATE_HZ, Recogniser

SERVICE = "google.cloud.speech.v2.Speech"
LINEAR16 = speech.ExplicitDecodingConfig.AudioEncoding.LINEAR16
Request = speech.StreamingRecognizeRequest
Response = speech.StreamingRecognizeResponse


@dataclass(frozen=True, slots=True)
class Fault:
    """What becomes of one stream."""

    code: StatusCode | None = None
    """Ends it so, `after_s` after its configuration."""
    after_s: float = 0.0
    deaf: bool = False
    """It takes what it gets, says nothing and never ends."""
    endless: bool = False
    """It says what it hears, but neither settles nor ends."""


@dataclass(slots=True)
class Stream:
    began_s: float
    config: speech.StreamingRecognitionConfig | None = None
    recognizer: str = ""
    audio_s: float = 0.0
    heard_s: float | None = None
    """When it gave its first result."""
    ended_s: float | None = None


@dataclass(slots=True)
class GoogleServer:
    address: str = ""
    limit_s: float = 300.0
    faults: deque[Fault] = field(default_factory=deque)
    """Of the streams to come; those after them have none."""
    streams: list[Stream] = field(default_factory=list)
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when a stream ends."""

    @property
    def open(self) -> int:
        return sum(stream.ended_s is None for stream in self.streams)

    async def recognise(
        self, requests: AsyncIterator[Request], context: aio.ServicerContext
    ) -> None:
        fault = self.faults.popleft() if self.faults else Fault()
        clock = asyncio.get_running_loop().time
        stream = Stream(clock())
        self.streams.append(stream)
        try:
            await _configure(requests, context, stream)
            if fault.code is StatusCode.OK:
                return
            async with asyncio.timeout(self.limit_s if fault.code is None else fault.after_s):
                await _hear(requests, context, stream, fault)
        except TimeoutError:
            code = fault.code or StatusCode.ABORTED
            await context.abort(code, "Max duration of 5 minutes reached for stream.")
        finally:
            stream.ended_s = clock()
            self.ended.set()


async def _hear(
    requests: AsyncIterator[Request], context: aio.ServicerContext, stream: Stream, fault: Fault
) -> None:
    recogniser = Recogniser()
    async for request in requests:
        if len(request.audio) > 25_600:
            await context.abort(StatusCode.INVALID_ARGUMENT, "Audio chunk too large.")
        stream.audio_s += len(request.audio) / 2 / RATE_HZ
        recogniser.hear(np.frombuffer(request.audio, "<i2").astype(np.float32) / 32767)
        if not fault.deaf:
            await _tell(context, recogniser, stream)
    if fault.deaf or fault.endless:
        await asyncio.Event().wait()
    recogniser.finish()
    await _tell(context, recogniser, stream)


async def _configure(
    requests: AsyncIterator[Request], context: aio.ServicerContext, stream: Stream
) -> None:
    request = await anext(requests)
    stream.config, stream.recognizer = request.streaming_config, request.recognizer
    config, features = stream.config.config, stream.config.streaming_features
    decoding = config.explicit_decoding_config
    right = (
        (decoding.encoding, decoding.sample_rate_hertz, decoding.audio_channel_count)
        == (LINEAR16, RATE_HZ, 1)
        and features.interim_results
        and config.model
        and config.language_codes
        and stream.recognizer.startswith("projects/")
    )
    if not right:
        await context.abort(StatusCode.INVALID_ARGUMENT, "The first message must configure.")


async def _tell(context: aio.ServicerContext, recogniser: Recogniser, stream: Stream) -> None:
    results = []
    if recogniser.settled:
        results.append(_result(recogniser.settled, recogniser.settled_until, final=True))
        recogniser.settled = []
    if recogniser.open:
        results.append(_result(recogniser.open, recogniser.samples, final=False))
    if results:
        stream.heard_s = stream.heard_s or asyncio.get_running_loop().time()
        await context.write(Response(results=results))


def _result(words: list[str], until: int, final: bool) -> speech.StreamingRecognitionResult:
    return speech.StreamingRecognitionResult(
        alternatives=[speech.SpeechRecognitionAlternative(transcript=" " + " ".join(words))],
        is_final=final,
        stability=0.0 if final else 0.9,
        result_end_offset=timedelta(seconds=until / RATE_HZ),
    )


@asynccontextmanager
async def google_server(port: int = 0, **how: float) -> AsyncIterator[GoogleServer]:
    made = GoogleServer(**how)  # type: ignore[arg-type]
    server = aio.server(options=[("grpc.so_reuseport", 0)])
    handler = grpc.stream_stream_rpc_method_handler(
        made.recognise,
        request_deserializer=Request.deserialize,
        response_serializer=Response.serialize,
    )
    service = grpc.method_handlers_generic_handler(SERVICE, {"StreamingRecognize": handler})
    server.add_generic_rpc_handlers((service,))
    made.address = f"127.0.0.1:{server.add_insecure_port(f'127.0.0.1:{port}')}"
    await server.start()
    try:
        yield made
    finally:
        await server.stop(None)
