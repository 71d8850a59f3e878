"""What is told at start about an STT that would be of no use, and the ways out."""

import json
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.api_core.exceptions import ServiceUnavailable
from google.auth.credentials import Credentials
from google.auth.exceptions import RefreshError
from google.auth.transport.grpc import AuthMetadataPlugin
from google.auth.transport.requests import Request
from google.cloud import speech_v2 as speech
from google.cloud.speech_v2.services.speech.transports import SpeechGrpcAsyncIOTransport
from grpc import StatusCode, aio

from pipeline.errors import ConfigError
from pipeline.stt.google.errors import explained
from server.settings import Settings, load
from server.stts import start_stts
from tests.fakes.google_server import Fault, google_server

WAYS_OUT = "Or use --stt local; or --stt none, where the front-end speaks alone."


def google(**stt: Any) -> Settings:
    return load(flags={"session": {"stt": "google"}, "stt": stt})


async def refused(settings: Settings) -> ConfigError:
    with pytest.raises(ConfigError) as told:
        async with start_stts(settings):
            pass
    return told.value


async def test_missing_credentials_are_told_with_the_ways_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NO_GCE_CHECK", "true")
    monkeypatch.delenv("GOOGLE_APPLICATION_CREDENTIALS", raising=False)
    error = await refused(google())
    assert "no usable credentials" in error.message and "\n" not in str(error)
    assert error.hint.endswith(WAYS_OUT)


@pytest.mark.parametrize("text", [None, "{", json.dumps({"type": "service_account"})])
async def test_a_wrong_credentials_file_is_named_and_not_quoted(
    text: str | None, tmp_path: Path
) -> None:
    file = tmp_path / "key.json"
    if text is not None:
        file.write_text(text)
    error = await refused(google(google_credentials=str(file)))
    assert str(file) in error.message and error.hint.endswith(WAYS_OUT)


@pytest.mark.parametrize(
    ("code", "says"),
    [
        (StatusCode.UNAUTHENTICATED, "refuses the credentials"),
        (StatusCode.PERMISSION_DENIED, "Enable the Speech-to-Text API"),
        (StatusCode.NOT_FOUND, "Check google_project, google_location and google_model"),
        (StatusCode.INVALID_ARGUMENT, "Does the model know the language"),
    ],
)
async def test_what_google_refuses_is_told_before_anybody_calls(
    code: StatusCode, says: str
) -> None:
    async with google_server() as server:
        server.faults.append(Fault(code))
        error = await refused(google(google_endpoint=f"http://{server.address}"))
        assert says in str(error) and error.hint.endswith(WAYS_OUT)


class Revoked(Credentials):
    def refresh(self, request: object) -> None:
        raise RefreshError("invalid_grant: key 0123 was revoked")


async def nothing() -> AsyncIterator[speech.StreamingRecognizeRequest]:
    yield speech.StreamingRecognizeRequest()


async def test_a_revoked_key_is_told_as_such_though_to_grpc_the_service_is_unavailable() -> None:
    server = aio.server()
    port = server.add_secure_port("127.0.0.1:0", grpc.local_server_credentials())
    await server.start()
    token = grpc.metadata_call_credentials(AuthMetadataPlugin(Revoked(), Request()))
    trust = grpc.composite_channel_credentials(grpc.local_channel_credentials(), token)
    async with aio.secure_channel(f"127.0.0.1:{port}", trust) as channel:
        transport = SpeechGrpcAsyncIOTransport(channel=channel)
        client = speech.SpeechAsyncClient(transport=transport)
        with pytest.raises(ServiceUnavailable) as failed:
            async for _ in await client.streaming_recognize(requests=nothing()):
                pass
    await server.stop(None)
    told = str(explained(failed.value))
    assert "credentials for Google's STT are no longer accepted" in told and "0123" not in told


async def test_a_google_that_is_away_at_start_stops_nobody(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING):
        async with start_stts(google(google_endpoint="http://127.0.0.1:1")) as stts:
            assert stts.names == ("google",)
    assert "cannot be reached. Calls are taken all the same." in caplog.text


async def test_several_can_be_offered_and_the_first_is_the_default() -> None:
    async with google_server() as server:
        settings = load(
            flags={
                "session": {"stt": "google,local", "language": "ja-JP"},
                "stt": {"google_endpoint": f"http://{server.address}"},
            }
        )
        async with start_stts(settings) as stts:
            assert stts.names == ("google", "local") and stts.name == "Google, long"
            assert stts.languages_of("google") == () and stts.languages_of("local") == ("en",)
        (checked,) = server.streams
        assert checked.config is not None
        assert list(checked.config.config.language_codes) == ["ja-JP"]


async def test_a_language_that_the_local_stt_does_not_know_is_told_at_start() -> None:
    error = await refused(load(flags={"session": {"language": "ja-JP"}}))
    assert "does not understand ja-JP" in error.message and "--stt google" in error.hint


@pytest.mark.parametrize("names", ["gogle", "", "none,local"])
def test_an_stt_that_does_not_exist_is_refused(names: str) -> None:
    with pytest.raises(ConfigError, match=r"session\.stt"):
        load(flags={"session": {"stt": names}})
