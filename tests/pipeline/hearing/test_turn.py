"""The turn machine on scripted windows: 32 ms each."""

import math
from itertools import count

import pytest

from pipeline.hearing.endpoint import Endpoint
from pipeline.hearing.speech import WINDOW_S, Window
from pipeline.hearing.turn import Turn
from pipeline.types import SpeechEvent, SpeechKind, Transcript


class Script:
    """Feeds a Turn and keeps what it told, each event with the time it was told at."""

    def __init__(self) -> None:
        numbers = count(1)
        self.turn = Turn(lambda: next(numbers), Endpoint())
        self.now_s = 0.0
        self.told: list[tuple[float, SpeechEvent]] = []
        self.assistant_speaks = False

    def run(self, seconds: float, *, speech: bool, articulate: bool | None = None) -> "Script":
        for _ in range(round(seconds / WINDOW_S)):
            self.now_s += WINDOW_S
            clear = speech if articulate is None else articulate
            window = Window(self.now_s, speech, clear, -20.0 if speech else -70.0)
            self._note(self.turn.heard(window, 0.0 if self.assistant_speaks else math.inf))
        return self

    def words(self, text: str, utterance: int = 1, *, final: bool = False) -> "Script":
        said = Transcript(text, 0.0, self.now_s, final, utterance)
        self._note(self.turn.understood(said))
        return self

    def _note(self, events: list[SpeechEvent]) -> None:
        self.told += [(self.now_s, event) for event in events]

    @property
    def story(self) -> list[str]:
        return [f"{event.kind} {event.utterance}" for _, event in self.told]

    def when(self, kind: SpeechKind) -> float:
        return next(told_s for told_s, event in self.told if event.kind is kind)


def test_a_question_is_a_start_a_stop_and_an_end_as_soon_as_its_words_are_known() -> None:
    script = Script().run(1.0, speech=False).run(1.5, speech=True).run(0.13, speech=False)
    assert script.story == ["started 1", "stopped 1"]
    script.words("What time is it?")
    assert script.story == ["started 1", "stopped 1", "turn_ended 1"]
    assert script.now_s - script.told[1][1].at_s < 0.15


def test_events_are_dated_when_they_happened() -> None:
    script = Script().run(0.96, speech=False).run(1.6, speech=True).run(2.0, speech=False)
    started, stopped, _ = (event for _, event in script.told)
    assert started.at_s == pytest.approx(0.96, abs=0.04)
    assert stopped.at_s == pytest.approx(2.56, abs=0.04)


def test_a_pause_in_mid_sentence_does_not_end_the_turn() -> None:
    script = Script().run(1.0, speech=True).run(0.2, speech=False).words("What is the capital of?")
    script.run(0.8, speech=False).run(0.8, speech=True).run(0.2, speech=False)
    assert script.story == ["started 1", "stopped 1", "started 1", "stopped 1"]
    assert script.words("What is the capital of France?").story[-1] == "turn_ended 1"


def test_words_of_before_the_pause_do_not_end_what_came_after() -> None:
    script = Script().run(1.0, speech=True).words("What time is it").run(0.6, speech=True)
    script.run(0.4, speech=False)
    assert script.story == ["started 1", "stopped 1"]


def test_the_turn_ends_even_if_no_words_ever_come() -> None:
    script = Script().run(1.0, speech=True).run(1.2, speech=False)
    assert script.story[-1] == "turn_ended 1"


def test_a_new_turn_has_the_next_number_and_late_words_of_the_old_are_ignored() -> None:
    script = Script().run(1.0, speech=True).run(1.3, speech=False).run(1.0, speech=True)
    script.words("Hello.", 1, final=True).run(0.2, speech=False)
    assert script.story[-2:] == ["started 2", "stopped 2"]


def test_speech_without_words_is_taken_back() -> None:
    script = Script().run(0.5, speech=True).run(0.2, speech=False).words("").run(1.1, speech=False)
    assert script.story == ["started 1", "stopped 1", "retracted 1"]


def test_a_final_without_words_is_taken_back_after_the_turn() -> None:
    script = Script().run(1.0, speech=True).run(1.2, speech=False).words("", final=True)
    assert script.story[-2:] == ["turn_ended 1", "retracted 1"]


@pytest.mark.parametrize(
    ("assistant_speaks", "ends"), [(True, "retracted 1"), (False, "turn_ended 1")]
)
def test_a_yeah_is_an_answer_but_not_while_the_assistant_speaks(
    assistant_speaks: bool, ends: str
) -> None:
    script = Script()
    script.assistant_speaks = assistant_speaks
    script.run(0.4, speech=True).run(0.2, speech=False).words("Yeah.").run(1.2, speech=False)
    assert script.story[-1] == ends


def over_a_reply(words: str) -> Script:
    script = Script()
    script.assistant_speaks = True
    script.run(0.2, speech=True)
    script.assistant_speaks = False
    return script.run(0.2, speech=True).run(0.15, speech=False).words(words)


def test_a_stop_over_a_reply_leaves_time_for_what_comes_after_it() -> None:
    script = over_a_reply("Stop.").run(0.6, speech=False).run(0.5, speech=True)
    assert script.story == ["started 1", "stopped 1", "started 1"]


@pytest.mark.parametrize("words", ["Tell me a joke.", "What time is it?", "Why not?"])
def test_a_whole_request_over_a_reply_is_answered_at_once(words: str) -> None:
    assert over_a_reply(words).story == ["started 1", "stopped 1", "turn_ended 1"]


def test_who_stops_a_reply_and_says_no_more_has_ended_their_turn() -> None:
    script = over_a_reply("Stop.").run(1.3, speech=False)
    assert script.story == ["started 1", "stopped 1", "turn_ended 1"]


def test_a_reply_that_begins_while_somebody_speaks_is_spoken_over_within_200_ms() -> None:
    """One to what they typed meanwhile, say."""
    script = Script().run(1.0, speech=True)
    script.assistant_speaks = True
    assert script.run(0.2, speech=True).story == ["started 1", "started 1"]
    script.assistant_speaks = False
    assert script.run(1.0, speech=True).story == ["started 1", "started 1"]


def test_a_reply_that_follows_at_once_on_one_that_was_cut_off_is_spoken_over_too() -> None:
    script = Script()
    script.assistant_speaks = True
    script.run(0.25, speech=True)
    assert script.story == ["started 1"]
    assert script.run(0.25, speech=True).story == ["started 1", "started 1"]


def test_a_reply_that_begins_while_noise_holds_the_turn_open_is_not_cut_off() -> None:
    script = Script().run(0.5, speech=True).run(0.5, speech=True, articulate=False)
    script.assistant_speaks = True
    script.run(0.5, speech=True, articulate=False)
    assert script.story == ["started 1"]


def test_a_cough_leaves_no_trace_and_the_next_words_are_heard() -> None:
    script = Script().run(0.3, speech=True, articulate=False).run(0.5, speech=False)
    assert script.story == []
    assert script.run(0.5, speech=True).story == ["started 1"]


def test_a_cough_in_a_pause_delays_the_end_but_does_not_go_on_the_turn() -> None:
    script = Script().run(1.0, speech=True).run(0.2, speech=False).words("What is the")
    script.run(0.3, speech=True, articulate=False).run(1.5, speech=False)
    assert script.story == ["started 1", "stopped 1", "turn_ended 1"]


def test_a_short_closure_inside_a_word_is_no_pause() -> None:
    script = Script().run(0.6, speech=True).run(0.07, speech=False).run(0.6, speech=True)
    assert script.story == ["started 1"]
