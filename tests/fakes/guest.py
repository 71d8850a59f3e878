"""Somebody who calls a real server, asks, and listens to the answer with ears of their own."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import soxr

from pipeline.types import Pcm, silence
from server.rtc.client import Caller, Received, dial
from server.rtc.microphone import AUDIBLE, RATE_HZ
from server.talk import SPOKEN, TRANSCRIPT, answered, transcripts
from tests.fakes.openai_client import check

HEAR_HZ = 16_000
LONGEST_S = 180.0
"""Of a call in a test; then something hangs."""
PATIENCE_S = 60.0
"""As long, for machines that do much else beside."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a question."""

    heard: str
    """The question as the server understood it."""
    said: str
    """What the server says it said."""
    sound: Pcm
    """What was heard of it, HEAR_HZ."""


@asynccontextmanager
async def calling(url: str, **session: Any) -> AsyncIterator[Caller]:
    """A call that is connected; every event in it must be one that OpenAI's types know."""
    bearer = session.pop("bearer", None)
    async with (
        asyncio.timeout(LONGEST_S),
        dial(url, bearer=bearer, session={"umigame": session}) as call,
    ):
        try:
            await call.wait_for("session.created")
            yield call
        finally:
            check([each.event for each in call.events])


async def ask(call: Caller, question: Path) -> Answer:
    """Say it, and wait for the end of the answer."""
    events, frames = len(call.events), len(call.heard)
    said = await call.say(question)
    await _answered(call, said.ended_s)
    return answer(call, events, frames)


async def write(call: Caller, question: str) -> Answer:
    """The same, typed."""
    events, frames = len(call.events), len(call.heard)
    at_s = asyncio.get_running_loop().time()
    content = [{"type": "input_text", "text": question}]
    item = {"type": "message", "role": "user", "content": content}
    call.send({"type": "conversation.item.create", "item": item})
    call.send({"type": "response.create"})
    await _answered(call, at_s)
    return answer(call, events, frames)


def answer(call: Caller, events: int = 0, frames: int = 0) -> Answer:
    """What has come since so many events and frames."""
    new = call.events[events:]
    pcm = np.concatenate([silence(0), *(frame.pcm for frame in call.heard[frames:])])
    sound = soxr.resample(pcm, RATE_HZ, HEAR_HZ).astype(np.float32)
    return Answer(" ".join(transcripts(new, TRANSCRIPT)), " ".join(transcripts(new, SPOKEN)), sound)


async def speaking(call: Caller, since_s: float, seconds: float) -> Received:
    """Wait until a reply that begins after `since_s` has been heard for a while."""
    async with asyncio.timeout(PATIENCE_S):
        started = await call.wait_for("output_audio_buffer.started", since_s=since_s)
        await asyncio.sleep(seconds)
    return started


def types(call: Caller, since_s: float) -> list[str]:
    return [each.type for each in call.events if each.at_s >= since_s]


def silent_after(call: Caller, since_s: float, for_s: float) -> float | None:
    """When the first silence of `for_s` after `since_s` began to be heard."""
    frames = [frame for frame in call.heard if frame.arrived_s >= since_s]
    began_s = since_s
    for frame in frames:
        if float(np.abs(frame.pcm).max(initial=0)) >= AUDIBLE:
            began_s = frame.arrived_s
        elif frame.arrived_s - began_s >= for_s:
            return began_s
    return None


def share_heard(call: Caller, since_s: float, until_s: float) -> float:
    """How much of that time came as packets; the rest was not sent, or too late to be heard."""
    came = [f for f in call.heard if since_s <= f.arrived_s < until_s and not f.concealed]
    return sum(len(frame.pcm) for frame in came) / RATE_HZ / (until_s - since_s)


async def spoken_to(call: Caller) -> None:
    """Until the call has a place: who waits for one gets no packets."""
    async with asyncio.timeout(PATIENCE_S):
        while all(frame.concealed for frame in call.heard):  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def hear_oneself(call: Caller, level_db: float, late_s: float) -> None:
    """Speakers without headphones, until cancelled: the microphone picks up what is heard."""
    seen = len(call.heard)
    gain = np.float32(10 ** (level_db / 20))
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(call.say(silence(round(late_s * RATE_HZ))))
        while True:
            await asyncio.sleep(0.01)
            for frame in call.heard[seen:]:
                tasks.create_task(call.say(frame.pcm * gain))
            seen = len(call.heard)


async def _answered(call: Caller, since_s: float) -> None:
    async with asyncio.timeout(PATIENCE_S):
        await answered(call, since_s)
