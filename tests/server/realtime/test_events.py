from dataclasses import replace
from itertools import count
from typing import Any, get_args

import pytest

from pipeline.errors import EngineError, InputError, UmigameError
from pipeline.events import (
    Configured,
    Event,
    Fate,
    Heard,
    Latency,
    OracleAsked,
    OracleChosen,
    OracleFate,
    OracleSpent,
    OracleText,
    Overload,
    ReplyEnded,
    ReplyStarted,
    ReplyWord,
    ServiceState,
    Speech,
    Typed,
)
from pipeline.types import Mode, SessionConfig, SpeechEvent, SpeechKind, Transcript
from server.errors import TooBusy
from server.realtime.errors import RequestError
from server.realtime.events import RealtimeEvents
from server.realtime.session import Offered
from tests.fakes.openai_client import check, validated

OFFERED = Offered(
    "umigame-voice", "joe", (Mode.TANDEM, Mode.CASCADE), ("local",), ("local",), {"local": ("en",)}
)

ONE_OF_EACH: list[tuple[Event, set[str]]] = [
    (Speech(SpeechEvent(SpeechKind.STARTED, 1, 0.5)), {"input_audio_buffer.speech_started"}),
    (Heard(Transcript("Why", 0.5, 1.0, False, 1)), {"umigame.partial"}),
    (Typed("Why?", 2), {"conversation.item.added", "conversation.item.done"}),
    (OracleAsked(1, 1, "Why", "small"), {"umigame.oracle"}),
    (OracleText(1, "Because", False, "small"), {"umigame.oracle"}),
    (ReplyStarted(1, 1, 0.2), {"response.created", "umigame.latency"}),
    (ReplyWord(1, "Because", 1), {"response.output_audio_transcript.delta"}),
    (ReplyEnded(1, "Because", True, 0.4), {"response.done", "conversation.item.truncated"}),
    (OracleChosen(1, "small", "It was the first to answer.", ("big",)), {"umigame.timeline"}),
    (OracleSpent(1, "small", 200, 9, True), set()),
    (OracleFate(1, Fate.USED, 1), {"umigame.timeline"}),
    (ServiceState("llm", False, "It stopped."), {"umigame.service"}),
    (Overload("engine", 3), {"umigame.overload"}),
    (Latency(0.03, 0.004, 0.0009, 0.01), {"umigame.latency"}),
    (Configured(("mode",)), {"session.updated"}),
]
"""In an order in which they can happen, and what a client must be told of each."""


def call(config: SessionConfig | None = None) -> RealtimeEvents:
    numbers = count(1)
    return RealtimeEvents(
        "call_1",
        lambda: config or SessionConfig(),
        OFFERED,
        lambda prefix: f"{prefix}_{next(numbers)}",
    )


