from itertools import count

import pytest

from pipeline.events import Typed
from pipeline.types import SpeechEvent, SpeechKind, Transcript
from server.realtime.listening import MOST_RECENT, Listening
from server.realtime.writer import JsonObject, Writer
from tests.fakes.openai_client import check, validated

STARTED, STOPPED, ENDED, RETRACTED = SpeechKind
TRANSCRIPTION = "conversation.item.input_audio_transcription"


def listening() -> Listening:
    numbers = count(1)
    return Listening(Writer(lambda prefix: f"{prefix}_{next(numbers)}"))


def speech(
    user: Listening, kind: SpeechKind, at_s: float = 0.0, utterance: int = 1
) -> list[JsonObject]:
    return user.speech(SpeechEvent(kind, utterance, at_s))


def heard(
    user: Listening, text: str, *, final: bool = False, utterance: int = 1
) -> list[JsonObject]:
    return user.heard(Transcript(text, 1.0, 2.5, final, utterance))


def deltas(events: list[JsonObject]) -> list[str]:
    return [event["delta"] for event in events if event["type"].endswith(".delta")]


def test_a_spoken_turn_is_told_in_openais_order_under_one_item() -> None:
    user = listening()
    events = speech(user, STARTED, 1.2)
    events += heard(user, "What is")
    events += speech(user, STOPPED, 2.5)
    events += heard(user, "What is it")
    events += speech(user, ENDED, 2.9)
    events += heard(user, "What is it?", final=True)
    assert check(events) == [
        "input_audio_buffer.speech_started",
        "umigame.partial",
        "input_audio_buffer.speech_stopped",
        "umigame.partial",
        "input_audio_buffer.committed",
        "conversation.item.added",
        "conversation.item.done",
        f"{TRANSCRIPTION}.delta",
        f"{TRANSCRIPTION}.delta",
        f"{TRANSCRIPTION}.completed",
    ]
    ids = {event.get("item_id") or event["item"]["id"] for event in events}
    assert len(ids) == 1
    assert events[0]["audio_start_ms"] == 1200
    assert events[2]["audio_end_ms"] == 2500
    assert events[-1]["transcript"] == "What is it?"
    assert events[-1]["usage"] == {"type": "duration", "seconds": 1.5}
    assert validated(events[5]).item.content[0].type == "input_audio"


def test_somebody_who_goes_on_after_a_pause_keeps_their_item() -> None:
    user = listening()
    events = speech(user, STARTED, 1) + speech(user, STOPPED, 2)
    events += speech(user, STARTED, 2.6) + speech(user, STOPPED, 4) + speech(user, ENDED, 4.3)
    assert check(events)[:5] == [
        "input_audio_buffer.speech_started",
        "input_audio_buffer.speech_stopped",
        "input_audio_buffer.speech_started",
        "input_audio_buffer.speech_stopped",
        "input_audio_buffer.committed",
    ]
    assert len({event["item_id"] for event in events[:5]}) == 1


def test_a_start_is_told_once_however_often_a_reply_begins_under_it() -> None:
    user = listening()
    assert len(speech(user, STARTED, 1)) == 1
    assert speech(user, STARTED, 1.5) == []


def test_deltas_hold_only_words_that_stood_still_and_add_up_to_the_transcript() -> None:
    user = listening()
    speech(user, STARTED)
    heard(user, "How far is the mood")
    heard(user, "How far is the moon from")
    after_the_turn = speech(user, ENDED)
    assert deltas(after_the_turn) == ["How far is the"]
    more = heard(user, "How far is the moon from here")
    assert deltas(more) == [" moon from"]
    last = heard(user, "How far is the moon from here?", final=True)
    assert deltas(last) == [" here?"]


def test_a_reworded_beginning_takes_back_no_delta_and_the_transcript_is_right() -> None:
    user = listening()
    speech(user, STARTED)
    heard(user, "I scream")
    heard(user, "I scream for")
    assert deltas(speech(user, ENDED)) == ["I scream"]
    reworded = heard(user, "Ice cream for me", final=True)
    assert check(reworded) == [f"{TRANSCRIPTION}.completed"]
    assert reworded[0]["transcript"] == "Ice cream for me"


