"""Hearing: what the microphone says, with the speech found in it.

It sits beside the voice path, for every front-end, and runs on a thread of its own.
"""

import asyncio
import math
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np

from pipeline.channel import Channel, Outlet
from pipeline.hearing.echo import AUDIBLE, EchoGate
from pipeline.hearing.endpoint import Endpoint
from pipeline.hearing.speech import RATE_HZ, WINDOW, look
from pipeline.hearing.turn import Turn
from pipeline.hearing.vad import Vad
from pipeline.probe import Probe
from pipeline.stt.face import Listened
from pipeline.types import AudioFrame, SpeechEvent, Transcript, silence

BATCH = 64
"""Items handed to the thread at once, at most: over half a second of microphone and playout."""


@dataclass(frozen=True, slots=True)
class Played:
    """What left for the listener: the reference an echo is known by."""

    frame: AudioFrame
    at_s: float
    """Media time of the microphone's audio when it was sent."""


Hears = AudioFrame | Played | Transcript


class Hearing:
    """One conversation's. A Stage: time is the count of the microphone's samples."""

    def __init__(
        self, vad: Vad, next_utterance: Callable[[], int], endpoint: Endpoint | None = None
    ) -> None:
        self._vad = vad
        self._echo = EchoGate()
        endpoint = endpoint or Endpoint()
        self.by_words = endpoint.by_words
        """Words given with the probability that they are all (Transcript.ends) help it."""
        self._turn = Turn(next_utterance, endpoint)
        self._pcm = silence(WINDOW)
        """The window before, and what came after it."""
        self._end_pts = 0
        self._played_s = -math.inf
        """When something audible was played last."""

    def push(self, item: Hears) -> list[Listened]:
        """Every microphone frame comes back, followed by what was found when it came.

        Frames must be at RATE_HZ; those of concealed silence are fine.
        """
        if isinstance(item, AudioFrame):
            return [item, *self._heard(item)]
        if isinstance(item, Played):
            self._echo.played(item.frame, item.at_s)
            if float(np.mean(item.frame.pcm**2)) > AUDIBLE:
                self._played_s = item.at_s + len(item.frame.pcm) / RATE_HZ
            return []
        return list(self._turn.understood(item))

    def _heard(self, frame: AudioFrame) -> list[SpeechEvent]:
        assert frame.rate_hz == RATE_HZ
        found: list[SpeechEvent] = []
        self._pcm = np.concatenate([self._pcm, frame.pcm])
        self._end_pts = frame.pts + len(frame.pcm)
        while len(self._pcm) >= 2 * WINDOW:
            two, self._pcm = self._pcm[: 2 * WINDOW], self._pcm[WINDOW:]
            end_s = (self._end_pts - len(self._pcm) + WINDOW) / RATE_HZ
            found += self._window(two, end_s)
        return found

    def _window(self, two: np.ndarray, end_s: float) -> list[SpeechEvent]:
        newest = two[WINDOW:]
        window = look(two, end_s, self._vad(newest), self._echo.heard(newest, end_s))
        return self._turn.heard(window, end_s - self._played_s)


async def run_hearing(
    hearing: Hearing,
    inbox: Channel[Hears],
    outbox: Outlet[Listened],
    executor: Executor,
    probe: Probe,
) -> None:
    """Run `hearing` on `executor` until `inbox` ends; what waits goes there in one batch."""
    loop = asyncio.get_running_loop()
    async for first in inbox:
        batch = [first]
        while inbox.depth and len(batch) < BATCH:
            batch.append(await inbox.receive())
        for each in await loop.run_in_executor(executor, _push_all, hearing, batch, probe):
            await outbox.send(each)


def _push_all(hearing: Hearing, batch: list[Hears], probe: Probe) -> list[Listened]:
    with probe.span():
        return [each for item in batch for each in hearing.push(item)]
