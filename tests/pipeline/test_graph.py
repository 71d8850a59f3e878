"""The media graph: whatever hearing, STT and LLM do, the voice path does not notice."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from pipeline.clock import now
from pipeline.engine.inline import InlineEngine
from pipeline.errors import ServiceError
from pipeline.events import Heard, Overload, ServiceState, Speech
from pipeline.stage import Into
from pipeline.stt.choice import SttChoice
from pipeline.types import Pcm, SpeechKind, StepInput, StepOutput, silence
from tests.fakes.front_ends import Echo
from tests.fakes.scripted_stt import ScriptedStt
from tests.fakes.sender import packets, speech
from tests.fakes.slow_engine import SlowEngine
from tests.fakes.talk import Talk, microphone, talking

QUESTION = "What is the capital of France?"


class Parrot(Echo):
    """Says what it heard two seconds ago: longer than any echo that hearing knows as its own."""

    def __init__(self) -> None:
        super().__init__()
        self._heard = deque(silence(480) for _ in range(100))

    def step(self, inputs: Mapping[int, StepInput]) -> Mapping[int, StepOutput]:
        self._heard.extend(output.pcm for output in super().step(inputs).values())
        return {index: StepOutput(self._heard.popleft()) for index in inputs}


async def echoed(stt: ScriptedStt, *, speaks: bool = True) -> tuple[list[float], Pcm]:
    """When a caller to a parrot was sent something, and what."""
    talk, began_s = Talk(InlineEngine(Parrot()), stt), now()
    async with talking(talk):
        await talk.peer.say(microphone(12.0, 0.5, 4.0, 8.0))
        talk.peer.to_send = Into(lambda packet: None)  # how a call ends is not compared
    assert bool(talk.told(Heard)) is speaks
    return [at_s - began_s for at_s, _ in talk.peer.heard], talk.peer.sound()


def stalls(stt: ScriptedStt) -> None:
    stt.stalled = True


def dies(stt: ScriptedStt) -> None:
    stt.breaks = ServiceError("stt", "The model is gone.")


@pytest.mark.parametrize("trouble", [stalls, dies])
async def test_an_stt_that_stalls_or_dies_is_not_heard(
    trouble: Callable[[ScriptedStt], None],
) -> None:
    well, ill = ScriptedStt(QUESTION), ScriptedStt(QUESTION)
    trouble(ill)
    times, sound = await echoed(well)
    times_then, sound_then = await echoed(ill, speaks=trouble is dies)
    assert times_then == pytest.approx(times)
    assert np.array_equal(sound, sound_then)


async def test_an_stt_that_breaks_in_mid_call_is_told_and_hears_again() -> None:
    stt = ScriptedStt(QUESTION)
    talk = Talk(InlineEngine(Parrot()), stt)
    async with talking(talk):
        saying = asyncio.create_task(talk.peer.say(microphone(12.0, 0.5, 4.0, 8.0)))
        await asyncio.sleep(4.5)
        stt.breaks = ServiceError("stt", "The stream broke.")
        await saying
    states = [state for state in talk.told(ServiceState) if state.service == "stt"]
    assert states == [ServiceState("stt", False, "The stream broke."), ServiceState("stt", True)]
    finals = [each.transcript for each in talk.told(Heard) if each.transcript.final]
    assert [finals[0].text, finals[-1].text] == [QUESTION, QUESTION]
    assert finals[-1].start_s > 7.5, "the third question"
    sent = [at_s for at_s, _ in talk.peer.heard]
    assert max(b - a for a, b in pairwise(sent)) < 0.03, "the voice paused"


async def test_another_stt_takes_over_in_mid_call_and_the_voice_goes_on() -> None:
    stts = {"local": ScriptedStt("Here is one."), "google": ScriptedStt("Here is another.")}
    talk = Talk(InlineEngine(Parrot()), SttChoice(stts))
    async with talking(talk):
        saying = asyncio.create_task(talk.peer.say(microphone(12.0, 0.5, 4.0, 8.0)))
        await asyncio.sleep(7.0)
        talk.conversation.configure(replace(talk.conversation.config, stt="google"), "stt")
        await saying
    finals = [each.transcript.text for each in talk.told(Heard) if each.transcript.final]
    assert (finals[0], finals[-1]) == ("Here is one.", "Here is another.")
    assert not [state for state in talk.told(ServiceState) if state.service == "stt"]
    sent = [at_s for at_s, _ in talk.peer.heard]
    assert max(b - a for a, b in pairwise(sent)) < 0.03, "the voice paused"


async def test_an_stt_that_stands_still_loses_audio_which_is_told_and_ends_no_turn_later() -> None:
    stt = ScriptedStt(QUESTION)
    talk = Talk(InlineEngine(Parrot()), stt)
    async with talking(talk):
        stt.stalled = True
        asked = microphone(30.0, *np.arange(0.5, 28.0, 4.0))
        await talk.peer.say(asked)
    ended = [each for each in talk.told(Speech) if each.event.kind is SpeechKind.TURN_ENDED]
    assert len(ended) >= 7
    assert sum(each.frames for each in talk.told(Overload) if each.where == "stt") > 200
    assert {each.where for each in talk.told(Overload)} == {"stt"}


class Reader(Echo):
    """Reads from a book, whatever it hears."""

    def __init__(self) -> None:
        super().__init__()
        self._book = iter(4 * speech(20.0).reshape(-1, 480))

    def step(self, inputs: Mapping[int, StepInput]) -> Mapping[int, StepOutput]:
        return {index: StepOutput(next(self._book)) for index in inputs}


@pytest.mark.parametrize(
    ("late_s", "known"), [(0.05, True), (0.15, True), (0.5, True), (1.5, False)]
)
async def test_a_caller_with_speakers_is_not_heard_to_say_what_we_say(
    late_s: float, known: bool
) -> None:
    """Later than hearing looks for it, an echo is taken for somebody: that is what is at stake."""
    talk = Talk(InlineEngine(Reader()))
    async with talking(talk):
        await talk.peer.listen_by_speakers(8.0, level_db=-20, late_s=late_s)
    assert bool(talk.told(Speech)) is not known


async def test_a_caller_who_is_silent_for_a_while_is_no_overload() -> None:
    talk, said = Talk(InlineEngine(Echo())), packets(speech(2.0))
    async with talking(talk):
        await talk.peer.say(said)
        await asyncio.sleep(5.0)
        await talk.peer.say(said)
        await asyncio.sleep(1.5)
    assert talk.told(Overload) == []
    assert len(talk.peer.heard) / 50 == pytest.approx(10.5, abs=0.1)


@asynccontextmanager
async def slowly_echoed(step_s: float) -> AsyncIterator[tuple[Talk, SlowEngine]]:
    engine = SlowEngine(Echo(), step_s)
    running = asyncio.create_task(engine.run())
    async with talking(Talk(engine)) as talk:
        yield talk, engine
    running.cancel()


async def test_a_front_end_slower_than_speech_never_lags_far_behind_which_is_told() -> None:
    """It takes 90 ms for each 80 ms of speech (kyutai-labs/moshi#229)."""
    said = speech(20.0)
    async with slowly_echoed(0.0225) as (talk, _):
        await talk.peer.say(packets(said))
    lags_s = [talk.peer.delay_s(said, from_s) for from_s in (3.0, 10.0, 17.0)]
    assert max(lags_s) < 0.5
    assert {each.where for each in talk.told(Overload)} == {"engine"}
    surplus = (1 - 80 / 90) * 20.0 * 50
    assert sum(each.frames for each in talk.told(Overload)) == pytest.approx(surplus, rel=0.3)


async def test_a_front_end_that_stood_still_for_five_seconds_is_soon_heard_without_lag() -> None:
    said = speech(20.0)
    async with slowly_echoed(0.001) as (talk, engine):
        saying = asyncio.create_task(talk.peer.say(packets(said)))
        await asyncio.sleep(6.0)
        engine.step_s = 5.0
        await asyncio.sleep(0.1)
        engine.step_s = 0.001
        await saying
    assert talk.peer.delay_s(said, 4.0) == pytest.approx(0.02, abs=0.002)
    assert max(talk.peer.delay_s(said, from_s) for from_s in (14.0, 17.0)) < 0.1
    assert sum(each.frames for each in talk.told(Overload)) == pytest.approx(250, abs=25)


async def test_packets_that_come_too_late_to_be_played_are_told_of() -> None:
    talk, said = Talk(InlineEngine(Echo())), packets(speech(8.0))
    async with talking(talk):
        await talk.peer.say(said[:100])
        await asyncio.sleep(0.5)
        for packet in said[100:120]:
            talk.peer.received.offer(packet)
        await asyncio.sleep(2.0)
    overloads = talk.told(Overload)
    assert {each.where for each in overloads} == {"jitter"}
    assert sum(each.frames for each in overloads) == pytest.approx(18, abs=3)
