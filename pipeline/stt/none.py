"""No speech to text: for front-ends that speak alone."""

from pipeline.channel import Channel, Outlet
from pipeline.stt.face import Listened
from pipeline.types import SessionConfig, Transcript


class NoStt:
    """Implements SpeechToText: hears everything and understands nothing."""

    name = "none"
    rate_hz = 16_000
    languages = ()

    async def transcribe(
        self, config: SessionConfig, inbox: Channel[Listened], outbox: Outlet[Transcript]
    ) -> None:
        async for _ in inbox:
            pass

    def close(self) -> None: ...
