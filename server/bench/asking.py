"""A question put to a server in a call of its own."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass

from pipeline.types import AudioFrame
from server.bench.questions import SpokenQuestion
from server.rtc.client import Caller, CallFailed, Received, dial
from server.rtc.microphone import Said
from server.talk import answered

SETTLE_S = 0.5
"""Nobody speaks in the very moment they are connected."""
PATIENCE_S = 20.0
"""For an answer to end."""
CALL_S = 60.0
"""No call with a single question lasts longer."""


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """What a caller saw and heard; all times are loop times."""

    spoken: SpokenQuestion
    said: Said
    events: list[Received]
    heard: list[AudioFrame]


async def ask(url: str, spoken: SpokenQuestion, mode: str, *, await_answer: bool = True) -> Asked:
    """Ask; return when the answer has ended, or else as soon as the question has.

    Raises CallFailed.
    """
    try:
        async with (
            asyncio.timeout(CALL_S),
            dial(url, session={"umigame": {"mode": mode}}) as call,
        ):
            await call.wait_for("session.created")
            await asyncio.sleep(SETTLE_S)
            return await ask_in(call, spoken, await_answer=await_answer)
    except TimeoutError as error:
        raise CallFailed("The server fell silent in the middle of a call.") from error


async def ask_in(call: Caller, spoken: SpokenQuestion, *, await_answer: bool = True) -> Asked:
    """The same in a call under way. Raises CallFailed."""
    events, heard = len(call.events), len(call.heard)
    said = await call.say(spoken.pcm)
    if await_answer:
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE_S):
                await answered(call, said.ended_s)
    return Asked(spoken, said, call.events[events:], call.heard[heard:])
