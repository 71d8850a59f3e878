"""The real STT, on what browsers really sent."""

import asyncio
import os
import threading
from collections.abc import Iterator

import numpy as np
import pytest
from jiwer import wer

from pipeline.channel import Channel
from pipeline.errors import ServiceError
from pipeline.stage import Into
from pipeline.stt.face import Listened
from pipeline.stt.local import MoonshineStt
from pipeline.types import Pcm, SessionConfig, SpeechEvent, SpeechKind, Transcript
from tests.fakes.sounds import RATE_HZ, frames, recorded, scene, words_of

NAMES = ["capital", "week", "mic-16k", "stereo-44k", "dtx", "pause"]


@pytest.fixture(scope="module")
def stt() -> Iterator[MoonshineStt]:
    speech_to_text = MoonshineStt()
    yield speech_to_text
    speech_to_text.close()


def plain(text: str) -> str:
    return "".join(c for c in text.lower() if c.isalnum() or c.isspace())


def dictated(pcm: Pcm, utterance: int = 1) -> list[Listened]:
    """A whole turn as hearing would pass it on."""
    spoken = list[Listened](frames(pcm))
    loud = [f.pts for f in frames(pcm) if np.abs(f.pcm).max() > 0.02]
    first = next(i for i, f in enumerate(frames(pcm)) if f.pts >= loud[0])
    stop_s = loud[-1] / RATE_HZ + 0.02
    spoken.insert(first + 8, SpeechEvent(SpeechKind.STARTED, utterance, loud[0] / RATE_HZ))
    for kind in (SpeechKind.STOPPED, SpeechKind.TURN_ENDED):
        spoken.append(SpeechEvent(kind, utterance, stop_s))
    return spoken


async def transcribed(stt: MoonshineStt, items: list[Listened]) -> list[Transcript]:
    inbox, out = Channel[Listened]("stt", len(items)), list[Transcript]()
    task = asyncio.create_task(stt.transcribe(SessionConfig(), inbox, Into(out.append)))
    for item in items:
        inbox.offer(item)
        if isinstance(item, SpeechEvent):
            await asyncio.sleep(0.01)
    inbox.close()
    await task
    return out


@pytest.mark.parametrize("name", NAMES)
async def test_questions_are_understood(stt: MoonshineStt, name: str) -> None:
    out = await transcribed(stt, dictated(recorded(name)))
    assert [t.final for t in out].count(True) == 1
    assert wer(plain(words_of(name)), plain(out[-1].text)) <= 0.15


async def test_two_conversations_at_once_hear_their_own_words(stt: MoonshineStt) -> None:
    names = NAMES[:4]
    heard = await asyncio.gather(*(transcribed(stt, dictated(recorded(n))) for n in names))
    for name, out in zip(names, heard, strict=True):
        assert wer(plain(words_of(name)), plain(out[-1].text)) <= 0.15


async def test_silence_has_no_words(stt: MoonshineStt) -> None:
    quiet = list[Listened](frames(scene(1.0)))
    events = [SpeechEvent(kind, 1, 0.5) for kind in SpeechKind if kind is not SpeechKind.RETRACTED]
    out = await transcribed(stt, [events[0], *quiet, *events[1:]])
    assert [t.text for t in out if t.final] == [""]


async def test_a_cancelled_conversation_leaves_the_model_to_the_others(stt: MoonshineStt) -> None:
    inbox = Channel[Listened]("stt", 1_000)
    for item in dictated(recorded("pause")):
        inbox.offer(item)
    task = asyncio.create_task(stt.transcribe(SessionConfig(), inbox, Into(print)))
    await asyncio.sleep(0.02)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    out = await transcribed(stt, dictated(recorded("week")))
    assert "week" in out[-1].text


async def test_a_model_that_fails_is_a_service_error() -> None:
    class Broken:
        def decode(self, pcm: Pcm) -> str:
            raise ServiceError("stt", "the model fell over")

    broken = MoonshineStt(Broken())
    with pytest.raises(ServiceError):
        await transcribed(broken, dictated(recorded("week")))
    broken.close()


async def test_decoding_gives_way_to_sound_on_its_way() -> None:
    class Overheard:
        def decode(self, pcm: Pcm) -> str:
            here = threading.get_native_id()
            return f"niceness {os.getpriority(os.PRIO_PROCESS, here)}"

    overheard, ours = MoonshineStt(Overheard()), os.getpriority(os.PRIO_PROCESS, 0)
    out = await transcribed(overheard, dictated(recorded("week")))
    assert int(out[-1].text.split()[-1]) > ours
    overheard.close()
