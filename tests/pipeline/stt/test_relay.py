"""Which audio is sent to which stream and what text comes of it, whatever the streams do.

The recogniser is a pure one that knows words by their tones (tests/fakes/tone_words.py).
"""

from collections.abc import Callable

import numpy as np
import pytest

from pipeline.stt.streams import Done, Over, Times
from pipeline.types import SpeechKind, silence
from tests.fakes.exchange import BROKEN, TIMES, Exchange, result
from tests.fakes.tone_words import RATE_HZ, sentence, words


def test_each_turn_gets_its_words_and_one_final() -> None:
    call = Exchange().quiet(1.0).turn(sentence(1, 5)).quiet(2.0).turn(sentence(6, 4), 2)
    assert call.finals == [words(1, 5), words(6, 4)]
    assert [each.utterance for each in call.told if each.final] == [1, 2]
    assert call.streams == {}


def test_words_are_told_while_they_are_spoken() -> None:
    call = Exchange().turn(sentence(1, 10))
    partials = [each for each in call.told if not each.final]
    assert len({each.text for each in partials}) >= 5
    assert all(each.end_s - each.start_s <= 10 * 0.16 + 0.7 for each in partials)


def test_silence_is_sent_to_nobody() -> None:
    call = Exchange().quiet(60.0).turn(sentence(1, 5)).quiet(60.0)
    assert sum(call.sent.values()) < 3.0 * RATE_HZ


def test_the_first_word_is_kept_though_its_onset_was_noticed_late() -> None:
    call = Exchange().quiet(600.0)
    call.hear(sentence(1, 3)).tell(SpeechKind.STARTED, ago_s=0.4).hear(sentence(4, 3))
    call.quiet(0.1).tell(SpeechKind.STOPPED, ago_s=0.1).tell(SpeechKind.TURN_ENDED, ago_s=0.1)
    assert call.finals == [words(1, 6)]


def test_the_preroll_does_not_reach_into_the_turn_before() -> None:
    call = Exchange().hear(sentence(1, 1)).tell(SpeechKind.STARTED, ago_s=0.1)
    call.hear(sentence(2, 3)).tell(SpeechKind.TURN_ENDED)
    call.turn(sentence(5, 3), 2)
    assert call.finals == [words(1, 4), words(5, 3)]


@pytest.mark.parametrize("gap_s", [0.0, 0.04, 0.2])
@pytest.mark.parametrize("lives_s", [0.5, 0.73, 1.1])
def test_streams_that_are_broken_off_twenty_times_lose_and_double_no_word(
    gap_s: float, lives_s: float
) -> None:
    call = Exchange(Times(proven=0.4))
    call.lives_s = lives_s
    count = round(20 * lives_s / (0.12 + gap_s))
    pcm = np.concatenate([sentence(1 + n % 60, 1, gap_s) for n in range(count)])
    call.turn(pcm)
    assert len(call.opened) >= 20
    assert call.finals == [" ".join(words(1 + n % 60, 1) for n in range(count))]
    assert not call.failed


@pytest.mark.parametrize("lives_s", [0.73, 1.9])
def test_words_that_nobody_settles_survive_though_the_audio_is_not_kept_for_ever(
    lives_s: float,
) -> None:
    call = Exchange(Times(proven=0.4, replay=3.0, overlap=1.0))
    call.lives_s = lives_s
    call.turn(np.concatenate([sentence(1 + n % 60, 1, 0.0) for n in range(150)]))
    assert call.finals == [" ".join(words(1 + n % 60, 1) for n in range(150))]


@pytest.mark.parametrize("limit_s", [1.0, 1.37, 2.2])
def test_streams_are_renewed_in_time_in_speech_without_a_pause(limit_s: float) -> None:
    call = Exchange(Times(renew=limit_s * 0.8, limit=limit_s, overlap=0.6))
    call.lives_s = limit_s + 0.1
    count = round(20 * limit_s / 0.12)
    call.turn(np.concatenate([sentence(1 + n % 60, 1, 0.0) for n in range(count)]))
    assert len(call.opened) >= 20
    assert call.finals == [" ".join(words(1 + n % 60, 1) for n in range(count))]
    assert max(call.sent.values()) <= (limit_s + 0.7) * RATE_HZ


