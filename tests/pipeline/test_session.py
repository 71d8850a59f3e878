"""Whole sessions on the virtual clock: who is heard, what is said, and what goes wrong."""

import asyncio
import gc
import sys
from collections import deque
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from pipeline.channel import Channel
from pipeline.clock import now
from pipeline.engine.inline import InlineEngine
from pipeline.errors import EngineError, EngineFull
from pipeline.events import Fate, Latency, OracleFate, Overload, ReplyEnded, Speech
from pipeline.hearing.speech import WINDOW_S, Onset
from pipeline.types import Message, OpusPacket, Pcm, SessionConfig, Slot, SpeechKind
from tests.fakes.far_side import RATE_HZ
from tests.fakes.front_ends import Echo
from tests.fakes.scripted_model import ScriptedModel
from tests.fakes.sender import packets, speech
from tests.fakes.talk import Talk, microphone, question, talking, voice_engine
from tests.fakes.tone_voice import LOUDNESS

PARIS = "The capital of France is Paris, a city of two million people on the river Seine."
ASKED = Message("user", "What is the capital of France?")
CONFIRM_S = Onset.NEED * WINDOW_S
"""How long hearing listens before it believes that somebody speaks."""
ASKED_S = len(question()) / 16_000


def later(said: Sequence[OpusPacket], turn: int) -> list[OpusPacket]:
    """The same once more, by a microphone that never paused."""
    return [
        replace(
            packet,
            sequence=packet.sequence + turn * len(said),
            timestamp=packet.timestamp + turn * len(said) * 960,
        )
        for packet in said
    ]


async def test_a_spoken_question_is_heard_answered_and_remembered_in_order() -> None:
    talk = Talk(voice_engine(), model=ScriptedModel([PARIS]))
    async with talking(talk):
        await talk.peer.say(microphone(10.0, 0.5))
    kinds = [each.event.kind for each in talk.told(Speech)]
    assert kinds[0] is SpeechKind.STARTED and kinds.count(SpeechKind.TURN_ENDED) == 1
    assert [reply.text for reply in talk.told(ReplyEnded)] == [PARIS]
    assert talk.messages() == (ASKED, Message("assistant", PARIS))
    assert OracleFate(2, Fate.USED, len(PARIS.split())) in talk.told(OracleFate)
    assert talk.told(Overload) == []


class SlowToOpen(InlineEngine):
    async def open(self, config: SessionConfig) -> Slot:
        await asyncio.sleep(0.6)
        return await super().open(config)


async def test_who_speaks_before_there_is_a_slot_is_heard_from_the_first_word_on() -> None:
    talk = Talk(SlowToOpen(Echo()))
    async with talking(talk):
        await talk.peer.say(microphone(4.0, 0.0))
    first, *_, last = (each.event for each in talk.told(Speech))
    assert (first.kind, last.kind) == (SpeechKind.STARTED, SpeechKind.TURN_ENDED)
    assert last.at_s - first.at_s == pytest.approx(ASKED_S, abs=0.05)
    assert {each.where for each in talk.told(Overload)} <= {"playout"}, "it echoes in a burst"


async def test_a_user_who_interrupts_silences_the_reply_within_the_budget() -> None:
    """From the onset of real speech to the last sample of the reply that leaves."""
    talk, onset_s = Talk(voice_engine(), model=ScriptedModel([PARIS])), 4.0
    async with talking(talk):
        began_s = now()
        await talk.peer.say(microphone(onset_s + ASKED_S, 0.5, onset_s))
    sound = talk.peer.sound()
    times = [sent_s - began_s for sent_s, _ in talk.peer.heard]
    loud = [at for at, sent_s in enumerate(times) if _loudness(sound, at) > 0.1 * LOUDNESS]
    assert any(times[at] < onset_s for at in loud), "nothing was being said"
    stopped_s = times[loud[-1]] - onset_s
    print(f"the reply fell silent {1000 * stopped_s:.0f} ms after the onset")
    assert 0 < stopped_s <= 0.2 + CONFIRM_S
    reply = talk.told(ReplyEnded)[-1]
    assert reply.cut and 0 < len(reply.text.split()) < len(PARIS.split())
    assert talk.messages()[:2] == (ASKED, Message("assistant", reply.text))
    unsaid = len(PARIS.split()) - len(reply.text.split())
    assert talk.told(OracleFate)[-1] == OracleFate(2, Fate.SUPERSEDED, unsaid)


