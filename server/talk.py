"""`umigame talk`: one question to a server from the terminal, over real WebRTC."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from server.rtc.client import Caller, dial
from server.rtc.microphone import RATE_HZ
from server.rtc.wav import write_wav

QUIET_S = 2.0
"""An answer is over when nothing more was said for so long: it may yet correct itself."""

TRANSCRIPT = "conversation.item.input_audio_transcription.completed"
WORD = "response.output_audio_transcript.delta"
JUST_AFTER_S = 1e-3
SPOKEN = "response.output_audio_transcript.done"


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
    question: Path, answer: Path, url: str, bearer: str | None, patience_s: float
) -> Talked:
    """Ask, wait for the end of the answer (`patience_s` at most), and write its sound.

    Raises InputError for a file that holds no sound, CallFailed.
    """
    async with dial(url, bearer=bearer) as call:
        await call.wait_for("session.created")
        said = await call.say(question)
        with suppress(TimeoutError):  # then what was heard so far is the result
            async with asyncio.timeout(patience_s):
                await _answered(call, said.ended_s)
        first_s = call.first_sound_after(said.ended_s)
        write_wav(answer, call.sound(), RATE_HZ)
        return Talked(
            heard=" ".join(transcripts(call, TRANSCRIPT)),
            said=" ".join(transcripts(call, SPOKEN)),
            response_s=None if first_s is None else round(first_s - said.ended_s, 3),
            answer=str(answer),
        )


def transcripts(call: Caller, kind: str) -> list[str]:
    """The transcripts of all events of this kind, empty ones left out."""
    found = (each.event["transcript"].strip() for each in call.events if each.type == kind)
    return [text for text in found if text]


async def _answered(call: Caller, asked_s: float) -> None:
    heard = await call.wait_for("response.done", since_s=asked_s)
    with suppress(TimeoutError):
        while True:
            async with asyncio.timeout_at(heard.at_s + QUIET_S):
                heard = await call.wait_for(WORD, since_s=heard.at_s + JUST_AFTER_S)
