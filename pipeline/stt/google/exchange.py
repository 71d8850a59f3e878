"""The streams of one run of Google's STT, and the tasks they need."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Protocol

from pipeline.channel import Channel, Full, Outlet
from pipeline.errors import ServiceError
from pipeline.stt.face import Listened
from pipeline.stt.relay import Learnt
from pipeline.stt.streams import Doing, Done, Drop, Finish, Heard, Lost, Open, Over, Send
from pipeline.types import AudioFrame, Pcm, Transcript

PIECES = 600
"""Of audio, a tenth of a second and more each, that may wait for the network."""
RESULTS = 64


class Speech(Protocol):
    """A recogniser (speech.py)."""

    def stream(
        self, number: int, language: str, audio: Channel[Pcm]
    ) -> AsyncGenerator[Heard, None]: ...

    async def check(self, language: str) -> None: ...


class Exchange:
    """Does what a Relay wants done, and brings it what comes of it."""

    def __init__(
        self,
        speech: Speech,
        language: str,
        inbox: Channel[Listened],
        outbox: Outlet[Transcript],
        tasks: asyncio.TaskGroup,
    ) -> None:
        self._speech, self._language, self._outbox = speech, language, outbox
        self._inbox, self._tasks = inbox, tasks
        self.failure: ServiceError | None = None
        size = inbox.capacity + RESULTS
        self.events = Channel[Learnt]("google", size, Full.DROP_OLDEST, spares=_is_no_audio)
        self._streams: dict[int, tuple[asyncio.Task[None], Channel[Pcm]]] = {}
        self._listening = tasks.create_task(self._forward(), name="google listens")

    async def send(self, doing: Doing) -> None:
        if isinstance(doing, Transcript):
            await self._outbox.send(doing)
        else:
            self.offer(doing)

    def offer(self, doing: Doing) -> bool:
        if self.failure is not None:
            return False
        match doing:
            case Transcript():
                return self._outbox.offer(doing)
            case ServiceError():
                self.failure = doing
                self.events.close()
                self._listening.cancel()  # what it has not taken yet stays in the inbox
            case Done():
                self.events.close()
            case Open(number):
                self._open(number)
            case _:
                self._tell(doing)
        return True

    def end(self) -> None:
        self._listening.cancel()
        for task, _ in self._streams.values():
            task.cancel()

    def _open(self, number: int) -> None:
        audio = Channel[Pcm]("google audio", PIECES, Full.DROP_OLDEST)
        listens = self._listen(number, audio)
        task = self._tasks.create_task(listens, name=f"google stream {number}")
        self._streams[number] = task, audio

    def _tell(self, doing: Send | Finish | Drop) -> None:
        """Unless the stream is lost, and the relay about to hear so."""
        task, audio = self._streams.get(doing.stream, (None, None))
        if task is None or audio is None:
            return
        match doing:
            case Send():
                audio.offer(doing.pcm)
            case Finish():
                audio.close()
            case Drop():
                task.cancel()

    async def _forward(self) -> None:
        async for item in self._inbox:
            self.events.offer(item)
        self.events.offer(Over())

    async def _listen(self, number: int, audio: Channel[Pcm]) -> None:
        error = None
        try:
            stream = self._speech.stream(number, self._language, audio)
            async with aclosing(stream) as results:
                async for heard in results:
                    self.events.offer(heard)
        except ServiceError as failed:
            error = failed
        finally:
            del self._streams[number]
        self.events.offer(Lost(number, error))


def _is_no_audio(item: Learnt) -> bool:
    return not isinstance(item, AudioFrame)
