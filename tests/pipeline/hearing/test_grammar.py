import pytest

from pipeline.hearing.grammar import Ending, ending


@pytest.mark.parametrize(
    "text",
    [
        "What is the capital of France?",
        "How many days are there in a week?",
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
        "Who wrote The Tempest?",
        "Who are you?",
        "What's your name?",
        "What causes rain?",
        "Which planet is the hottest?",
        "Which bird has the most feathers?",
        "How many people live in Tokyo?",
        "When did the war end?",
        "When was the telephone invented?",
        "Where does honey come from?",
        "What is the square root of eighty one?",
        "Call me in the morning.",
        "What planet do we live on?",
        "What is the opposite of big?",
    ],
)
def test_a_whole_question_or_request_can_be_all(text: str) -> None:
    assert ending(text) is Ending.COMPLETE


@pytest.mark.parametrize("text", ["Stop.", "Hello!", "Tell me a joke.", "What time is it?"])
def test_turns_known_by_heart_are_sure(text: str) -> None:
    assert ending(text) is Ending.SURE


@pytest.mark.parametrize(
    "text",
    [
        "What is the capital of?",
        "What is the opposite of?",
        "What can I cook with?",
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
        "What?",
        "In which country?",
        "What language?",
        "How many days?",
        "What kind of fruit?",
        "Which of the planets?",
        "When does the next train?",
        "What is seven?",
        "What do you call?",
        "Set a reminder.",
        "Would you mind telling me?",
    ],
)
def test_a_sentence_that_must_go_on_is_not_taken_for_all_of_it(text: str) -> None:
    assert ending(text) is Ending.INCOMPLETE


@pytest.mark.parametrize(
    "text",
    [
        "What is the largest planet?",
        "Wake me up at half past six,",
        "What language do they speak?",
        "Tell me a story.",
        "I want to go home.",
        "Turn left.",
    ],
)
def test_one_that_may_go_on_is_not_sure(text: str) -> None:
    assert ending(text) is Ending.UNSURE
