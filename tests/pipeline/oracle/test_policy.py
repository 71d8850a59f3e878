import math

from pipeline.events import Typed
from pipeline.oracle.policy import (
    Action,
    Answered,
    AnswerNow,
    Ask,
    Cancel,
    Confirm,
    Failed,
    Policy,
)
from pipeline.settings import OracleSettings
from pipeline.types import Mode, SpeechEvent, SpeechKind, Transcript

SETTINGS = OracleSettings(
    partial_interval_s=0.5, partial_words=3, retry_s=1.0, retry_cap_s=4.0, give_up_s=10.0
)


class Talk:
    """Feeds a policy as a call does, and collects what it does."""

    def __init__(
        self, mode: Mode = Mode.TANDEM, *, owes: bool = True, language: str = "en-US"
    ) -> None:
        self.policy = Policy(SETTINGS, lambda utterance: owes, mode, language)
        self.now = 0.0
        self.actions: list[Action] = []

    def at(self, now: float) -> "Talk":
        """Let time pass, with the polls that become due on the way."""
        while (due := self.policy.deadline()) is not None and due <= now:
            self.actions += self.policy.poll(due)
        self.now = now
        return self

    def speech(self, kind: SpeechKind, utterance: int = 1) -> None:
        self.actions += self.policy.push(SpeechEvent(kind, utterance, self.now), self.now)

    def partial(self, text: str, utterance: int = 1, *, final: bool = False) -> None:
        heard = Transcript(text, 0.0, self.now, final, utterance)
        self.actions += self.policy.push(heard, self.now)

    def failed(self, epoch: int, retry_after_s: float = 0.0) -> None:
        self.actions += self.policy.push(Failed(epoch, retry_after_s), self.now)

    @property
    def asked(self) -> list[str]:
        return [action.text for action in self.actions if isinstance(action, Ask)]


def test_it_asks_while_the_user_speaks_and_not_again_for_an_equal_final() -> None:
    talk = Talk()
    talk.at(0.3).speech(SpeechKind.STARTED)
    talk.at(0.6).partial("What")
    talk.at(1.1).partial("What is the capital of Fran")
    talk.at(1.7).partial("What is the capital of French Guiana")
    talk.at(1.9).speech(SpeechKind.STOPPED)
    talk.at(2.2).speech(SpeechKind.TURN_ENDED)
    talk.at(2.5).partial("what is the capital of French Guiana?", final=True)
    assert talk.asked == ["What is the capital of Fran", "What is the capital of French Guiana"]
    epochs = [action.epoch for action in talk.actions if isinstance(action, Ask)]
    assert epochs == [1, 2]
    assert Cancel(1) in talk.actions


def test_half_a_sentence_is_not_asked_unless_the_user_falls_silent() -> None:
    talk = Talk()
    talk.speech(SpeechKind.STARTED)
    talk.at(1.0).partial("How many legs does a spider")
    assert talk.asked == []
    talk.at(1.2).speech(SpeechKind.STOPPED)
    assert talk.asked == ["How many legs does a spider"]


def test_a_partial_that_turns_into_half_a_sentence_before_it_is_due_is_not_asked() -> None:
    talk = Talk()
    for at_s, text in ((1.0, ""), (1.2, " in England"), (1.3, " in England and"), (5.0, "")):
        talk.at(at_s).partial(f"Who wrote the tempest{text}")
    assert talk.asked == ["Who wrote the tempest"]


def test_a_failed_question_is_repeated_though_the_sentence_goes_on() -> None:
    talk = Talk()
    talk.at(1.0).partial("Who wrote the tempest")
    talk.failed(1)
    for at_s, text in ((1.2, " and"), (1.3, ""), (5.0, "")):
        talk.at(at_s).partial(f"Who wrote the tempest{text}")
    assert talk.asked == ["Who wrote the tempest"] * 2


def test_partials_are_asked_at_a_budgeted_rate_with_the_newest_words() -> None:
    talk = Talk()
    talk.speech(SpeechKind.STARTED)
    said = "tell me how many legs the common garden spider really has today"
    for number in range(3, len(said.split()) + 1):
        talk.at(number * 0.1).partial(" ".join(said.split()[:number]))
    talk.at(10.0)
    assert [text.split()[-1] for text in talk.asked] == ["legs", "spider", "today"]


