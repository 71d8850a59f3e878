import re

import numpy as np
import pytest

from pipeline.frontends.voice.phrases import APOLOGY, CORRECTIONS, OPENERS
from pipeline.frontends.voice.voice import FRAME_SAMPLES, RATE_HZ
from pipeline.types import Mode
from tests.fakes.tone_voice import (
    FRAME_S,
    LOUDNESS,
    TONE_HZ,
    WORD_S,
    Caller,
    ToneVoice,
    sounding,
    words,
)

PARIS = "The capital of France is Paris."


def first_sound_s(outputs: list) -> float:  # type: ignore[type-arg]
    return next(i for i, output in enumerate(outputs) if sounding(output)) * FRAME_S


# Beginning to speak.


def test_an_answer_recorded_while_the_user_spoke_is_heard_in_the_frame_their_turn_ends() -> None:
    caller = Caller(voice=ToneVoice(delay_s=0.3))
    caller.started(1)
    caller.run(0.2)
    caller.answer(PARIS, 1, epoch=1)
    assert not any(sounding(output) for output in caller.run(1.0))
    caller.turn_ended(1)
    assert sounding(caller.step())
    caller.run(3)
    assert caller.said == PARIS


def test_a_late_answer_is_bridged_by_one_opener_and_follows_it_in_the_same_reply() -> None:
    caller = Caller()
    caller.ask(1)
    waited = caller.run(0.5)
    assert first_sound_s(waited) == pytest.approx(0.25, abs=2 * FRAME_S)
    caller.answer(PARIS, 1, epoch=1)
    caller.run(4)
    opener = caller.said[: -len(PARIS)].rstrip()
    assert opener in OPENERS
    assert caller.said.endswith(
        PARIS if opener.endswith(".") else "the capital of France is Paris."
    )


def test_an_answer_in_time_needs_no_opener() -> None:
    caller = Caller()
    caller.ask(1)
    caller.run(0.2)
    caller.answer(PARIS, 1, epoch=1)
    caller.run(4)
    assert caller.said == PARIS


def test_openers_vary_from_turn_to_turn() -> None:
    caller = Caller()
    for utterance in range(1, 6):
        caller.ask(utterance)
        caller.run(0.5)
        caller.answer("Yes.", utterance, epoch=utterance)
        caller.run(2)
    openers = [reply.text.removesuffix(" Yes.") for reply in caller.ended]
    assert set(openers) <= set(OPENERS)
    assert len(set(openers)) == 5


def test_cascade_records_nothing_before_the_turn_has_ended_and_says_no_opener() -> None:
    caller = Caller(Mode.CASCADE)
    caller.started(1)
    caller.answer(PARIS, 1, epoch=1)
    caller.run(1)
    assert len(caller.voice.asked) == caller.own_phrases
    caller.turn_ended(1)
    caller.run(4)
    caller.ask(2)
    assert not any(sounding(output) for output in caller.run(2))
    assert caller.said == PARIS


def test_words_streamed_in_pieces_are_spoken_as_one_text_without_a_gap() -> None:
    caller = Caller()
    text = "Paris is the capital. It lies on the Seine, and it has been old for 2.5 thousand years."
    caller.ask(1)
    for at in range(0, len(text), 3):
        caller.answer(text[at : at + 3], 1, epoch=1, final=False)
        caller.step()
    caller.answer("", 1, epoch=1)
    caller.run(6)
    assert caller.said == text
    speaking = [output for output in caller.outputs if output.speaking]
    assert all(sounding(output) for output in speaking)


