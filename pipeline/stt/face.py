"""The contract of speech-to-text."""

from typing import Protocol

from pipeline.channel import Channel, Outlet
from pipeline.types import AudioFrame, SessionConfig, SpeechEvent, Transcript

Listened = AudioFrame | SpeechEvent
"""What comes down the STT branch: every frame of audio at `rate_hz`, and speech events in order."""


class SpeechToText(Protocol):
    """One for the whole server; `transcribe` runs once a conversation."""

    @property
    def name(self) -> str: ...

    @property
    def rate_hz(self) -> int: ...

    @property
    def languages(self) -> tuple[str, ...]:
        """What it understands, ISO 639-1; empty: anything."""

    async def transcribe(
        self, config: SessionConfig, inbox: Channel[Listened], outbox: Outlet[Transcript]
    ) -> None:
        """Turn audio into transcripts until the inbox ends.

        Partials while an utterance lasts, one final after each TURN_ENDED (its text may be
        empty). Raises ServiceError when the back-end fails: the caller retries.
        """
