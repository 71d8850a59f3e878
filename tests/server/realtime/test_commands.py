import json
from typing import Any

import pytest

from server.realtime.commands import (
    MOST_BYTES,
    CancelResponse,
    ClearOutput,
    CreateItem,
    CreateResponse,
    TruncateItem,
    UpdateSession,
    read_command,
)
from server.realtime.errors import RequestError


def message(kind: str, **fields: Any) -> str:
    return json.dumps({"type": kind, "event_id": "evt_1", **fields})


def typed(*texts: str, **fields: Any) -> dict[str, Any]:
    content = [{"type": "input_text", "text": text} for text in texts]
    return {"type": "message", "role": "user", "content": content, **fields}


def refused(text: str | bytes) -> RequestError:
    with pytest.raises(RequestError) as caught:
        read_command(text)
    return caught.value


def test_every_command_is_read_with_its_fields() -> None:
    update = read_command(message("session.update", session={"type": "realtime"}))
    assert isinstance(update, UpdateSession)
    assert update.session == {"type": "realtime"}
    assert update.event_id == "evt_1"
    create = read_command(message("response.create", response={"metadata": {"why": "greet"}}))
    assert isinstance(create, CreateResponse)
    assert create.response is not None
    assert create.response.metadata == {"why": "greet"}
    cancel = read_command(message("response.cancel", response_id="resp_1"))
    assert isinstance(cancel, CancelResponse)
    assert cancel.response_id == "resp_1"
    truncate = read_command(
        message("conversation.item.truncate", item_id="item_1", content_index=0, audio_end_ms=900)
    )
    assert isinstance(truncate, TruncateItem)
    assert (truncate.item_id, truncate.audio_end_ms) == ("item_1", 900)
    assert isinstance(read_command('{"type":"output_audio_buffer.clear"}'), ClearOutput)
    assert isinstance(read_command('{"type":"response.create"}'), CreateResponse)


def test_a_typed_line_is_read_whole_with_the_name_its_writer_gave_it() -> None:
    command = read_command(
        message("conversation.item.create", item=typed("Why? ", "Do tell.", id="item_mine"))
    )
    assert isinstance(command, CreateItem)
    assert command.text == "Why? Do tell."
    assert command.item.id == "item_mine"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "invalid_json"),
        ("{'type': 'response.cancel'}", "invalid_json"),
        ('{"type": "response.cancel"', "invalid_json"),
        ("[" * 50_000, "invalid_json"),
        ('{"type": "response.cancel", "event_id": "\\ud800"}', "invalid_json"),
        ('{"type": "response.cancel", "event_id": NaN}', "invalid_json"),
        ('["response.cancel"]', "invalid_json"),
        ("{}", "missing_parameter"),
        ('{"type": 5}', "missing_parameter"),
        ("é" * (MOST_BYTES // 2) + "!", "too_large"),
        (b"{}", "invalid_value"),
    ],
)
def test_what_is_no_event_is_refused_whatever_it_is(text: str | bytes, code: str) -> None:
    assert refused(text).code == code


def test_an_unknown_event_gets_the_nearest_name() -> None:
    error = refused(message("response.cancle"))
    assert '"response.cancel"' in str(error)
    assert (error.param, error.event_id) == ("type", "evt_1")


def test_audio_over_the_data_channel_is_sent_to_the_track() -> None:
    error = refused(message("input_audio_buffer.append", audio="AAAA"))
    assert "WebRTC" in error.hint
    assert error.code == "unsupported"


@pytest.mark.parametrize(
    ("kind", "fields", "param"),
    [
        ("session.update", {}, "session"),
        ("session.update", {"session": "en"}, "session"),
        ("conversation.item.create", {"item": {**typed("Hi"), "role": "system"}}, "item.role"),
        (
            "conversation.item.create",
            {"item": {**typed("Hi"), "type": "function_call"}},
            "item.type",
        ),
        ("conversation.item.create", {"item": typed("  ")}, "item.content.0.text"),
        ("conversation.item.create", {"item": typed()}, "item.content"),
        (
            "conversation.item.create",
            {"item": {**typed("Hi"), "content": [{"type": "input_audio", "audio": "AA"}]}},
            "item.content.0.type",
        ),
        (
            "conversation.item.create",
            {"item": typed("Hi"), "previous_item_id": "root"},
            "previous_item_id",
        ),
        (
            "conversation.item.truncate",
            {"item_id": "i", "content_index": 0, "audio_end_ms": "900"},
            "audio_end_ms",
        ),
        (
            "conversation.item.truncate",
            {"item_id": "i", "content_index": 0, "audio_end_ms": -1},
            "audio_end_ms",
        ),
        ("response.create", {"response": {"conversation": "none"}}, "response.conversation"),
        ("response.cancel", {"response_id": 7}, "response_id"),
    ],
)
def test_a_wrong_field_is_named_with_the_event_it_was_in(
    kind: str, fields: dict[str, Any], param: str
) -> None:
    error = refused(message(kind, **fields))
    assert (error.param, error.event_id) == (param, "evt_1")
    assert param in error.message


def test_a_misspelt_field_gets_the_nearest_name() -> None:
    error = refused(message("response.cancel", respons_id="resp_1"))
    assert error.code == "unknown_parameter"
    assert '"response_id"' in error.hint