def test_a_partial_tells_the_whole_text_and_is_not_repeated() -> None:
    user = listening()
    speech(user, STARTED)
    assert [event["text"] for event in heard(user, "One two")] == ["One two"]
    assert heard(user, "One two") == []


def test_a_false_alarm_is_withdrawn_and_its_transcript_never_told() -> None:
    user = listening()
    began = speech(user, STARTED, 1)
    heard(user, "mm")
    assert check(speech(user, RETRACTED, 1.3)) == [
        "input_audio_buffer.speech_stopped",
        "input_audio_buffer.cleared",
        "conversation.item.deleted",
    ]
    assert heard(user, "mm-hm", final=True) == []
    again = speech(user, STARTED, 5, utterance=2)
    assert again[0]["item_id"] != began[0]["item_id"]


@pytest.mark.parametrize("transcribed", [False, True])
def test_a_turn_that_is_retracted_after_its_end_takes_its_item_away(transcribed: bool) -> None:
    user = listening()
    speech(user, STARTED)
    added = speech(user, ENDED)
    if transcribed:
        heard(user, "mm-hm", final=True)
    gone = speech(user, RETRACTED)
    assert check(gone) == ["conversation.item.deleted"]
    assert gone[0]["item_id"] == added[1]["item_id"]


def test_a_turn_that_ends_twice_is_one_item() -> None:
    user = listening()
    speech(user, STARTED)
    speech(user, ENDED, 1.0)
    assert check(speech(user, STARTED, 1.2) + speech(user, ENDED, 2.0)) == [
        "input_audio_buffer.speech_started",
        "input_audio_buffer.speech_stopped",
    ]


def test_turns_wait_for_their_transcripts_side_by_side_and_keep_their_order() -> None:
    user = listening()
    events = []
    for utterance in (1, 2):
        events += speech(user, STARTED, utterance=utterance)
        events += speech(user, ENDED, utterance=utterance)
    second = heard(user, "Second.", final=True, utterance=2)
    first = heard(user, "First.", final=True, utterance=1)
    assert second[-1]["transcript"] == "Second."
    assert first[-1]["transcript"] == "First."
    added = [event for event in events if event["type"] == "conversation.item.added"]
    assert added[0]["previous_item_id"] is None
    assert added[1]["previous_item_id"] == added[0]["item"]["id"] == first[-1]["item_id"]


def test_turns_without_a_transcript_are_told_so_when_the_stt_dies() -> None:
    user = listening()
    speech(user, STARTED)
    speech(user, ENDED)
    speech(user, STARTED, utterance=2)
    failed = user.failed("The STT stopped.")
    assert check(failed) == [f"{TRANSCRIPTION}.failed"]
    assert failed[0]["error"]["message"] == "The STT stopped."
    assert heard(user, "late", final=True) == []
    assert user.failed("It stopped again.") == []
    assert heard(user, "still", utterance=2) != []


def test_a_dead_stt_leaves_no_heap_of_waiting_turns() -> None:
    user = listening()
    for utterance in range(3 * MOST_RECENT):
        speech(user, STARTED, utterance=utterance)
        speech(user, ENDED, utterance=utterance)
    assert len(user.failed("gone")) == MOST_RECENT


def test_a_typed_line_is_an_item_at_once_under_its_writers_name() -> None:
    user = listening()
    named = user.typed(Typed("Hello", 1, item_id="item_mine"))
    unnamed = user.typed(Typed("Again", 2))
    assert check(named + unnamed) == ["conversation.item.added", "conversation.item.done"] * 2
    assert named[0]["item"]["id"] == "item_mine"
    assert unnamed[1]["previous_item_id"] == "item_mine"
    assert validated(unnamed[1]).item.content[0].text == "Again"