def only(events: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    (found,) = [event for event in events if event["type"] == kind]
    return found


def test_every_kind_of_event_has_been_decided_upon() -> None:
    assert {type(event) for event, _ in ONE_OF_EACH} == set(get_args(Event))


def test_every_kind_of_event_reaches_the_client_in_a_form_its_sdk_reads() -> None:
    events, told = call(), []
    for event, expected in ONE_OF_EACH:
        sent = events.happened(event, at_s=1.0)
        assert expected <= {each["type"] for each in sent}
        told += sent
    check(told)


def test_a_call_begins_with_its_session_and_the_token_that_resumes_it() -> None:
    events = call(SessionConfig(mode=Mode.CASCADE)).connected("t0ken")
    assert check(events) == ["session.created", "umigame.session"]
    session = validated(events[0]).session
    assert session.audio.output.voice == "joe"
    assert session.umigame == {
        "mode": "cascade",
        "llm": "local",
        "llms": list(OFFERED.llm),
        "stt": "local",
    }
    assert (events[1]["token"], events[1]["call_id"]) == ("t0ken", "call_1")


def test_a_resumed_call_goes_on_with_the_same_session_and_order_of_items() -> None:
    events = call()
    before = events.connected("one")[0]
    first = only(events.happened(Typed("One", 1), 1.0), "conversation.item.added")
    after = events.connected("two")[0]
    second = only(events.happened(Typed("Two", 2), 9.0), "conversation.item.added")
    assert before["session"]["id"] == after["session"]["id"]
    assert second["previous_item_id"] == first["item"]["id"]


def test_the_session_told_after_a_change_is_the_one_in_force_then() -> None:
    config = SessionConfig()
    events = RealtimeEvents("call_1", lambda: config, OFFERED)
    config = replace(config, language="en-GB")
    updated = only(events.happened(Configured(("language",)), 1.0), "session.updated")
    assert validated(updated).session.audio.input.transcription.language == "en-GB"


def test_an_answer_is_told_whole_with_its_question_and_never_mixed_with_another() -> None:
    events = call()
    told = []
    for event in (
        OracleAsked(1, 1, "Why is", "small"),
        OracleText(1, "It", False, "small"),
        OracleAsked(2, 1, "Why is the sky blue", "small"),
        OracleText(2, "Light", False, "spare"),
        OracleText(2, " scatters.", True, "spare"),
    ):
        told.append(only(events.happened(event, 1.0), "umigame.oracle"))
    assert [each["text"] for each in told] == ["", "It", "", "Light", "Light scatters."]
    assert told[-1]["prompt"] == "Why is the sky blue"
    assert (told[-1]["epoch"], told[-1]["source"], told[-1]["final"]) == (2, "spare", True)
    unasked = only(events.happened(OracleText(3, "So", False, "small"), 2.0), "umigame.oracle")
    assert (unasked["epoch"], unasked["prompt"], unasked["text"]) == (3, "", "So")


def test_a_response_time_is_told_once_as_soon_as_the_reply_begins() -> None:
    events = call()
    events.happened(Latency(0.05, 0.01, 0.001, 0.02, relayed=True), 1.0)
    begun = only(events.happened(ReplyStarted(1, 1, 0.24), 2.0), "umigame.latency")
    later = only(events.happened(Latency(None, 0.01, 0.001, 0.0), 3.0), "umigame.latency")
    assert (begun["response_ms"], begun["rtt_ms"], begun["relayed"]) == (240.0, 50.0, True)
    assert (begun["concealed_pct"], begun["server_ms"]) == (2.0, 1.0)
    assert (later["response_ms"], later["rtt_ms"]) == (None, None)


def test_a_dead_stt_is_told_with_the_turns_it_leaves_unheard() -> None:
    events = call()
    for kind in (SpeechKind.STARTED, SpeechKind.TURN_ENDED):
        events.happened(Speech(SpeechEvent(kind, 1, 1.0)), 1.0)
    down = events.happened(ServiceState("stt", False, "It stopped."), 2.0)
    for kind in (SpeechKind.STARTED, SpeechKind.TURN_ENDED):
        events.happened(Speech(SpeechEvent(kind, 2, 3.0)), 3.0)
    back = events.happened(ServiceState("stt", True), 4.0)
    assert check(down) == [
        "umigame.service",
        "conversation.item.input_audio_transcription.failed",
    ]
    assert check(back) == ["umigame.service"]


def test_the_timeline_says_what_became_of_an_oracles_words_and_when() -> None:
    told = call().happened(OracleFate(4, Fate.SUPERSEDED, 7), 12.3456)
    entry = {"at_s": 12.346, "type": "oracle_fate", "epoch": 4, "fate": "superseded", "words": 7}
    assert only(told, "umigame.timeline")["entries"] == [entry]


def test_who_waits_is_told_their_place() -> None:
    queued = call().queued(2, 30.0)
    assert (queued["type"], queued["position"], queued["eta_s"]) == ("umigame.queue", 2, 30.0)


@pytest.mark.parametrize(
    ("error", "kind", "code"),
    [
        (RequestError("No.", code="unsupported"), "invalid_request_error", "unsupported"),
        (InputError("No."), "invalid_request_error", "invalid_request"),
        (TooBusy("Full.", retry_after_s=3), "rate_limit_exceeded", "too_busy"),
        (EngineError("It died."), "server_error", "engine_failed"),
    ],
)
def test_an_error_says_whose_fault_it_is(error: UmigameError, kind: str, code: str) -> None:
    told = validated(call().error(error)).error
    assert (told.type, told.code, told.event_id) == (kind, code, None)
    assert call().error(error, "evt_9")["error"]["event_id"] == "evt_9"


def test_an_error_names_the_clients_event_and_what_to_do() -> None:
    error = RequestError("No such.", hint="Do this.", param="item.role", event_id="evt_client")
    told = validated(call().error(error, "evt_other")).error
    assert (told.message, told.hint) == ("No such.", "Do this.")
    assert (told.param, told.event_id) == ("item.role", "evt_client")
