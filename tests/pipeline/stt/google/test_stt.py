"""How a failure of the recogniser is explained, and what becomes of it when the call is over."""

from collections.abc import AsyncGenerator

import pytest

from pipeline.channel import Channel
from pipeline.errors import ServiceError
from pipeline.stage import Into
from pipeline.stt.face import Listened
from pipeline.stt.google.stt import CHECK_S, GoogleStt
from pipeline.stt.streams import Heard, Unexplained
from pipeline.types import AudioFrame, Pcm, SessionConfig, SpeechEvent, SpeechKind, silence

BROKEN = Unexplained("stt", "It broke off.")
REFUSED = ServiceError("stt", "The key is refused.")


class Speech:
    """Breaks every stream, and answers `check` as it is told."""

    def __init__(self, cause: ServiceError | None) -> None:
        self.cause = cause

    async def stream(
        self, number: int, language: str, audio: Channel[Pcm]
    ) -> AsyncGenerator[Heard, None]:
        async for _ in audio:
            raise BROKEN
        yield Heard(number, "", 0.0, "never", 0.0)

    async def check(self, language: str) -> None:
        if self.cause is not None:
            raise self.cause


def spoken() -> Channel[Listened]:
    inbox = Channel[Listened]("stt", 100)
    inbox.offer(AudioFrame(silence(3200), 16_000, 0, 0.0))
    inbox.offer(SpeechEvent(SpeechKind.STARTED, 1, 0.1))
    return inbox


@pytest.mark.parametrize(("cause", "told"), [(REFUSED, REFUSED), (None, BROKEN)])
async def test_a_break_that_says_nothing_is_asked_about(
    cause: ServiceError | None, told: ServiceError
) -> None:
    with pytest.raises(ServiceError) as failed:
        await GoogleStt(Speech(cause)).transcribe(SessionConfig(), spoken(), Into(print))
    assert failed.value is told


async def test_a_service_that_is_asked_again_and_stays_silent_is_told_in_time() -> None:
    class Mute(Speech):
        async def check(self, language: str) -> None:
            await Channel[Pcm]("never", 1).receive()

    with pytest.raises(ServiceError, match="Google does not answer"):
        await GoogleStt(Mute(None)).transcribe(SessionConfig(), spoken(), Into(print))
    assert CHECK_S < 2.0, "or the supervisor would call it well in the meantime"


async def test_a_failure_after_the_caller_hung_up_is_nobodys_business() -> None:
    inbox = spoken()
    inbox.close()
    await GoogleStt(Speech(REFUSED)).transcribe(SessionConfig(), inbox, Into(print))