def test_an_old_stream_that_breaks_off_behind_its_audio_is_made_up_for() -> None:
    call = Exchange(Times(renew=3.0, limit=3.0, overlap=0.5))
    call.hear(sentence(1, 1)).tell(SpeechKind.STARTED, ago_s=0.16).hear(sentence(2, 10))
    call.mute.add(1)
    call.hear(sentence(12, 20)).tell(SpeechKind.TURN_ENDED)
    assert len(call.opened) == 3
    assert call.finals == [words(1, 31)]


def test_an_old_stream_is_renewed_where_its_words_are_settled() -> None:
    spoken = [each for n in range(6) for each in (sentence(1 + 5 * n, 5), silence(4800))]
    call = Exchange(Times(renew=2.0, limit=100.0)).turn(np.concatenate(spoken))
    assert len(call.opened) == 3
    assert call.finals == [words(1, 30)]


def test_no_partial_takes_back_what_was_told_while_a_new_stream_catches_up() -> None:
    call = Exchange(Times(proven=0.5))
    call.hear(sentence(1, 1)).tell(SpeechKind.STARTED, ago_s=0.16).hear(sentence(2, 12))
    call.lose(call.opened[-1][0])
    call.hear(sentence(14, 5))
    lengths = [len(each.text.split()) for each in call.told]
    assert lengths == sorted(lengths)


def test_a_stream_that_fails_at_once_is_told_and_its_audio_is_kept() -> None:
    call = Exchange().hear(sentence(1, 1)).tell(SpeechKind.STARTED, ago_s=0.16)
    call.lose(1)
    assert call.failed == [BROKEN]
    call.relay.forget_streams()
    call.hear(sentence(2, 5))
    call.do(call.relay.reopen(call.now))
    call.hear(sentence(7, 2)).quiet(0.1).tell(SpeechKind.TURN_ENDED, ago_s=0.1)
    assert call.finals == [words(1, 8)]


def test_a_turn_that_ended_while_nobody_listened_is_heard_afterwards() -> None:
    call = Exchange().hear(sentence(1, 1)).tell(SpeechKind.STARTED, ago_s=0.16)
    call.lose(1)
    call.relay.forget_streams()
    call.hear(sentence(2, 5)).tell(SpeechKind.STOPPED).quiet(0.5)
    call.tell(SpeechKind.TURN_ENDED, ago_s=0.5).quiet(3.0)
    assert call.finals == []
    call.do(call.relay.reopen(call.now))
    assert call.finals == [words(1, 6)]


def test_a_turn_of_half_a_minute_ago_is_not_waited_for() -> None:
    call = Exchange().hear(sentence(1, 1)).tell(SpeechKind.STARTED, ago_s=0.16)
    call.hear(sentence(2, 5)).lose(1)
    call.relay.forget_streams()
    call.tell(SpeechKind.TURN_ENDED)
    call.now += 40.0
    call.do(call.relay.reopen(call.now))
    assert call.finals == [words(1, 6)], "what had been understood is not thrown away"


def test_speech_without_results_is_a_failure_and_only_once_in_an_utterance() -> None:
    call = Exchange()
    call.dead = True
    call.hear(sentence(1, 1)).tell(SpeechKind.STARTED, ago_s=0.16).hear(sentence(2, 45))
    assert [error.message for error in call.failed] == [
        "The STT takes in speech but gives no results."
    ]
    call.relay.forget_streams()
    call.do(call.relay.reopen(call.now))
    call.hear(sentence(1, 50)).tell(SpeechKind.TURN_ENDED)
    assert len(call.failed) == 1


