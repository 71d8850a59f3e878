"""A conversation by itself: what it remembers, hands on and tells."""

from pipeline.clock import now
from pipeline.conversation import Conversation
from pipeline.engine.outputs import WAITING, Outputs
from pipeline.events import Fate, OracleFate, ReplyEnded
from pipeline.oracle.history import History
from pipeline.oracle.oracle import Oracle
from pipeline.oracle.race import alone
from pipeline.settings import OracleSettings
from pipeline.types import (
    AudioFrame,
    OracleUpdate,
    SessionConfig,
    Slot,
    SpeechKind,
    StepOutput,
    Transcript,
    Word,
    silence,
)
from tests.fakes.scripted_model import ScriptedModel

FRAME = 480


def conversation() -> tuple[Conversation, History]:
    config, history = SessionConfig(), History(600)
    oracle = Oracle(alone(ScriptedModel(["Yes."])), OracleSettings(), history, config)
    made = Conversation("call", config, oracle, history, now)
    return made, history


def next_kinds(talk: Conversation) -> list[SpeechKind]:
    """What rides the next frame."""
    frame = AudioFrame(silence(FRAME), 24_000, 0, now())
    return [event.kind for event in talk.heard_frame(frame).speech]


def says(
    talk: Conversation, frame: int, *words: str, epoch: int = 1, speaking: bool = True
) -> None:
    start = frame * FRAME
    said = tuple(Word(word, epoch, start) for word in words)
    talk.spoke(StepOutput(silence(FRAME), said, speaking, start_sample=start))


def partial(text: str, utterance: int, *, final: bool = False) -> Transcript:
    return Transcript(text, 0.0, 1.0, final, utterance)


async def test_a_question_stands_before_a_reply_that_began_on_a_partial() -> None:
    talk, history = conversation()
    talk.attach(24_000)
    talk.heard_words(partial("How many", 1))
    says(talk, 0, "Eight.")
    talk.sent(FRAME)
    talk.heard_words(partial("How many legs?", 1, final=True))
    says(talk, 1, speaking=False)
    talk.sent(2 * FRAME)
    said = [(message.role, message.text) for message in history.messages()]
    assert said == [("user", "How many legs?"), ("assistant", "Eight.")]


async def test_words_end_up_used_late_or_superseded() -> None:
    talk, _ = conversation()
    talk.attach(24_000)
    talk.oracle_news(OracleUpdate(1, "One two three", True, 0.0, "fake"))
    says(talk, 0, "One", " two")
    talk.sent(FRAME)
    talk.oracle_news(OracleUpdate(2, "Four five", True, 0.0, "fake"))
    says(talk, 1, "Four", epoch=2)
    says(talk, 2, speaking=False)
    talk.sent(3 * FRAME)
    fates = [h.event for h in talk.timeline if isinstance(h.event, OracleFate)]
    assert fates == [
        OracleFate(1, Fate.USED, 2),
        OracleFate(1, Fate.SUPERSEDED, 1),
        OracleFate(2, Fate.LATE, 1),
        OracleFate(2, Fate.SUPERSEDED, 1),
    ]


async def test_who_writes_before_there_is_a_place_is_answered_when_there_is() -> None:
    talk, _ = conversation()
    talk.wrote("Are you there?")
    talk.answer_now()
    talk.attach(24_000)
    assert next_kinds(talk) == [SpeechKind.STARTED, SpeechKind.TURN_ENDED]


async def test_a_question_that_was_lost_with_its_slot_is_not_asked_of_the_next() -> None:
    talk, _ = conversation()
    talk.attach(24_000)
    talk.wrote("Are you there?")
    talk.answer_now()
    talk.detach()
    talk.attach(24_000)
    assert next_kinds(talk) == []


async def test_frames_lost_by_a_loop_that_stood_still_shift_no_word_and_no_end_of_a_reply() -> None:
    talk, _ = conversation()
    talk.attach(24_000)
    outputs, slot = Outputs(), Slot(0, 1)
    outputs.open(slot)
    total = 2 * WAITING
    channel = outputs.of(slot)
    for frame in range(total):
        word = (Word(f" {frame}", 1, frame * FRAME),)
        outputs.deliver({slot: StepOutput(silence(FRAME), word, True, frame == 3, frame * FRAME)})
    channel.close()
    left = [output async for output in channel]
    assert left[0].yielded and channel.dropped == total - WAITING
    for output in left:
        talk.spoke(output)
    talk.sent(60 * FRAME)
    talk.cut(60 * FRAME)
    (ended,) = [h.event for h in talk.timeline if isinstance(h.event, ReplyEnded)]
    assert ended.text.split()[-1] == "59", "the word that was playing"