def test_each_word_is_told_in_the_frame_in_which_its_tone_starts() -> None:
    caller = Caller()
    caller.ask(1)
    caller.answer("Red green blue white.", 1, epoch=7)
    caller.run(2)
    start = np.flatnonzero([sounding(output) for output in caller.outputs])[0] * FRAME_SAMPLES
    told = [(i, word) for i, output in enumerate(caller.outputs) for word in output.words]
    assert [word.epoch for _, word in told] == [7] * 4
    assert all(word.start_sample // FRAME_SAMPLES == frame for frame, word in told)
    starts_s = [(word.start_sample - start) / RATE_HZ for _, word in told]
    letters = 4 * WORD_S / len("Red green blue white. ")
    assert starts_s == pytest.approx([0, 4 * letters, 10 * letters, 15 * letters], abs=0.002)


def test_clauses_follow_each_other_without_a_gap_even_if_recording_one_takes_longer_than_it() -> (
    None
):
    caller = Caller(voice=ToneVoice(delay_s=0.8))
    caller.started(1)
    caller.answer("Paris is old. It is big. It is grey. It is warm.", 1, epoch=1)
    caller.run(1)
    caller.turn_ended(1)
    caller.run(0.1)
    caller.run(5)
    speaking = [output for output in caller.outputs if output.speaking]
    gaps = [output for output in speaking[int(3 * WORD_S / FRAME_S) + 15 :] if not sounding(output)]
    assert caller.said == "Paris is old. It is big. It is grey. It is warm."
    assert not gaps


# Being interrupted.


def test_it_falls_silent_in_the_frame_in_which_the_user_starts_to_speak() -> None:
    caller = Caller()
    caller.ask(1)
    caller.answer(PARIS, 1, epoch=1)
    caller.run(0.5)
    caller.started(2)
    cut = caller.step()
    assert cut.yielded
    assert not cut.speaking
    assert not any(sounding(output) for output in caller.run(3))
    assert caller.ended[-1].cut
    assert PARIS.startswith(caller.said)


def test_the_cut_fades_instead_of_clicking() -> None:
    caller = Caller()
    caller.ask(1)
    caller.answer(PARIS, 1, epoch=1)
    caller.run(0.5)
    caller.started(2)
    caller.run(0.1)
    steepest = LOUDNESS * 2 * np.pi * TONE_HZ / RATE_HZ
    assert np.abs(np.diff(caller.pcm)).max() < 1.2 * steepest


def test_a_cough_while_it_speaks_leaves_it_to_say_the_interrupted_clause_again_and_the_rest() -> (
    None
):
    caller = Caller()
    caller.ask(1)
    caller.answer("Red is warm. Blue is rather cold, I think.", 1, epoch=1)
    caller.run(0.9)
    caller.started(2)
    caller.run(0.3)
    caller.retracted(2)
    caller.run(5)
    assert caller.said == "Red is warm. Blue is|Blue is rather cold, I think."


def test_a_cough_in_the_pause_after_a_clause_does_not_make_it_repeat_itself() -> None:
    caller = Caller(voice=ToneVoice(pause_s=0.2))
    caller.ask(1)
    caller.answer("Red is warm. Blue is rather cold.", 1, epoch=1)
    caller.run(3 * WORD_S + 0.1)
    caller.started(2)
    caller.run(0.3)
    caller.retracted(2)
    caller.run(5)
    assert caller.said == "Red is warm.|Blue is rather cold."


def test_a_cough_while_it_thinks_does_not_leave_it_mute() -> None:
    caller = Caller()
    caller.ask(1)
    caller.run(0.1)
    caller.started(2)
    caller.run(0.3)
    caller.retracted(2)
    caller.answer(PARIS, 1, epoch=1)
    caller.run(3)
    assert caller.said == PARIS


def test_a_turn_taken_back_after_it_ended_gives_way_to_the_answer_it_displaced() -> None:
    caller = Caller()
    caller.ask(1)
    caller.answer(PARIS, 1, epoch=1)
    caller.run(0.5)
    caller.ask(2)
    caller.run(0.1)
    caller.retracted(2)
    caller.run(3)
    assert caller.ended[-1].text == PARIS


def test_an_answer_given_up_for_another_does_not_come_back_turns_later() -> None:
    caller = Caller()
    caller.ask(1)
    caller.answer("France is a country in the west of Europe.", 1, epoch=1)
    caller.run(0.5)
    caller.ask(2)
    caller.answer(PARIS, 2, epoch=2)
    caller.run(3)
    caller.ask(3)
    caller.run(0.1)
    caller.retracted(3)
    caller.run(5)
    assert caller.ended[-1].text == PARIS


def test_a_cough_does_not_confuse_what_has_been_said() -> None:
    caller = Caller()
    caller.ask(1)
    caller.answer(PARIS + " It is small.", 1, epoch=1)
    caller.run(0.5)
    caller.started(2)
    caller.run(0.2)
    caller.retracted(2)
    caller.run(0.5)
    caller.answer(PARIS + " It is large.", 1, epoch=2)
    caller.run(4)
    assert caller.ended[-1].text == PARIS + " It is large."


def test_a_clause_cut_by_a_cough_is_not_said_again_if_a_newer_answer_contradicts_it() -> None:
    caller = Caller()
    caller.ask(1)
    caller.answer("The capital of France is Lyon.", 1, epoch=1)
    caller.run(0.3)
    caller.answer(PARIS, 1, epoch=2)
    caller.run(0.1)
    caller.started(2)
    caller.run(0.3)
    caller.retracted(2)
    caller.run(4)
    assert caller.ended[-1].text == PARIS


def test_a_user_who_goes_on_after_a_wrongly_ended_turn_is_answered_with_the_next_oracle() -> None:
    caller = Caller()
    caller.ask(1)
    caller.answer("France is a country.", 1, epoch=1)
    caller.run(0.5)
    caller.started(2)
    caller.run(0.3)
    caller.answer("It has many cheeses.", 1, epoch=2)
    caller.run(0.3)
    caller.turn_ended(2)
    caller.run(0.1)
    caller.answer(PARIS, 2, epoch=3)
    caller.run(4)
    assert caller.ended[0].cut
    assert [reply.text for reply in caller.ended[1:]] == [PARIS]


def test_a_typed_question_interrupts_and_is_answered() -> None:
    caller = Caller()
    caller.ask(1)
    caller.answer("France is a country in the west of Europe.", 1, epoch=1)
    caller.run(0.5)
    caller.started(2)
    caller.turn_ended(2)
    assert caller.step().yielded
    caller.answer(PARIS, 2, epoch=2)
    caller.run(4)
    assert caller.ended[-1].text == PARIS


def test_stop_silences_it_and_what_comes_later_for_that_turn_is_not_said() -> None:
    caller = Caller()
    caller.ask(1)
    caller.answer("Red is warm.", 1, epoch=1, final=False)
    caller.run(0.3)
    caller.stop()
    assert caller.step().yielded
    caller.answer(" Blue is cold.", 1, epoch=1)
    assert not any(sounding(output) for output in caller.run(3))
    caller.ask(2)
    caller.answer("Yes.", 2, epoch=2)
    caller.run(2)
    assert caller.ended[-1].text == "Yes."


# A newer answer.


def test_a_newer_answer_before_any_of_the_old_was_said_replaces_it_silently() -> None:
    caller = Caller(voice=ToneVoice(delay_s=0.1))
    caller.started(1)
    caller.answer("It is Lyon.", 1, epoch=1)
    caller.step()
    caller.answer(PARIS, 1, epoch=2)
    caller.run(0.5)
    caller.turn_ended(1)
    caller.run(4)
    assert caller.said == PARIS
    assert caller.voice.cancelled == ["It is Lyon."]


def test_a_newer_answer_that_agrees_is_gone_on_with_where_the_voice_is() -> None:
    caller = Caller()
    caller.ask(1)
    caller.answer("The capital of France is Paris. It is small.", 1, epoch=1)
    caller.run(0.5)
    caller.answer("The capital of France is Paris. It is large, on the Seine.", 1, epoch=2)
    caller.run(5)
    assert caller.said == "The capital of France is Paris. It is large, on the Seine."


def test_a_newer_answer_streams_in_word_by_word_and_still_agrees() -> None:
    caller = Caller()
    caller.ask(1)
    caller.answer("The capital of France is Paris. It is small.", 1, epoch=1)
    caller.run(0.5)
    for word in re.findall(" *[^ ]+", "It's Paris, the capital of France. It is large."):
        caller.answer(word, 1, epoch=2, final=False)
        caller.step()
    caller.answer("", 1, epoch=2)
    caller.run(5)
    assert caller.said == "The capital of France is Paris. It is large."


def test_a_newer_answer_that_contradicts_is_corrected_once_after_the_clause() -> None:
    caller = Caller()
    caller.ask(1)
    caller.answer("The capital of France is Lyon. It lies on the Rhone.", 1, epoch=1)
    caller.run(0.5)
    for epoch in (2, 3):
        caller.answer(PARIS, 1, epoch=epoch)
        caller.run(0.1)
    caller.run(6)
    corrected = f"{CORRECTIONS[0]} the capital of France is Paris."
    assert caller.said == f"The capital of France is Lyon. {corrected}"


def test_after_a_correction_only_another_contradiction_is_corrected_and_in_other_words() -> None:
    caller = Caller()
    caller.ask(1)
    caller.answer("It is Lyon.", 1, epoch=1)
    caller.run(0.3)
    caller.answer("It is Paris. It is small.", 1, epoch=2)
    caller.run(1.0)
    caller.answer("It is Paris. It is large.", 1, epoch=3)
    caller.run(0.5)
    caller.answer("It is Nice.", 1, epoch=4)
    caller.run(4)
    corrected = f"It is Lyon. {CORRECTIONS[0]} it is Paris. It is large."
    assert caller.said == f"{corrected} {CORRECTIONS[1]} it is Nice."


def test_a_mere_rewording_of_what_was_said_is_not_worth_a_correction() -> None:
    caller = Caller()
    caller.ask(1)
    caller.answer(PARIS, 1, epoch=1)
    caller.run(0.5)
    caller.answer("Paris is the capital of France.", 1, epoch=2)
    caller.run(4)
    assert caller.said == PARIS


def test_a_correction_that_is_itself_superseded_in_time_is_never_begun() -> None:
    caller = Caller()
    caller.ask(1)
    caller.answer(PARIS, 1, epoch=1)
    caller.run(0.3)
    caller.answer("It is Lyon.", 1, epoch=2)
    caller.run(0.2)
    caller.answer(PARIS + " It is large.", 1, epoch=3)
    caller.run(4)
    assert caller.said == PARIS + " It is large."


def test_an_update_of_an_older_epoch_is_ignored() -> None:
    caller = Caller()
    caller.ask(1)
    caller.answer(PARIS, 1, epoch=2)
    caller.answer("It is Lyon.", 1, epoch=1)
    caller.run(4)
    assert caller.said == PARIS


# When things fail.


def test_an_llm_that_never_answers_costs_one_opener_and_one_apology_and_no_more() -> None:
    caller = Caller()
    caller.ask(1)
    caller.run(60)
    opener, apology = (reply.text for reply in caller.ended)
    assert opener in OPENERS
    assert apology == APOLOGY


def test_an_answer_that_comes_after_the_apology_is_still_said() -> None:
    caller = Caller(Mode.CASCADE)
    caller.ask(1)
    caller.run(20)
    caller.answer(PARIS, 1, epoch=1)
    caller.run(4)
    assert caller.said == f"{APOLOGY}|{PARIS}"


def test_an_llm_that_dies_in_mid_answer_ends_the_reply_and_the_next_turn_is_answered() -> None:
    caller = Caller()
    caller.ask(1)
    caller.answer("Red is warm. Blue", 1, epoch=1, final=False)
    caller.run(15)
    assert caller.said == "Red is warm."
    caller.ask(2)
    caller.answer("Yes.", 2, epoch=2)
    caller.run(2)
    assert caller.said == "Red is warm.|Yes."


def test_speech_that_was_lost_with_its_worker_is_asked_again() -> None:
    caller = Caller()
    caller.voice.failing = 2  # as when it is killed twice
    caller.ask(1)
    caller.answer(PARIS, 1, epoch=1)
    caller.run(4)
    assert caller.said == PARIS


def test_words_that_cannot_be_synthesised_are_left_out_and_the_rest_is_said() -> None:
    caller = Caller()
    caller.voice.unspeakable = "Red is warm."
    caller.ask(1)
    caller.answer("Red is warm. Blue is cold.", 1, epoch=1)
    caller.run(4)
    assert caller.said == "Blue is cold."


def test_thirty_minutes_of_talk_leave_nothing_behind() -> None:
    caller = Caller()
    for utterance in range(1, 181):
        caller.ask(utterance)
        caller.answer(f"This is answer number {utterance}.", utterance, epoch=utterance)
        caller.run(9.5)
    assert caller.now_s == pytest.approx(1800)
    assert len(caller.ended) == 180
    assert caller.ended[-1].text == "This is answer number 180."
    assert not any(reply.cut for reply in caller.ended)
    assert words(caller.outputs).count("This") == 180
