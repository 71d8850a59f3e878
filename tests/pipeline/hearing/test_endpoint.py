import pytest

from pipeline.hearing.endpoint import OTHER_LANGUAGE_S, Ending, Endpoint, ending, is_backchannel
from pipeline.settings import HearingSettings


@pytest.mark.parametrize(
    "text",
    [
        "What is the capital of France?",
        "How many days are there in a week?",
        "What time is it?",
        "What sound does a cow make?",
        "Where are you from?",
        "What is it made of?",
        "Set a timer for ten minutes.",
        "What is two plus two?",
        "Tell me a joke about cats.",
        "Read me the first chapter of the book.",
        "How do I make a good cup of coffee?",
        "What do bees make?",
        "Turn the lights off.",
        "Stop.",
        "Hello!",
    ],
)
def test_a_whole_question_or_request_is_answered_at_once(text: str) -> None:
    assert ending(text) is Ending.COMPLETE
    assert Endpoint().wait_s(text) == 0


@pytest.mark.parametrize(
    "text",
    [
        "What is the capital of?",
        "What is the capital?",
        "What is the largest.",
        "How many legs does a spider?",
        "What is the?",
        "Can you?",
        "Who wrote?",
        "Where can I buy?",
        "I would like to know,",
        "And then we went to the",
        "What is seven times?",
        "How much does a litre of milk?",
        "Which animal?",
        "Which month comes after?",
        "Please turn off.",
        "What color do you get when you",
        "Wake me up at half past six,",
        "What?",
    ],
)
def test_a_sentence_that_must_go_on_gets_a_second_or_more(text: str) -> None:
    assert Endpoint().wait_s(text) >= 0.6


@pytest.mark.parametrize(
    "text", ["What is the largest planet?", "I want to go home.", "Turn left."]
)
def test_one_that_may_go_on_gets_something_in_between(text: str) -> None:
    assert ending(text) is Ending.UNSURE
    assert 0.3 <= Endpoint().wait_s(text) <= 0.9


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
