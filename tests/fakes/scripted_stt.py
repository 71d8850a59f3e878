"""An STT that knows what will be said, and fails or stands still as it is told."""

import asyncio
import math

from pipeline.channel import Channel, Outlet
from pipeline.errors import ServiceError
from pipeline.stt.face import Listened
from pipeline.types import SessionConfig, SpeechEvent, SpeechKind, Transcript

WORD_S = 0.27
"""It takes somebody to say a word."""


class ScriptedStt:
    """The n-th utterance is the n-th text; the last one repeats."""

    name = "scripted"
    rate_hz = 16_000
    languages: tuple[str, ...] = ()

    def __init__(self, *texts: str) -> None:
        self._texts = list(texts) or ["What is the capital of France?"]
        self.stalled = False
        """Reads nothing any more."""
        self.breaks: ServiceError | None = None
        """Raised once, at the next item."""
        self.runs = 0

    async def transcribe(
        self, config: SessionConfig, inbox: Channel[Listened], outbox: Outlet[Transcript]
    ) -> None:
        self.runs += 1
        utterance, began_s, told = 0, 0.0, 0
        async for item in inbox:
            if self.stalled:
                await asyncio.Event().wait()
            if self.breaks is not None:
                error, self.breaks = self.breaks, None
                raise error
            if isinstance(item, SpeechEvent):
                if item.kind is SpeechKind.STARTED and item.utterance != utterance:
                    utterance, began_s, told = item.utterance, item.at_s, 0
                words = self._words(item.utterance, item.at_s - began_s)
                if item.kind is SpeechKind.STOPPED:
                    await outbox.send(Transcript(words, began_s, item.at_s, False, utterance))
                elif item.kind is SpeechKind.TURN_ENDED:
                    await outbox.send(Transcript(words, began_s, item.at_s, True, item.utterance))
                    utterance = 0
            elif utterance and item.end_s - began_s > (told + 1) * WORD_S:
                told += 1
                words = self._words(utterance, told * WORD_S)
                await outbox.send(Transcript(words, began_s, item.end_s, False, utterance))

    def _words(self, utterance: int, after_s: float) -> str:
        """What has been said of it."""
        words = self._texts[min(utterance, len(self._texts)) - 1].split()
        return " ".join(words[: math.ceil(after_s / WORD_S)])