def test_rewording_punctuation_and_case_are_no_reason_to_ask_while_they_speak() -> None:
    talk = Talk()
    talk.at(1.0).partial("Who wrote the tempest")
    talk.at(2.0).partial("Who wrote, the Tempest,")
    talk.at(3.0).partial("Who rode the tempest")
    talk.at(9.0)
    assert talk.asked == ["Who wrote the tempest"]


def test_a_final_that_says_something_else_is_asked_and_replaces_the_partial() -> None:
    talk = Talk()
    talk.speech(SpeechKind.STARTED)
    talk.at(1.0).partial("What is the capital of Fran")
    talk.at(1.1).speech(SpeechKind.TURN_ENDED)
    talk.at(1.4).partial("What is the capital of France?", final=True)
    assert talk.actions[-2:] == [Cancel(1), Ask(2, 1, "What is the capital of France?", 1.4)]


def test_the_same_words_heard_again_confirm_the_answer_that_is_there_or_coming() -> None:
    talk = Talk()
    talk.speech(SpeechKind.STARTED)
    talk.at(1.0).partial("What is the capital of France")
    talk.at(1.4).partial("What is the capital of France?")
    talk.at(1.5).speech(SpeechKind.STOPPED)
    talk.policy.push(Answered(1), 1.6)
    talk.at(1.7).partial("what is the capital of France?", final=True)
    assert talk.actions[1:] == [Confirm(1, 1, 1.4), Confirm(1, 1, 1.7)]


def test_a_question_typed_has_nothing_more_to_be_heard() -> None:
    talk = Talk()
    (ask,) = talk.policy.push(Typed("Who wrote Hamlet?", 1), 0.0)
    assert isinstance(ask, Ask) and ask.heard_until_s == math.inf


def test_the_words_heard_when_the_user_falls_silent_are_asked_at_once() -> None:
    talk = Talk()
    talk.speech(SpeechKind.STARTED)
    talk.at(1.0).partial("How many legs does")
    talk.at(1.1).partial("How many legs does a spider have")
    talk.at(1.15).speech(SpeechKind.STOPPED)
    assert talk.asked[-1] == "How many legs does a spider have"
    talk.at(1.2).partial("How many legs does a spider have then")
    assert talk.asked[-1] == "How many legs does a spider have then"


def test_a_short_word_is_asked_once_the_user_is_silent() -> None:
    talk = Talk()
    talk.speech(SpeechKind.STARTED)
    talk.at(0.3).partial("Hello")
    assert talk.asked == []
    talk.at(0.5).speech(SpeechKind.STOPPED)
    assert talk.asked == ["Hello"]


def test_an_empty_final_asks_nothing() -> None:
    talk = Talk()
    talk.speech(SpeechKind.TURN_ENDED)
    talk.partial("", final=True)
    talk.partial(" . ", final=True)
    talk.at(60.0)
    assert talk.actions == []


def test_a_cascade_asks_only_what_is_final() -> None:
    talk = Talk(Mode.CASCADE)
    talk.speech(SpeechKind.STARTED)
    talk.at(1.0).partial("What is the capital of")
    talk.at(2.0).speech(SpeechKind.TURN_ENDED)
    talk.at(2.3).partial("What is the capital of France?", final=True)
    assert talk.actions == [Ask(1, 1, "What is the capital of France?", 2.3)]


def test_the_front_end_alone_never_asks() -> None:
    talk = Talk(Mode.S2S)
    talk.partial("What is the capital of France?", final=True)
    talk.actions += talk.policy.push(Typed("Hello", 2), 1.0)
    talk.actions += talk.policy.push(AnswerNow(), 1.0)
    assert talk.actions == []


def test_a_hum_gives_back_the_question_it_pushed_aside() -> None:
    talk = Talk()
    talk.partial("What is the capital of France?", 1, final=True)
    talk.at(1.0).speech(SpeechKind.STARTED, 2)
    talk.at(1.2).partial("Mm-hm", 2)
    talk.at(1.3).speech(SpeechKind.STOPPED, 2)
    talk.at(1.4).speech(SpeechKind.RETRACTED, 2)
    assert talk.asked == [
        "What is the capital of France?",
        "Mm-hm",
        "What is the capital of France?",
    ]
    assert Cancel(2) in talk.actions


