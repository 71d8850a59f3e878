import numpy as np

from pipeline.frontends.voice.voice import RATE_HZ
from pipeline.settings import VoiceSettings
from tests.fakes.tone_voice import LOUDNESS, TONE_HZ, WORD_S, Caller, ToneVoice, sounding

PARIS = "The capital of France is Paris."
PATIENT = VoiceSettings(opener_after_s=1.0)


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
    caller = Caller(settings=PATIENT)
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
    caller = Caller(settings=PATIENT)
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
