import numpy as np
import pytest

from pipeline.errors import InputError
from pipeline.frontends.voice.phrases import APOLOGY, OPENERS
from pipeline.frontends.voice.voice import FRAME_SAMPLES, RATE_HZ
from pipeline.settings import VoiceSettings
from pipeline.types import Mode, SessionConfig, StepOutput
from tests.fakes.tone_voice import FRAME_S, WORD_S, Caller, ToneVoice, sounding, words

PARIS = "The capital of France is Paris."
PATIENT = VoiceSettings(opener_after_s=1.0)


def first_sound_s(outputs: list[StepOutput]) -> float:
    return next(i for i, output in enumerate(outputs) if sounding(output)) * FRAME_S


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


def test_an_answer_to_half_a_question_is_not_said_and_makes_way_for_the_one_to_all_of_it() -> None:
    caller = Caller(settings=PATIENT)
    caller.started(1)
    caller.run(0.5)
    caller.answer("The capital is Lisbon.", 1, epoch=1, heard_until_s=0.5)
    caller.run(0.5)
    caller.stopped(1)
    caller.turn_ended(1)
    caller.run(0.2)
    caller.answer(PARIS, 1, epoch=2, heard_until_s=1.0)
    caller.run(4)
    assert caller.said == PARIS


def test_an_answer_is_heard_in_the_frame_that_confirms_that_it_knows_all() -> None:
    caller = Caller(settings=PATIENT)
    caller.started(1)
    caller.answer(PARIS, 1, epoch=1, heard_until_s=0.4)
    caller.run(1.0)
    caller.stopped(1)
    caller.turn_ended(1)
    assert not any(sounding(output) for output in caller.run(0.1))
    caller.confirm(1, epoch=1)
    assert sounding(caller.step())
    caller.run(3)
    assert caller.said == PARIS


def test_while_an_answer_is_not_sure_to_know_all_an_opener_bridges_the_wait() -> None:
    caller = Caller()
    caller.started(1)
    caller.answer(PARIS, 1, epoch=1, heard_until_s=0.4)
    caller.run(1.0)
    caller.stopped(1)
    caller.turn_ended(1)
    caller.run(0.7)
    caller.confirm(1, epoch=1)
    caller.run(4)
    opener = next(each for each in OPENERS if caller.said.startswith(each))
    assert caller.said.removeprefix(opener).strip().lower() == PARIS.lower()


def test_an_answer_that_is_never_confirmed_is_said_in_the_end() -> None:
    caller = Caller()
    caller.started(1)
    caller.answer(PARIS, 1, epoch=1, heard_until_s=0.4)
    caller.run(1.0)
    caller.stopped(1)
    caller.turn_ended(1)
    caller.run(8)
    assert caller.said.lower().endswith(PARIS.lower())


def test_a_late_answer_is_bridged_by_one_opener_and_follows_it_in_the_same_reply() -> None:
    caller = Caller()
    caller.ask(1)
    waited = caller.run(0.5)
    assert first_sound_s(waited) == pytest.approx(0.12, abs=2 * FRAME_S)
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
    caller.run(0.06)
    caller.answer(PARIS, 1, epoch=1)
    caller.run(4)
    assert caller.said == PARIS


def test_an_answer_that_is_being_recorded_is_worth_a_short_wait_instead_of_an_opener() -> None:
    caller = Caller(voice=ToneVoice(delay_s=0.1))
    caller.ask(1)
    caller.run(0.1)
    caller.answer(PARIS, 1, epoch=1)
    caller.run(4)
    assert caller.said == PARIS


def test_an_answer_whose_recording_takes_long_is_bridged_all_the_same() -> None:
    caller = Caller(voice=ToneVoice(delay_s=0.18))
    caller.ask(1)
    caller.run(0.1)
    caller.answer(PARIS, 1, epoch=1)
    caller.run(4)
    assert caller.said.startswith(OPENERS)


def test_callers_who_come_one_after_another_hear_different_openers() -> None:
    caller = Caller()
    for call in range(1, 4):
        caller.front_end.close(0)
        caller.front_end.open(0, SessionConfig())
        caller.ask(call)
        caller.run(1)
        caller.stop()
        caller.run(0.1)
    assert len({reply.text for reply in caller.ended}) == 3


def test_the_wait_for_an_opener_counts_from_where_the_user_fell_silent() -> None:
    caller = Caller()
    caller.started(1)
    caller.run(1.0)
    caller.stopped(1)
    assert not any(sounding(output) for output in caller.run(0.8))
    caller.turn_ended(1)
    assert sounding(caller.step())


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
    caller = Caller(settings=PATIENT)
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


def test_a_number_takes_its_time_before_the_next_word_is_told() -> None:
    caller = Caller()
    caller.ask(1)
    caller.answer("It was 1969 in all.", 1, epoch=1)
    caller.run(2)
    starts = [word.start_sample for output in caller.outputs for word in output.words]
    it, number, after = starts[0], starts[2], starts[3]
    assert after - number > 2 * (number - it)


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


def test_it_refuses_to_speak_without_an_oracle_and_names_the_other_modes() -> None:
    with pytest.raises(InputError, match="tandem or cascade"):
        Caller(Mode.S2S)


def test_what_was_being_recorded_for_a_caller_who_left_is_cancelled() -> None:
    caller = Caller(voice=ToneVoice(delay_s=5))
    caller.ask(1)
    caller.answer(PARIS, 1, epoch=1)
    caller.step()
    caller.front_end.close(0)
    assert PARIS in caller.voice.cancelled
