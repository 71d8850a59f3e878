import numpy as np
import pytest

from pipeline.types import AudioFrame, silence
from server.bench.asking import Asked
from server.bench.judge import Judged, judge
from server.bench.questions import Question, SpokenQuestion
from server.rtc.client import Received
from server.rtc.microphone import FRAME, RATE_HZ, Said

ENDED_S = 10.0
"""When the user's speech ends in all that follows."""
QUESTION = SpokenQuestion(Question(text="?", answer=("rome",)), silence(0))


def started(at_s: float, reply: str = "one") -> Received:
    return event(at_s, "output_audio_buffer.started", response_id=reply)


def cut(at_s: float, reply: str = "one") -> Received:
    return event(at_s, "output_audio_buffer.cleared", response_id=reply)


def said(begin_s: float, text: str, reply: str = "one") -> list[Received]:
    """A word each tenth of a second."""
    kind = "response.output_audio_transcript.delta"
    return [
        event(begin_s + i / 10, kind, response_id=reply, delta=f" {word}" if i else word)
        for i, word in enumerate(text.split())
    ]


def oracle(text: str, epoch: int = 1) -> Received:
    return event(ENDED_S, "umigame.oracle", epoch=epoch, text=text)


def committed(at_s: float) -> Received:
    return event(at_s, "input_audio_buffer.committed")


def event(at_s: float, kind: str, **fields: object) -> Received:
    return Received(at_s, {"type": kind, **fields})


def heard(*told: Received, sounding: tuple[float, float] = (0.0, 99.0)) -> Judged:
    """Judged with audio that can be heard between these two times."""
    loud, quiet = np.full(FRAME, 0.1, np.float32), silence(FRAME)
    frames = [
        AudioFrame(loud if sounding[0] <= at_s < sounding[1] else quiet, RATE_HZ, 0, at_s)
        for at_s in np.arange(9.0, 15.0, 0.02)
    ]
    events = sorted(told, key=lambda each: each.at_s)
    return judge(Asked(QUESTION, Said(8.0, ENDED_S), events, frames))


def test_an_answer_begins_when_it_is_heard_not_when_it_is_announced() -> None:
    judged = heard(started(10.3), *said(10.3, "Rome is"), sounding=(10.5, 15.0))
    assert judged.first_audio_s == pytest.approx(0.5, abs=0.02)
    assert judged.first_answer_word_s == pytest.approx(0.5, abs=0.02)


def test_an_opener_is_audio_but_no_answer() -> None:
    judged = heard(started(10.2), *said(10.2, "Well, it is Rome."), oracle("It is Rome."))
    assert judged.opener
    assert judged.first_audio_s == pytest.approx(0.2, abs=0.03)
    assert judged.first_answer_word_s == pytest.approx(0.3, abs=0.03)


def test_an_answer_that_begins_like_an_opener_is_no_opener() -> None:
    judged = heard(started(10.2), *said(10.2, "Well, it is Rome."), oracle("Well, it is Rome."))
    assert not judged.opener
    assert judged.first_answer_word_s == pytest.approx(0.2, abs=0.03)


def test_what_is_taken_back_is_a_false_start_and_the_answer_begins_behind_it() -> None:
    judged = heard(started(10.2), *said(10.2, "It is Bern. Actually, Rome."))
    assert judged.false_start
    assert judged.first_audio_s == pytest.approx(0.2, abs=0.03)
    assert judged.first_answer_word_s == pytest.approx(0.6, abs=0.03)


def test_a_reply_into_the_users_pause_is_a_take_over_and_not_the_first_audio() -> None:
    judged = heard(
        committed(9.3),
        started(9.4),
        *said(9.4, "Well, it"),
        cut(9.7),
        committed(10.1),
        started(10.4, "two"),
        *said(10.4, "Rome.", "two"),
    )
    assert judged.took_over and judged.split and judged.false_start
    assert judged.first_audio_s == pytest.approx(0.4, abs=0.03)


def test_a_turn_cut_in_two_without_a_word_said_is_no_take_over() -> None:
    judged = heard(committed(9.3), committed(10.1), started(10.4), *said(10.4, "Rome."))
    assert judged.split
    assert not judged.took_over and not judged.false_start


def test_no_answer_has_no_times() -> None:
    judged = heard(committed(10.2))
    assert judged.first_audio_s is None and judged.first_answer_word_s is None
    only_opener = heard(started(10.2), *said(10.2, "Well,"))
    assert only_opener.first_audio_s is not None
    assert only_opener.first_answer_word_s is None
