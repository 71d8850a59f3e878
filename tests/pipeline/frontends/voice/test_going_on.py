"""Voice, oracle and history together: users who go on, stop it, or want an answer once more."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from pipeline.clock import now
from pipeline.conversation import Conversation
from pipeline.events import OracleAsked, ReplyEnded, ReplyWord
from pipeline.frontends.voice.phrases import OPENERS
from pipeline.frontends.voice.voice import FRAME_SAMPLES, RATE_HZ, VoiceFrontEnd
from pipeline.oracle.history import History
from pipeline.oracle.oracle import Oracle
from pipeline.oracle.race import alone
from pipeline.settings import OracleSettings, VoiceSettings
from pipeline.stage import Into
from pipeline.types import (
    AudioFrame,
    Message,
    SessionConfig,
    SpeechEvent,
    SpeechKind,
    Transcript,
    silence,
)
from tests.fakes.scripted_model import ScriptedModel
from tests.fakes.tone_voice import FRAME_S, ToneVoice

ASKED = "What is the capital of France?"
PARIS = "The capital of France is Paris."
HAMLET = "It was written by Shakespeare."


class Dialogue:
    """A conversation whose caller speaks and hears with no network in between."""

    def __init__(self, model: ScriptedModel) -> None:
        self.model = model
        self.history = History(600)
        oracle = Oracle(alone(model), OracleSettings(), self.history, SessionConfig())
        self.conversation = Conversation("call", SessionConfig(), oracle, self.history, now)
        self._front_end = VoiceFrontEnd(VoiceSettings(), ToneVoice())
        for _ in range(10):
            self._front_end.step({})
        self._front_end.open(0, SessionConfig(seed=0))
        self.conversation.attach(RATE_HZ)
        self._frames = 0

    @property
    def now_s(self) -> float:
        return self._frames * FRAME_S

    async def run(self, seconds: float) -> None:
        for _ in range(round(seconds / FRAME_S)):
            await asyncio.sleep(FRAME_S)
            self._step()

    def _step(self) -> None:
        start = self._frames * FRAME_SAMPLES
        frame = AudioFrame(silence(FRAME_SAMPLES), RATE_HZ, start, now())
        output = self._front_end.step({0: self.conversation.heard_frame(frame)})[0]
        self._frames += 1
        if output.yielded:
            self.conversation.cut(start)
        self.conversation.spoke(output)
        self.conversation.sent(start + FRAME_SAMPLES)

    async def say(self, text: str, utterance: int) -> None:
        """Half a second of speech whose turn ends at once."""
        self.event(SpeechKind.STARTED, utterance)
        await self.run(0.5)
        end_s = self.now_s
        self.event(SpeechKind.STOPPED, utterance)
        self.event(SpeechKind.TURN_ENDED, utterance)
        self.conversation.heard_words(Transcript(text, end_s - 0.5, end_s, True, utterance))

    def event(self, kind: SpeechKind, utterance: int) -> None:
        self.conversation.heard_speech(SpeechEvent(kind, utterance, self.now_s))

    @property
    def replies(self) -> list[ReplyEnded]:
        happened = self.conversation.timeline
        return [each.event for each in happened if isinstance(each.event, ReplyEnded)]

    @property
    def asked(self) -> list[str]:
        """The user's words in each request."""
        happened = self.conversation.timeline
        return [each.event.prompt for each in happened if isinstance(each.event, OracleAsked)]

    @property
    def last_word_s(self) -> float:
        happened = self.conversation.timeline
        return max(each.at_s for each in happened if isinstance(each.event, ReplyWord))


@asynccontextmanager
async def dialogue(*answers: list[str | float]) -> AsyncIterator[Dialogue]:
    made = Dialogue(ScriptedModel(*answers))
    oracle = asyncio.create_task(
        made.conversation.oracle.run(Into(made.conversation.oracle_news)), name="oracle"
    )
    yield made
    oracle.cancel()
    await asyncio.wait([oracle])


