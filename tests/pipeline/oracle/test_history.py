import itertools

from pipeline.oracle.history import History, tokens
from pipeline.types import Message


def said(history: History, utterance: int = 0, text: str = "") -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in history.messages(utterance, text)]


def test_roles_alternate_and_the_words_being_asked_come_last() -> None:
    history = History(1000)
    history.heard(1, "What is the capital of France?")
    history.played(1, "The capital of France is Paris.")
    assert said(history, 2, "And of Spain") == [
        ("user", "What is the capital of France?"),
        ("assistant", "The capital of France is Paris."),
        ("user", "And of Spain"),
    ]


def test_the_asked_words_replace_an_older_hearing_of_the_same_utterance() -> None:
    history = History(1000)
    history.heard(1, "What is the cap")
    assert said(history, 1, "What is the capital?") == [("user", "What is the capital?")]


def test_a_user_who_goes_on_before_they_are_answered_has_said_one_thing() -> None:
    history = History(1000)
    history.heard(1, "How many legs")
    assert said(history, 2, "does a spider have?") == [
        ("user", "How many legs does a spider have?")
    ]


def test_an_answer_cut_off_at_its_first_words_does_not_split_the_question() -> None:
    history = History(1000)
    history.heard(1, "How many legs")
    history.played(1, " Let me", complete=False)
    assert said(history, 2, "does a spider have?") == [
        ("user", "How many legs does a spider have?")
    ]


def test_an_interrupted_answer_holds_what_was_played() -> None:
    history = History(1000)
    history.heard(1, "Tell me about whales")
    history.played(1, "The blue whale is the largest", complete=False)
    assert said(history, 2, "Thanks")[1] == ("assistant", "The blue whale is the largest")


def test_one_word_can_be_a_whole_answer() -> None:
    history = History(1000)
    history.heard(1, "Capital of France?")
    history.played(1, "Paris.")
    assert ("assistant", "Paris.") in said(history)


def test_a_reply_keeps_its_place_while_it_grows() -> None:
    history = History(1000)
    history.heard(1, "Tell me about whales")
    history.played(1, "The blue whale is", complete=False)
    history.heard(2, "Thanks")
    history.played(1, "The blue whale is large.", complete=True)
    assert [role for role, _ in said(history)] == ["user", "assistant", "user"]


def test_an_utterance_is_owed_an_answer_until_one_is_said_to_its_end() -> None:
    history = History(1000)
    history.heard(1, "Tell me about whales")
    assert history.owes(1)
    history.played(1, "The blue", complete=False)
    assert history.owes(1)
    history.played(1, "The blue whale.")
    assert not history.owes(1)
    history.heard(2, "Thanks")
    assert history.owes(2) and not history.owes(1)


def test_what_was_retracted_is_forgotten() -> None:
    history = History(1000)
    history.heard(1, "Mm-hm")
    history.retracted(1)
    assert said(history) == []


def test_an_hour_of_talk_stays_within_the_budget_and_keeps_the_newest() -> None:
    history = History(200)
    for turn in range(1, 500):
        history.heard(turn, f"This is question number {turn}, what do you say to it?")
        history.played(turn, f"This is answer number {turn}.")
        assert sum(tokens(message.text) for message in history.messages()) <= 200
    assert history.messages()[-1] == Message("assistant", "This is answer number 499.")


def test_the_front_of_the_history_changes_seldom_for_the_prompt_cache() -> None:
    history = History(400)
    fronts = []
    for turn in range(1, 101):
        history.heard(turn, f"This is question number {turn}, what do you say to it?")
        history.played(turn, f"This is answer number {turn}.")
        fronts.append(history.messages()[0])
    changes = sum(one != other for one, other in itertools.pairwise(fronts))
    assert changes <= 15
