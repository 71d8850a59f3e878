"""Google Cloud Speech-to-Text.

Version 2 of the API: the newer models (Chirp) and regions are to be had only there, and its
client does not interfere. That of version 1 repeats a broken streaming call by itself, with an
iterator whose audio has already gone into the first one. What v2 wants more is a project.

Of the client: it reads our audio in a task of its own, which it leaves behind, waiting, when
the call ends; so the audio channel is closed then, whatever happened. And a status that comes
while it writes it shows as "Internal error from Core", whatever it was.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import cast

import numpy as np
from google.api_core.client_options import ClientOptions
from google.api_core.exceptions import GoogleAPICallError
from google.cloud import speech_v2 as speech
from google.cloud.speech_v2.services.speech.transports import SpeechGrpcAsyncIOTransport
from grpc import aio

from pipeline.channel import Channel
from pipeline.errors import ServiceError
from pipeline.settings import SttSettings
from pipeline.stt.google.access import PLAIN, Access
from pipeline.stt.google.errors import explained
from pipeline.stt.streams import Heard
from pipeline.types import Pcm, silence

RATE_HZ = 16_000
MOST_BYTES = 15_000
"""Of audio in a request."""
REFUSAL_S = 0.3
"""Google refuses what it does not like within this time."""


class GoogleSpeech:
    """One connection for all conversations. Must be made and used on one event loop."""

    def __init__(self, settings: SttSettings, access: Access) -> None:
        location, endpoint = settings.google_location, settings.google_endpoint
        self._settings = settings
        self._recognizer = f"projects/{access.project}/locations/{location}/recognizers/_"
        if endpoint.startswith(PLAIN):
            channel = aio.insecure_channel(endpoint.removeprefix(PLAIN).rstrip("/"))
            transport = SpeechGrpcAsyncIOTransport(channel=channel)
            self._client = speech.SpeechAsyncClient(transport=transport)
            return
        region = "" if location == "global" else f"{location}-"
        options = ClientOptions(api_endpoint=endpoint or f"{region}speech.googleapis.com")
        self._client = speech.SpeechAsyncClient(
            credentials=access.credentials, client_options=options
        )

    async def stream(
        self, number: int, language: str, audio: Channel[Pcm]
    ) -> AsyncGenerator[Heard, None]:
        """The results for `audio`, as they come, until it is closed and all is settled.

        Raises ServiceError. Closes `audio` in any case.
        """
        try:
            call = await self._client.streaming_recognize(requests=self._requests(language, audio))
            # A generator by its nature, if not by its declaration.
            answers = cast(AsyncGenerator[speech.StreamingRecognizeResponse, None], aiter(call))
            async with aclosing(answers) as responses:
                async for response in responses:
                    if (heard := _heard(number, response)) is not None:
                        yield heard
        except GoogleAPICallError as error:
            raise explained(error) from error
        except Exception as error:  # a server may send anything, and the client trips over it
            kind = type(error).__name__
            raise ServiceError("stt", f"Google's STT sent what nobody expects ({kind}).") from error
        finally:
            audio.close()

    async def check(self, language: str) -> None:
        """Be understood, over a tenth of a second of silence. Raises ServiceError.

        The silence is held back a little: while nothing is written, the cause of a refusal shows.
        """
        audio = Channel[Pcm]("check", 1)
        later = asyncio.get_running_loop().call_later(REFUSAL_S, _say_nothing, audio)
        try:
            async with aclosing(self.stream(0, language, audio)) as results:
                async for _ in results:
                    pass
        finally:
            later.cancel()

    async def close(self) -> None:
        await self._client.transport.close()  # type: ignore[no-untyped-call]

    async def _requests(
        self, language: str, audio: Channel[Pcm]
    ) -> AsyncIterator[speech.StreamingRecognizeRequest]:
        yield speech.StreamingRecognizeRequest(
            recognizer=self._recognizer, streaming_config=self._config(language)
        )
        async for pcm in audio:
            linear16 = (np.clip(pcm, -1, 1) * 32767).astype("<i2").tobytes()
            for start in range(0, len(linear16), MOST_BYTES):
                yield speech.StreamingRecognizeRequest(audio=linear16[start : start + MOST_BYTES])

    def _config(self, language: str) -> speech.StreamingRecognitionConfig:
        return speech.StreamingRecognitionConfig(
            config=speech.RecognitionConfig(
                explicit_decoding_config=speech.ExplicitDecodingConfig(
                    encoding=speech.ExplicitDecodingConfig.AudioEncoding.LINEAR16,
                    sample_rate_hertz=RATE_HZ,
                    audio_channel_count=1,
                ),
                model=self._settings.google_model,
                language_codes=[with_region(language)],
                features=speech.RecognitionFeatures(
                    enable_automatic_punctuation=self._settings.google_punctuation
                ),
            ),
            streaming_features=speech.StreamingRecognitionFeatures(interim_results=True),
        )


_REGIONS = {
    **{"ar": "EG", "cs": "CZ", "da": "DK", "el": "GR", "en": "US", "he": "IL", "hi": "IN"},
    **{"ja": "JP", "ko": "KR", "ms": "MY", "sv": "SE", "uk": "UA", "vi": "VN"},
}
"""Where a language is looked for whose code is not that of its country."""


def with_region(language: str) -> str:
    """Google wants "en-US", clients of OpenAI send "en"."""
    if language == "zh":
        return "cmn-Hans-CN"
    if "-" in language or len(language) != 2:
        return language
    return f"{language}-{_REGIONS.get(language, language.upper())}"


def _say_nothing(audio: Channel[Pcm]) -> None:
    audio.offer(silence(RATE_HZ // 10))
    audio.close()


def _heard(number: int, response: speech.StreamingRecognizeResponse) -> Heard | None:
    """None: there are no words in it."""
    results = [result for result in response.results if result.alternatives]
    if not results:
        return None
    settled = [result for result in results if result.is_final]
    return Heard(
        number,
        "".join(result.alternatives[0].transcript for result in settled),
        max((_end_s(result) for result in settled), default=0.0),
        "".join(each.alternatives[0].transcript for each in results if not each.is_final),
        max(_end_s(result) for result in results),
    )


def _end_s(result: speech.StreamingRecognitionResult) -> float:
    return float(result.result_end_offset.total_seconds())
