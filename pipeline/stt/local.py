"""Speech to text on this machine's CPU, English: Moonshine tiny."""

import asyncio
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from pipeline.channel import Channel, Outlet
from pipeline.clock import now
from pipeline.stt.dictation import Dictation, Job, near_silence
from pipeline.stt.face import Listened
from pipeline.stt.moonshine import RATE_HZ, Moonshine
from pipeline.types import Pcm, SessionConfig, Transcript

NICENESS = 5
"""Behind sound and hearing, before a local LLM."""


class Decoder(Protocol):
    def decode(self, pcm: Pcm) -> str:
        """What is said in `pcm`; blocks. Raises ServiceError."""


class MoonshineStt:
    """One model and one thread for all conversations; the model itself uses every core."""

    name = "moonshine-tiny-en (local)"
    rate_hz = RATE_HZ
    languages = ("en",)

    def __init__(self, decoder: Decoder | None = None) -> None:
        """Loads the model, unless one is given. Raises ConfigError if it cannot."""
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="stt", initializer=_give_way)
        # The library's own threads are born here, and give way like their parent.
        self._decoder = decoder or self._thread.submit(Moonshine).result()

    async def transcribe(
        self, config: SessionConfig, inbox: Channel[Listened], outbox: Outlet[Transcript]
    ) -> None:
        """See SpeechToText. While one piece is decoded, audio waits in the inbox, so that the
        next takes in all that has come: partials are never queued, and never stale."""
        dictation = Dictation(self.rate_hz)
        async for item in inbox:
            dictation.push(item)
            await self._drain(dictation, inbox)
            while job := dictation.next_job():
                for transcript in await self._decode(dictation, job):
                    await outbox.send(transcript)
                await self._drain(dictation, inbox)
            for transcript in dictation.known():
                await outbox.send(transcript)

    def close(self) -> None:
        """Let the thread end once it has decoded what it holds."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def _drain(self, dictation: Dictation, inbox: Channel[Listened]) -> None:
        while inbox.depth:
            dictation.push(await inbox.receive())

    async def _decode(self, dictation: Dictation, job: Job) -> list[Transcript]:
        if near_silence(job.pcm):
            return dictation.decoded(job, "", 0.0)
        began_s, loop = now(), asyncio.get_running_loop()
        text = await loop.run_in_executor(self._thread, self._decoder.decode, job.pcm)
        return dictation.decoded(job, text, now() - began_s)


def _give_way() -> None:
    """Decoding takes whole cores for tenths of a second: sound on its way goes first."""
    os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)
