"""`umigame talk`: one question to a server from the terminal, over real WebRTC."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from server.rtc.client import Caller, Received, dial
from server.rtc.microphone import RATE_HZ
from server.rtc.wav import write_wav

QUIET_S = 2.0
"""An answer is over when nothing more was said for so long: it may yet correct itself."""

TRANSCRIPT = "conversation.item.input_audio_transcription.completed"
WORD = "response.output_audio_transcript.delta"
SPOKEN = "response.output_audio_transcript.done"
DONE = "response.done"
JUST_AFTER_S = 1e-3


@dataclass(frozen=True, slots=True)
class Talked:
    """What came of it."""

    heard: str
    """The question, as the server understood it."""
    said: str
    """The answer, as it was spoken."""
    response_s: float | None
    """From the end of the question to the first audible sample of the answer, at this end."""
    answer: str
    """The file with the answer's sound."""


async def talk(
    question: Path,
    answer: Path,
    url: str,
    bearer: str | None,
    patience_s: float,
    relay_only: bool,
) -> Talked:
    """Ask, wait for the end of the answer (`patience_s` at most), and write its sound.

    Raises InputError for a file that holds no sound, CallFailed.
    """
    async with dial(url, bearer=bearer, relay_only=relay_only) as call:
        await call.wait_for("session.created")
        said = await call.say(question)
        with suppress(TimeoutError):  # then what was heard so far is the result
            async with asyncio.timeout(patience_s):
                await answered(call, said.ended_s)
        first_s = call.first_sound_after(said.ended_s)
        write_wav(answer, call.sound(), RATE_HZ)
        return Talked(
            heard=" ".join(transcripts(call.events, TRANSCRIPT)),
            said=" ".join(transcripts(call.events, SPOKEN)),
            response_s=None if first_s is None else round(first_s - said.ended_s, 3),
            answer=str(answer),
        )


def transcripts(events: Sequence[Received], kind: str) -> list[str]:
    """The transcripts of all events of this kind, empty ones left out."""
    found = (each.event["transcript"].strip() for each in events if each.type == kind)
    return [text for text in found if text]


async def answered(call: Caller, asked_s: float) -> None:
    """Until what was asked at `asked_s` has been answered, and nothing more is said."""
    done = await call.wait_for(DONE, since_s=asked_s)
    while done.event["response"]["status"] != "completed":  # cut off: another one will come
        done = await call.wait_for(DONE, since_s=done.at_s + JUST_AFTER_S)
    with suppress(TimeoutError):
        while True:
            async with asyncio.timeout_at(done.at_s + QUIET_S):
                done = await call.wait_for(WORD, since_s=done.at_s + JUST_AFTER_S)
