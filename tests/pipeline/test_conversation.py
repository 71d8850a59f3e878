"""What a conversation keeps between two slots, and what it does not."""

from pipeline.clock import now
from pipeline.conversation import Conversation
from pipeline.oracle.history import History
from pipeline.oracle.oracle import Oracle
from pipeline.settings import OracleSettings
from pipeline.types import AudioFrame, SessionConfig, SpeechKind, silence
from tests.fakes.scripted_model import ScriptedModel

RATE_HZ = 24_000


def conversation() -> Conversation:
    config, settings = SessionConfig(), OracleSettings()
    history = History(settings.history_tokens)
    oracle = Oracle(ScriptedModel(["Yes."]), settings, history, config)
    return Conversation("call", config, oracle, history, now)


def next_kinds(talk: Conversation) -> list[SpeechKind]:
    """What rides the next frame."""
    frame = AudioFrame(silence(480), RATE_HZ, 0, now())
    return [event.kind for event in talk.heard_frame(frame).speech]


async def test_who_writes_before_there_is_a_place_is_answered_when_there_is() -> None:
    talk = conversation()
    talk.wrote("Are you there?")
    talk.answer_now()
    talk.attach(RATE_HZ)
    assert next_kinds(talk) == [SpeechKind.STARTED, SpeechKind.TURN_ENDED]


async def test_a_question_that_was_lost_with_its_slot_is_not_asked_of_the_next() -> None:
    talk = conversation()
    talk.attach(RATE_HZ)
    talk.wrote("Are you there?")
    talk.answer_now()
    talk.detach()
    talk.attach(RATE_HZ)
    assert next_kinds(talk) == []