def test_a_final_that_does_not_come_is_waited_for_a_little_while() -> None:
    call = Exchange().hear(sentence(1, 1)).tell(SpeechKind.STARTED, ago_s=0.16)
    call.hear(sentence(2, 5))
    call.dead = True
    call.tell(SpeechKind.TURN_ENDED)
    deadline = call.relay.deadline()
    assert deadline == call.now + TIMES.final
    call.now = deadline
    call.do(call.relay.poll(call.now))
    assert call.finals == [words(1, 6)]
    assert call.streams == {}


def test_a_final_that_must_be_told_before_a_new_stream_has_caught_up_keeps_what_was_told() -> None:
    call = Exchange(Times(proven=0.5)).hear(sentence(1, 1)).tell(SpeechKind.STARTED, ago_s=0.16)
    call.hear(sentence(2, 9))
    call.dead = True
    call.lose(1)
    call.tell(SpeechKind.TURN_ENDED)
    call.now += TIMES.final
    call.do(call.relay.poll(call.now))
    if not call.finals:  # it was asked once more
        call.do(call.relay.reopen(call.now))
        call.now += TIMES.final
        call.do(call.relay.poll(call.now))
    assert call.finals == [words(1, 10)]


def test_the_words_there_are_hold_up_to_the_stop_if_none_come_after_it() -> None:
    call = Exchange().hear(sentence(1, 1)).tell(SpeechKind.STARTED, ago_s=0.16)
    call.hear(sentence(2, 5))
    call.dead = True  # no audio after the last word changes what Google says
    call.quiet(0.1)
    stop_s = call.media_s
    call.tell(SpeechKind.STOPPED).quiet(TIMES.settle - 0.04)
    assert call.told[-1].end_s < stop_s
    call.quiet(0.06)
    assert call.told[-1].end_s == stop_s and call.told[-1].text == words(1, 6)


def test_what_is_taken_back_gets_no_final_and_its_stream_is_dropped() -> None:
    call = Exchange().hear(sentence(1, 1)).tell(SpeechKind.STARTED).hear(sentence(2, 3))
    call.tell(SpeechKind.STOPPED).tell(SpeechKind.RETRACTED).quiet(1.0)
    assert call.finals == [] and call.streams == {}


def test_a_turn_begun_before_we_listened_still_gets_its_final() -> None:
    call = Exchange().tell(SpeechKind.TURN_ENDED, 7)
    assert [(each.utterance, each.text) for each in call.told] == [(7, "")]


def test_finals_come_in_the_order_of_the_turns() -> None:
    call = Exchange()
    hold: Callable[[int], bool] = call.streams.__contains__
    call.dead = True
    call.hear(sentence(1, 1)).tell(SpeechKind.STARTED, 1, 0.16).tell(SpeechKind.TURN_ENDED, 1)
    first = call.opened[-1][0]
    call.dead = False
    call.turn(sentence(3, 2), 2)
    assert hold(first) and call.finals == []
    call.streams[first].finish()
    call.do(call.relay.push(result(first, call.streams[first]), call.now))
    call.lose(first, None)
    assert call.finals == [words(1, 1), words(3, 2)]


def test_a_call_that_is_over_waits_for_the_final_it_is_owed_and_no_longer() -> None:
    call = Exchange().hear(sentence(1, 1)).tell(SpeechKind.STARTED, 1, 0.16)
    call.hear(sentence(2, 3))
    call.dead = True
    call.tell(SpeechKind.TURN_ENDED, 1)
    assert call.relay.push(Over(), call.now) == []
    assert call.relay.poll(call.now + TIMES.final)[-1] == Done()


def test_a_call_that_is_over_in_mid_sentence_waits_for_nothing() -> None:
    call = Exchange().hear(sentence(1, 1)).tell(SpeechKind.STARTED, 1, 0.16)
    assert call.relay.push(Over(), call.now) == [Done()]
