import pytest

from pipeline.events import ReplyEnded, ReplyStarted, ReplyWord
from server.realtime.errors import RequestError
from server.realtime.speaking import MOST_REMEMBERED, Speaking
from server.realtime.writer import JsonObject, Writer
from tests.fakes.openai_client import check, validated

DONE = [
    "response.output_audio.done",
    "response.output_audio_transcript.done",
    "response.content_part.done",
    "response.output_item.done",
    "conversation.item.done",
    "response.done",
]


def say(assistant: Speaking, *words: str, reply: int = 1) -> list[JsonObject]:
    """A word each half second."""
    events = assistant.started(ReplyStarted(reply, 1, 0.25), at_s=10.0)
    for place, word in enumerate(words):
        events += assistant.word(ReplyWord(reply, word, epoch=1), at_s=10.0 + place / 2)
    return events


def end(assistant: Speaking, text: str, *, cut: bool = False, reply: int = 1) -> list[JsonObject]:
    return assistant.ended(ReplyEnded(reply, text, cut, played_s=1.5))


def test_a_reply_is_told_in_openais_order_word_by_word() -> None:
    assistant = Speaking(Writer())
    events = say(assistant, "It", " is", " far.") + end(assistant, "It is far.")
    assert check(events) == [
        "response.created",
        "response.output_item.added",
        "conversation.item.added",
        "response.content_part.added",
        "output_audio_buffer.started",
        *["response.output_audio_transcript.delta"] * 3,
        *DONE,
        "output_audio_buffer.stopped",
    ]
    spoken = "".join(event["delta"] for event in events if event["type"].endswith(".delta"))
    response = validated(events[-2]).response
    assert spoken == response.output[0].content[0].transcript == "It is far."
    assert response.status == "completed"
    ids = [
        event.get("response_id") or event["response"]["id"]
        for event in events
        if "item" not in event
    ]
    assert set(ids) == {response.id}


def test_a_reply_that_is_cut_off_says_how_much_was_played() -> None:
    assistant = Speaking(Writer())
    say(assistant, "It", " is")
    events = end(assistant, "It is", cut=True)
    assert check(events) == [*DONE, "output_audio_buffer.cleared", "conversation.item.truncated"]
    response = validated(events[-3]).response
    assert (response.status, response.status_details.reason) == ("cancelled", "turn_detected")
    assert response.output[0].status == "incomplete"
    assert response.output[0].content[0].transcript == "It is"
    assert events[-1]["audio_end_ms"] == 1500
    assert events[-1]["item_id"] == response.output[0].id


def test_a_reply_the_client_cancelled_says_so_and_the_next_does_not() -> None:
    assistant = Speaking(Writer())
    say(assistant, "It")
    assistant.cancel()
    reasons = [end(assistant, "It", cut=True)[5]["response"]["status_details"]["reason"]]
    say(assistant, "So", reply=2)
    reasons += [end(assistant, "So", cut=True, reply=2)[5]["response"]["status_details"]["reason"]]
    assert reasons == ["client_cancelled", "turn_detected"]


def test_only_what_is_being_spoken_can_be_cancelled() -> None:
    assistant = Speaking(Writer())
    with pytest.raises(RequestError) as idle:
        assistant.cancel()
    assert idle.value.code == "response_cancel_not_active"
    response_id = say(assistant, "It")[0]["response"]["id"]
    with pytest.raises(RequestError):
        assistant.cancel("resp_other")
    assistant.cancel(response_id)
    end(assistant, "")
    with pytest.raises(RequestError):
        assistant.cancel(response_id)


def test_a_client_that_heard_less_gets_the_words_it_heard() -> None:
    assistant = Speaking(Writer())
    item_id = say(assistant, "One", " two", " three")[1]["item"]["id"]
    end(assistant, "One two three", reply=1)
    shortened = assistant.truncate(item_id, 700)
    assert (shortened.reply, shortened.text) == (1, "One two")
    assert validated(shortened.event).audio_end_ms == 700


def test_only_the_last_replies_can_be_truncated() -> None:
    assistant = Speaking(Writer())
    ids = []
    for reply in range(MOST_REMEMBERED + 1):
        ids.append(say(assistant, "One", reply=reply)[1]["item"]["id"])
        end(assistant, "One", reply=reply)
    with pytest.raises(RequestError):
        assistant.truncate(ids[0], 100)
    assert assistant.truncate(ids[1], 100).reply == 1


@pytest.mark.parametrize("audio_end_ms", [1501, 99_999])
def test_a_reply_cannot_be_truncated_beyond_its_end(audio_end_ms: int) -> None:
    assistant = Speaking(Writer())
    item_id = say(assistant, "One")[1]["item"]["id"]
    end(assistant, "One")
    with pytest.raises(RequestError, match="1500 ms"):
        assistant.truncate(item_id, audio_end_ms)


def test_a_reply_still_spoken_is_cancelled_rather_than_truncated() -> None:
    assistant = Speaking(Writer())
    item_id = say(assistant, "One")[1]["item"]["id"]
    with pytest.raises(RequestError, match="cancel"):
        assistant.truncate(item_id, 100)


def test_words_of_a_reply_nobody_was_told_of_are_not_told() -> None:
    assistant = Speaking(Writer())
    assert assistant.word(ReplyWord(7, "lost", 1), at_s=1.0) == []
    assert end(assistant, "lost", reply=7) == []