def test_a_hum_after_the_answer_was_spoken_only_cancels() -> None:
    talk = Talk(owes=False)
    talk.partial("What is the capital of France?", 1, final=True)
    talk.policy.push(Answered(1), 0.5)
    talk.at(5.0).speech(SpeechKind.STARTED, 2)
    talk.at(5.2).partial("Mm-hm", 2)
    talk.at(5.3).speech(SpeechKind.STOPPED, 2)
    talk.at(5.4).speech(SpeechKind.RETRACTED, 2)
    talk.at(60.0)
    assert talk.actions[-1] == Cancel(2)


def test_a_cough_without_words_leaves_the_answer_alone() -> None:
    talk = Talk()
    talk.partial("What is the capital of France?", 1, final=True)
    talk.at(1.0).speech(SpeechKind.STARTED, 2)
    talk.at(1.2).speech(SpeechKind.RETRACTED, 2)
    talk.at(60.0)
    assert talk.actions == [Ask(1, 1, "What is the capital of France?", 0.0)]


def test_typed_words_are_asked_at_once_and_replace_what_was_running() -> None:
    talk = Talk()
    talk.partial("What is the capital of France?", 1, final=True)
    talk.actions += talk.policy.push(Typed("of Spain", 2), 1.0)
    assert talk.actions[1:] == [Cancel(1), Ask(2, 2, "of Spain", math.inf)]


def test_a_client_can_have_the_same_question_answered_again() -> None:
    talk = Talk()
    talk.partial("What is the capital of France?", 1, final=True)
    talk.policy.push(Answered(1), 0.5)
    talk.actions += talk.policy.push(AnswerNow(), 1.0)
    assert talk.actions[-1] == Ask(2, 1, "What is the capital of France?", math.inf)


def test_a_failed_question_is_asked_again_with_longer_and_longer_waits_then_given_up() -> None:
    talk = Talk()
    talk.partial("What is the capital of France?", final=True)
    times = []
    epoch = 1
    talk.failed(epoch)
    while (due := talk.policy.deadline()) is not None:
        times.append(due)
        talk.at(due)
        epoch += 1
        talk.failed(epoch)
    assert times == [1.0, 3.0, 7.0]
    assert len(talk.asked) == 4


def test_a_server_that_asks_for_time_gets_it() -> None:
    talk = Talk()
    talk.partial("What is the capital of France?", final=True)
    talk.failed(1, retry_after_s=7.0)
    assert talk.policy.deadline() == 7.0


def test_mere_partials_do_not_hammer_an_llm_that_is_down_but_a_turn_end_tries_it() -> None:
    talk = Talk()
    talk.speech(SpeechKind.STARTED)
    talk.at(1.0).partial("tell me about")
    talk.failed(1, retry_after_s=5.0)
    talk.at(2.0).partial("tell me about the sea")
    talk.at(3.0).partial("tell me about the sea and its")
    assert len(talk.asked) == 1
    talk.at(3.5).speech(SpeechKind.TURN_ENDED)
    assert talk.asked[-1] == "tell me about the sea and its"


def test_the_failure_of_a_superseded_ask_means_nothing() -> None:
    talk = Talk()
    talk.partial("What is the capital", final=True)
    talk.partial("What is the capital of France?", final=True)
    talk.failed(1)
    assert talk.policy.deadline() is None


def test_words_of_an_older_utterance_that_come_late_are_not_asked() -> None:
    talk = Talk()
    talk.partial("What is the capital of Spain?", 2, final=True)
    talk.partial("What is the capital of France?", 1, final=True)
    assert talk.asked == ["What is the capital of Spain?"]


def test_epochs_go_on_rising_after_a_lost_call() -> None:
    talk = Talk()
    talk.partial("What is the capital of France?", 1, final=True)
    talk.failed(1)
    talk.policy.rest()
    assert talk.policy.deadline() is None
    talk.partial("And of Spain?", 2, final=True)
    assert talk.actions[-1] == Ask(2, 2, "And of Spain?", 0.0)


def test_a_script_without_spaces_counts_its_letters() -> None:
    talk = Talk(language="ja-JP")
    talk.speech(SpeechKind.STARTED)
    talk.at(1.0).partial("日本の首都")
    talk.at(2.0).partial("日本の首都は、")
    assert talk.asked == ["日本の首都", "日本の首都は、"]