def answer_of(reply: ReplyEnded) -> str:
    """What it said, without an opener."""
    for opener in OPENERS:
        if reply.text.startswith(opener):
            text = reply.text.removeprefix(opener).strip()
            return text[:1].upper() + text[1:]
    return reply.text


async def test_a_user_who_goes_on_during_the_first_words_has_asked_one_thing() -> None:
    async with dialogue([PARIS], [HAMLET]) as talk:
        await talk.say("Who wrote the play", 1)
        await talk.run(0.7)
        await talk.say("about the prince of Denmark?", 2)
        heard_until_s = talk.last_word_s
        await talk.run(5)
    first, second = talk.replies
    assert first.cut
    assert heard_until_s <= 0.5 + 0.7 + FRAME_S, "it went on while the user did"
    assert answer_of(second) == HAMLET
    whole = "Who wrote the play about the prince of Denmark?"
    assert talk.asked[-1] == whole
    assert talk.history.messages() == (
        Message("user", whole),
        Message("assistant", second.text),
    )


async def test_a_user_who_goes_on_during_the_opener_has_asked_one_thing() -> None:
    async with dialogue([5.0, PARIS], [0.3, HAMLET]) as talk:
        await talk.say("Who wrote the play", 1)
        await talk.run(0.2)
        await talk.say("about the prince of Denmark?", 2)
        await talk.run(8)
    first, second = talk.replies
    assert first.text in OPENERS and first.cut
    assert answer_of(second) == HAMLET
    assert talk.asked[-1] == "Who wrote the play about the prince of Denmark?"
    assert [message.role for message in talk.history.messages()] == ["user", "assistant"]


async def test_what_was_cut_off_does_not_come_back_after_a_cough_in_the_next_answer() -> None:
    async with dialogue([PARIS], [HAMLET]) as talk:
        await talk.say("Who wrote the play", 1)
        await talk.run(0.7)
        await talk.say("about the prince of Denmark?", 2)
        await talk.run(0.3)
        talk.event(SpeechKind.STARTED, 3)
        await talk.run(0.2)
        talk.event(SpeechKind.RETRACTED, 3)
        await talk.run(6)
    assert all("Paris" not in reply.text for reply in talk.replies)
    assert answer_of(talk.replies[-1]) == HAMLET


async def test_an_answer_that_was_said_is_said_once_more_on_demand() -> None:
    async with dialogue([PARIS]) as talk:
        await talk.say(ASKED, 1)
        await talk.run(4)
        talk.conversation.answer_now()
        await talk.run(4)
    assert [answer_of(reply) for reply in talk.replies] == [PARIS, PARIS]
    assert talk.asked == [ASKED, ASKED]
    assert talk.model.prompts[-1][-1] == Message("user", ASKED)


async def test_an_answer_that_was_stopped_is_said_from_its_start_on_demand() -> None:
    async with dialogue([PARIS]) as talk:
        await talk.say(ASKED, 1)
        await talk.run(1.0)
        talk.conversation.stop()
        await talk.run(3)
        talk.conversation.answer_now()
        await talk.run(4)
    assert [reply.cut for reply in talk.replies] == [True, False]
    assert answer_of(talk.replies[-1]) == PARIS


async def test_a_cough_does_not_keep_an_answer_on_demand_from_being_said() -> None:
    async with dialogue([PARIS]) as talk:
        await talk.say(ASKED, 1)
        await talk.run(4)
        talk.event(SpeechKind.STARTED, 2)
        talk.event(SpeechKind.RETRACTED, 2)
        await talk.run(1)
        talk.conversation.answer_now()
        await talk.run(4)
    assert [answer_of(reply) for reply in talk.replies] == [PARIS, PARIS]


async def test_who_wants_an_answer_before_saying_anything_is_greeted() -> None:
    async with dialogue(["Hi there."]) as talk:
        talk.conversation.answer_now()
        await talk.run(4)
    assert [answer_of(reply) for reply in talk.replies] == ["Hi there."]
    assert talk.model.prompts[-1][-1].role == "user"
