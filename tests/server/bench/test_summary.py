from server.bench.judge import Judged
from server.bench.readback import holds
from server.bench.summary import Verdict, summary


def verdict(first_s: float | None, *, paused: bool = False, took_over: bool = False) -> Verdict:
    judged = Judged(first_s, first_s, took_over, took_over, False, took_over)
    return Verdict(judged, answered=first_s is not None, paused=paused)


def test_percentiles_are_of_what_was_heard_and_rates_of_paused_questions_alone() -> None:
    plain = [verdict(0.1), verdict(0.3), verdict(0.2), verdict(None)]
    paused = [verdict(0.2, paused=True, took_over=taken) for taken in (True, False, False, False)]
    result = summary([*plain, *paused], fixed_silence_s=None)
    assert (result.questions, result.answered, result.false_starts) == (8, 7, 1)
    assert result.first_audio_ms.p50 == 200
    assert result.pause_takeover_rate == 0.25


def test_without_paused_questions_or_answers_there_are_no_figures_to_be_had() -> None:
    result = summary([verdict(None)], fixed_silence_s=0.5)
    assert result.pause_takeover_rate is None
    assert result.first_audio_ms.p50 is None


def test_a_call_that_failed_is_a_question_without_an_answer_and_nothing_else() -> None:
    result = summary([verdict(0.2), Verdict(None, answered=False, paused=True)], None)
    assert (result.questions, result.answered, result.failed_calls) == (2, 1, 1)
    assert result.first_audio_ms.p50 == 200
    assert result.pause_takeover_rate is None


def test_an_answer_counts_only_with_the_whole_expected_word() -> None:
    assert holds("It has Eight, legs.", ["eight", "8"])
    assert not holds("It has eighteen legs.", ["eight", "8"])
