from dataclasses import replace
from typing import Any

import pytest
from openai.types.realtime import (
    AudioTranscription,
    RealtimeAudioConfigInput,
    RealtimeAudioConfigOutput,
    RealtimeSessionCreateRequest,
)

from pipeline.types import Mode, Persona, SessionConfig
from server.realtime.errors import RequestError
from server.realtime.session import Offered, SessionRequest, describe_session, read_session

OFFERED = Offered(
    model="umigame-voice",
    voice="joe",
    modes=(Mode.TANDEM, Mode.CASCADE),
    stt=("local",),
    llm=("local", "gpt-4.1"),
    languages={"local": ("en",)},
)


def read(**fields: Any) -> SessionRequest:
    return read_session({"type": "realtime", **fields}, SessionConfig(), OFFERED, "evt_1")


def refused(**fields: Any) -> RequestError:
    with pytest.raises(RequestError) as caught:
        read(**fields)
    assert caught.value.event_id == "evt_1"
    return caught.value


def test_what_a_session_asks_for_is_in_force() -> None:
    asked = read(
        instructions="Be brief.",
        audio={"input": {"transcription": {"language": "en-GB", "model": "local"}}},
        umigame={"mode": "cascade", "llm": "gpt-4.1", "stt": "local", "resume": "t0ken"},
    )
    assert asked.config == SessionConfig(
        Mode.CASCADE, Persona("Umigame", "Be brief."), "en-GB", "local", "gpt-4.1"
    )
    assert set(asked.changed) == {"mode", "persona", "language", "llm"}


def test_an_update_changes_only_what_it_names() -> None:
    before = SessionConfig(Mode.CASCADE, Persona("Umi", "Be brief."), llm="gpt-4.1", seed=4)
    asked = read_session({"instructions": ""}, before, OFFERED)
    assert asked.config == SessionConfig(Mode.CASCADE, Persona("Umi", ""), llm="gpt-4.1", seed=4)
    assert asked.changed == ("persona",)


def test_a_client_written_for_openai_is_served_and_told_what_it_really_got() -> None:
    asked = read(
        model="gpt-realtime",
        output_modalities=["audio"],
        tools=[],
        tool_choice="auto",
        max_output_tokens="inf",
        audio={
            "input": {
                "format": {"type": "audio/pcm", "rate": 24000},
                "noise_reduction": {"type": "near_field"},
                "transcription": {"model": "gpt-4o-transcribe", "prompt": "numbers"},
                "turn_detection": {"type": "server_vad", "threshold": 0.5, "create_response": True},
            },
            "output": {"voice": "marin", "speed": 1.0},
        },
    )
    assert asked.changed == ()
    told = describe_session("sess_1", asked.config, OFFERED)
    assert told["model"] == "umigame-voice"
    assert told["audio"]["output"]["voice"] == "joe"
    assert told["audio"]["input"]["transcription"] == {"model": "local", "language": "en-US"}


def test_a_language_must_be_one_that_the_chosen_stt_understands() -> None:
    two = replace(OFFERED, stt=("local", "google"))
    hears = {"input": {"transcription": {"language": "ja"}}}
    body = {"type": "realtime", "audio": hears, "umigame": {"stt": "google"}}
    assert read_session(body, SessionConfig(), two).config.language == "ja"
    with pytest.raises(RequestError, match='language: this server has no "ja"'):
        read_session({"type": "realtime", "audio": hears}, SessionConfig(), two)
    japanese = SessionConfig(language="ja-JP", stt="google")
    with pytest.raises(RequestError, match='language: this server has no "ja"'):
        read_session({"type": "realtime", "umigame": {"stt": "local"}}, japanese, two)


def test_the_transcription_model_picks_an_stt_if_there_is_one_of_that_name() -> None:
    two = replace(OFFERED, stt=("local", "google"))
    body = {"audio": {"input": {"transcription": {"model": "google"}}}}
    assert read_session(body, SessionConfig(), two).config.stt == "google"


def test_a_session_object_that_is_sent_back_is_taken_and_changes_nothing() -> None:
    config = SessionConfig(Mode.CASCADE, llm="gpt-4.1")
    told = describe_session("sess_1", config, OFFERED)
    assert read_session(told, config, OFFERED) == SessionRequest(config, ())


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"type": "transcription"}, "session.type"),
        ({"tools": [{"type": "function", "name": "f"}]}, "session.tools"),
        ({"output_modalities": ["text"]}, "session.output_modalities"),
        ({"prompt": {"id": "pmpt_1"}}, "session.prompt"),
        ({"audio": {"input": {"turn_detection": None}}}, "session.audio.input.turn_detection"),
        (
            {"audio": {"input": {"turn_detection": {"create_response": False}}}},
            "session.audio.input.turn_detection",
        ),
        (
            {"audio": {"input": {"turn_detection": {"interrupt_response": False}}}},
            "session.audio.input.turn_detection",
        ),
        (
            {"audio": {"input": {"transcription": {"language": "de"}}}},
            "session.audio.input.transcription.language",
        ),
        (
            {"audio": {"input": {"transcription": {"language": "english"}}}},
            "session.audio.input.transcription.language",
        ),
        ({"instructions": ["Be", "brief"]}, "session.instructions"),
        ({"umigame": {"mode": "s2s"}}, "session.umigame.mode"),
        ({"umigame": {"stt": "google"}}, "session.umigame.stt"),
        ({"umigame": {"llm": "gpt-4"}}, "session.umigame.llm"),
    ],
)
def test_what_is_not_to_be_had_is_refused_by_name_and_with_a_way_out(
    fields: dict[str, Any], param: str
) -> None:
    error = refused(**fields)
    assert error.param == param
    assert error.hint or error.code == "invalid_value"


def test_a_mode_the_front_end_lacks_names_those_it_has() -> None:
    assert str(refused(umigame={"mode": "s2s"})).endswith("Known: cascade, tandem.")


def test_a_misspelt_field_gets_the_nearest_name() -> None:
    error = refused(instruction="Be brief.")
    assert '"instructions"' in error.hint
    assert (error.code, error.param) == ("unknown_parameter", "session.instruction")


@pytest.mark.parametrize("body", [None, "realtime", [], 3])
def test_what_is_no_object_is_refused(body: object) -> None:
    with pytest.raises(RequestError, match="session"):
        read_session(body, SessionConfig(), OFFERED)


@pytest.mark.parametrize(
    ("theirs", "at"),
    [
        (RealtimeSessionCreateRequest, ()),
        (RealtimeAudioConfigInput, ("audio", "input")),
        (RealtimeAudioConfigOutput, ("audio", "output")),
        (AudioTranscription, ("audio", "input", "transcription")),
    ],
)
def test_every_field_that_openais_sdk_can_send_is_known(theirs: Any, at: tuple[str, ...]) -> None:
    for name in theirs.model_fields:
        body: Any = {name: "no such value"}
        for step in reversed(at):
            body = {step: body}
        try:
            read_session(body, SessionConfig(), OFFERED)
        except RequestError as error:
            assert error.code != "unknown_parameter", name
