import pytest

from pipeline.hearing.endpoint import OTHER_LANGUAGE_S, Endpoint, is_backchannel
from pipeline.settings import HearingSettings


def test_the_longer_the_words_are_likely_to_go_on_the_longer_it_waits() -> None:
    texts = ("What time is it?", "What is the largest planet?", "What is the capital of?")
    whole, unsure, unfinished = map(Endpoint().wait_s, texts)
    assert whole == 0
    assert 0.5 <= unsure < unfinished


def test_what_a_language_model_expects_to_go_on_is_not_ended_at_once() -> None:
    endpoint, text = Endpoint(), "How many people are there?"
    assert endpoint.wait_s(text) == endpoint.wait_s(text, ends=0.5) == 0
    assert endpoint.wait_s(text, ends=0.03) >= 0.5


def test_a_language_model_must_be_certain_to_end_what_the_rules_hold_open() -> None:
    endpoint, text = Endpoint(), "What did Einstein win the prize for?"
    assert endpoint.wait_s(text, ends=0.9) == 0
    assert endpoint.wait_s(text, ends=0.5) == endpoint.wait_s(text) >= 1


def test_a_word_known_by_heart_needs_no_language_model() -> None:
    assert Endpoint().wait_s("Stop.", ends=0.01) == 0


def test_words_not_yet_known_are_not_a_reason_to_end() -> None:
    assert Endpoint().wait_s(None) >= 0.5


@pytest.mark.parametrize("text", ["What is the capital of France?", "What is the?", "", None])
def test_a_fixed_silence_asks_no_words(text: str | None) -> None:
    assert Endpoint(HearingSettings(fixed_silence_s=0.7)).wait_s(text) == 0.7


def test_other_languages_get_a_fixed_silence() -> None:
    assert Endpoint(language="ja-JP").wait_s("What is the capital of France?") == OTHER_LANGUAGE_S


@pytest.mark.parametrize("text", ["Mm-hmm.", "Uh-huh.", "Yeah.", "Okay, right."])
def test_noises_of_a_listener_are_told_from_answers(text: str) -> None:
    assert is_backchannel(text)


@pytest.mark.parametrize("text", ["No.", "Yeah, but why?", "Stop.", ""])
def test_anything_else_is_an_answer(text: str) -> None:
    assert not is_backchannel(text)
