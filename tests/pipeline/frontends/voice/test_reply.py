import re

from pipeline.frontends.voice.phrases import CORRECTIONS
from tests.fakes.tone_voice import Caller, ToneVoice

PARIS = "The capital of France is Paris."


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