async def test_what_is_typed_while_a_reply_is_spoken_cuts_it_and_is_answered() -> None:
    talk = Talk(voice_engine(), model=ScriptedModel([PARIS], [PARIS], ["Eight legs."]))
    async with talking(talk):
        saying = asyncio.create_task(talk.peer.say(microphone(10.0, 0.5)))
        await asyncio.sleep(4.0)
        assert talk.conversation.speaking
        talk.conversation.wrote("How many legs has a spider?")
        talk.conversation.answer_now()
        await saying
    first, last = talk.told(ReplyEnded)[0], talk.told(ReplyEnded)[-1]
    assert first.cut and not last.cut and last.text.strip().endswith("Eight legs.")
    roles = [message.role for message in talk.messages()]
    assert roles == ["user", "assistant", "user", "assistant"]
    assert talk.messages()[2].text == "How many legs has a spider?"


async def test_a_reply_to_what_is_typed_by_somebody_who_speaks_yields_to_their_speech() -> None:
    talk, onset_s, typed_s = Talk(voice_engine(), model=ScriptedModel(*[[PARIS]] * 6)), 3.66, 4.03
    async with talking(talk):
        began_s = now()
        saying = asyncio.create_task(talk.peer.say(microphone(onset_s + 1.0, 0.5, onset_s)))
        await asyncio.sleep(typed_s)
        talk.conversation.answer_now()
        await saying
    sound = talk.peer.sound()
    times = [sent_s - began_s for sent_s, _ in talk.peer.heard]
    loud_s = [at_s for at, at_s in enumerate(times) if _loudness(sound, at) > 0.1 * LOUDNESS]
    said_s = [at_s for at_s in loud_s if at_s > typed_s]
    assert said_s, "it was never said"
    assert said_s[-1] - said_s[0] <= 0.2 + CONFIRM_S


async def test_hanging_up_in_mid_reply_remembers_only_what_was_played() -> None:
    talk = Talk(voice_engine(), model=ScriptedModel([PARIS]))
    async with talking(talk):
        await talk.peer.say(microphone(4.5, 0.5))
        assert talk.conversation.speaking
    assert not talk.conversation.speaking
    (reply,) = talk.told(ReplyEnded)
    assert reply.cut and reply.text.strip() == talk.messages()[-1].text
    assert 0 < len(reply.text.split()) < len(PARIS.split())
    assert talk.engine.load().live == 0


async def test_a_front_end_that_dies_ends_the_session_with_the_cause_and_frees_the_slot() -> None:
    front_end = Echo()
    talk = Talk(InlineEngine(front_end))
    with pytest.RaisesGroup(pytest.RaisesExc(EngineError, match="out of memory")):
        async with talking(talk):
            await talk.peer.say(packets(speech(2.0)))
            front_end.poison = 0.0
            await asyncio.sleep(1.0)
    assert talk.engine.load().live == 0


async def test_an_error_in_one_session_is_not_the_other_s_and_gives_the_slot_back() -> None:
    def broken(window: Pcm) -> float:
        raise ZeroDivisionError

    engine, said = InlineEngine(Echo(slots=2)), packets(speech(4.0))
    good, bad = Talk(engine), Talk(engine)
    bad.vad = broken
    async with talking(good):
        saying = asyncio.create_task(good.peer.say(said))
        with pytest.RaisesGroup(ZeroDivisionError, flatten_subgroups=True):
            async with talking(bad):
                await bad.peer.say(said)
        assert engine.load().live == 1
        await saying
    assert engine.load().live == 0
    assert len(good.peer.heard) == pytest.approx(200, abs=3)


async def test_one_caller_too_many_is_told_so_and_no_other_is_disturbed() -> None:
    engine, said = InlineEngine(Echo(slots=1)), packets(speech(2.0))
    first, second = Talk(engine), Talk(engine)
    async with talking(first):
        with pytest.RaisesGroup(EngineFull, flatten_subgroups=True):
            async with talking(second):
                await first.peer.say(said)
        assert engine.load().live == 1


async def test_four_minutes_later_nothing_has_grown() -> None:
    """At 8 kHz, to be quick: no rule depends on the rate."""
    front_end = Echo()
    front_end.info = replace(front_end.info, rate_hz=8_000, frame_samples=160)
    talk = Talk(InlineEngine(front_end))
    talk.peer.heard, talk.happened = deque(maxlen=50), deque(maxlen=50)
    said = packets(speech(10.0))
    seen: list[tuple[int, int, float]] = []
    async with talking(talk):
        for turn in range(24):
            await talk.peer.say(later(said, turn))
            if turn in (5, 23):
                gc.collect()
                waiting = sum(each.depth for each in gc.get_objects() if isinstance(each, Channel))
                seen.append((sys.getallocatedblocks(), waiting, talk.told(Latency)[-1].server_s))
    (blocks, *before), (blocks_after, *after) = seen
    assert before == after
    assert blocks_after - blocks < 2_000, "a frame kept would be 9000"


def _loudness(sound: np.ndarray, packet: int) -> float:
    return float(np.abs(sound[packet * RATE_HZ // 50 : (packet + 1) * RATE_HZ // 50]).max())
