from pipeline.mailbox import Mailbox
from pipeline.types import AudioFrame, Command, OracleUpdate, SpeechEvent, SpeechKind, silence

FRAME = AudioFrame(silence(480), 24_000, 0, 0.0)


def update(epoch: int, text: str, final: bool = False) -> OracleUpdate:
    return OracleUpdate(epoch, text, final, heard_until_s=1.0, source="test")


def test_pieces_of_one_answer_are_joined_and_none_is_lost() -> None:
    mailbox = Mailbox()
    for text, final in (("The", False), (" answer", False), (".", True)):
        mailbox.oracle(update(4, text, final))
    (waiting,) = mailbox.next_input(FRAME).oracle
    assert (waiting.text, waiting.final) == ("The answer.", True)


def test_an_answer_that_is_complete_stays_so_when_more_was_heard() -> None:
    mailbox = Mailbox()
    mailbox.oracle(OracleUpdate(4, "Paris.", True, heard_until_s=1.0, source="test"))
    mailbox.oracle(OracleUpdate(4, "", False, heard_until_s=2.0, source="test"))
    (waiting,) = mailbox.next_input(FRAME).oracle
    assert (waiting.text, waiting.final, waiting.heard_until_s) == ("Paris.", True, 2.0)


def test_a_higher_epoch_clears_what_waited_and_a_lower_one_never_comes_back() -> None:
    mailbox = Mailbox()
    mailbox.oracle(update(4, "Old"))
    mailbox.oracle(update(5, "New"))
    mailbox.oracle(update(4, " old"))
    (waiting,) = mailbox.next_input(FRAME).oracle
    assert (waiting.epoch, waiting.text) == (5, "New")


def test_what_waited_rides_one_frame_only() -> None:
    mailbox = Mailbox()
    started = SpeechEvent(SpeechKind.STARTED, 1, 0.5)
    mailbox.speech(started)
    mailbox.command(Command.STOP)
    first, second = mailbox.next_input(FRAME), mailbox.next_input(FRAME)
    assert (first.speech, first.commands) == ((started,), (Command.STOP,))
    assert (second.speech, second.commands, second.oracle) == ((), (), ())
