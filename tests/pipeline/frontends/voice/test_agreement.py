import pytest

from pipeline.frontends.voice.agreement import Verdict, agreement

UNDECIDED, CONTRADICTS = Verdict.UNDECIDED, Verdict.CONTRADICTS


@pytest.mark.parametrize(
    ("said", "newer", "rest"),
    [
        ("The capital is", "The capital is Paris.", " Paris."),
        ("the capital is,", "The capital is: Paris.", " Paris."),
        ("It's the capital, Paris.", "Paris is the capital. It is big.", " It is big."),
        ("The capital is Paris.", "The capital city is Paris. It is big.", " It is big."),
        ("Paris is the capital of France.", "Paris.", ""),
        ("Sure.", "Sure, I can.", " I can."),
        ("", "Paris.", "Paris."),
    ],
)
def test_an_answer_that_agrees_is_gone_on_with_behind_what_was_said(
    said: str, newer: str, rest: str
) -> None:
    at = agreement(said.split(), newer, final=True)
    assert isinstance(at, int)
    assert newer[at:] == rest


@pytest.mark.parametrize(
    ("said", "newer"),
    [
        ("The capital is Lyon.", "The capital is Paris."),
        ("It takes 3 hours.", "It takes 5 hours."),
        ("It is not Paris.", "It is Paris."),
        ("It is Paris.", "It is not Paris."),
        ("Yes.", "No, it isn't."),
        ("You can eat it raw.", "You can't eat it raw."),
        ("Bananas are berries.", "Strawberries grow on the ground."),
    ],
)
def test_an_answer_that_says_something_else_contradicts(said: str, newer: str) -> None:
    assert agreement(said.split(), newer, final=True) is CONTRADICTS


def test_nothing_is_decided_before_enough_of_the_newer_answer_is_there() -> None:
    said = ["The", "capital", "of", "France", "is", "Paris."]
    for newer in ("", "The", "The capital ", "Paris is the "):
        assert agreement(said, newer, final=False) is UNDECIDED


def test_a_word_that_may_go_on_is_not_compared_yet() -> None:
    assert agreement(["Par"], "Paris", final=False) is UNDECIDED
    assert agreement(["Paris"], "Par", final=False) is UNDECIDED
