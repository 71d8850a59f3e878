from pipeline.events import ReplyEnded, ReplyStarted, ReplyWord
from pipeline.replies import Replies
from pipeline.types import StepOutput, Word, silence

FRAME = 480
RATE_HZ = 24_000


def speak(replies: Replies, frame: int, *words: str, speaking: bool = True) -> None:
    start = frame * FRAME
    said = tuple(Word(text, epoch=1, start_sample=start) for text in words)
    replies.spoke(StepOutput(silence(FRAME), said, speaking, start_sample=start))


def test_a_reply_is_told_as_it_leaves_and_not_before() -> None:
    replies = Replies(RATE_HZ)
    speak(replies, 0, "Hello")
    speak(replies, 1, " there.")
    speak(replies, 2, speaking=False)
    assert replies.sent(FRAME, utterance=3, response_s=0.2) == [
        ReplyStarted(1, 3, 0.2),
        ReplyWord(1, "Hello", 1),
    ]
    assert replies.audible
    assert replies.sent(3 * FRAME, utterance=3) == [
        ReplyWord(1, " there.", 1),
        ReplyEnded(1, "Hello there.", cut=False, played_s=0.04),
    ]
    assert not replies.audible


def test_a_reply_that_is_cut_holds_only_words_that_started_to_play() -> None:
    replies = Replies(RATE_HZ)
    for frame, word in enumerate(("One", " two", " three")):
        speak(replies, frame, word)
    replies.sent(FRAME, utterance=1)
    events = replies.cut(FRAME + FRAME // 2)
    assert events[-1] == ReplyEnded(1, "One two", cut=True, played_s=0.03)
    assert replies.sent(10 * FRAME, utterance=1) == []


def test_speech_after_a_cut_is_a_new_reply() -> None:
    replies = Replies(RATE_HZ)
    speak(replies, 0, "One")
    replies.sent(FRAME, utterance=1)
    replies.cut(FRAME)
    speak(replies, 5, "Two")
    assert replies.sent(6 * FRAME, utterance=2)[0] == ReplyStarted(2, 2, None)


def test_a_reply_cut_before_any_of_it_left_was_never_there() -> None:
    replies = Replies(RATE_HZ)
    speak(replies, 1, "One")
    assert replies.cut(0) == []
