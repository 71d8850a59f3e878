"""Calls over HTTP: what callers and broken clients get to see."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import FormData
from aiohttp.test_utils import TestClient

from pipeline.errors import EngineError
from server.signalling import CALLS, FRAGMENT, SDP
from tests.fakes.caller import OFFER, SESSION, call, error_in, form
from tests.fakes.phone import ANSWER, FakePhone


async def test_a_bare_offer_opens_a_call(client: TestClient[Any, Any], phone: FakePhone) -> None:
    response = await call(client)
    assert response.status == 201
    assert response.content_type == SDP
    assert await response.text() == ANSWER
    assert response.headers["Location"] == f"{CALLS}/call_0"
    assert phone.sessions["call_0"] == {}


async def test_a_form_brings_the_session_with_the_offer(
    client: TestClient[Any, Any], phone: FakePhone
) -> None:
    session = {**SESSION, "umigame": {"mode": "cascade", "resume": "token"}}
    response = await client.post(CALLS, data=form(sdp=OFFER, session=json.dumps(session)))
    assert response.status == 201
    assert phone.sessions["call_0"] == session
    assert phone.resumed == ["token"]


async def test_a_form_with_typed_parts_and_files_is_the_same(
    client: TestClient[Any, Any], phone: FakePhone
) -> None:
    data = FormData()
    data.add_field("sdp", OFFER, content_type=SDP)
    data.add_field(
        "session", json.dumps(SESSION), content_type="application/json", filename="session.json"
    )
    assert (await client.post(CALLS, data=data)).status == 201
    assert phone.sessions["call_0"] == SESSION


@pytest.mark.parametrize(
    ("body", "content_type", "status"),
    [
        (b"", SDP, 400),
        (b"hello", SDP, 400),
        (b"\xff\xfe\x00", SDP, 400),
        (b"v=0\r\n", SDP, 400),
        (b"v=0" + b"a" * 300_000, SDP, 413),
        (OFFER.encode(), "text/plain", 415),
        (b"{}", "application/json", 415),
        (b"", "", 415),
        (b"junk", "multipart/form-data; boundary=x", 400),
        (b"junk", "multipart/form-data", 400),
        (b"--x\r\n\r\n\xff\r\n--x--\r\n", "multipart/form-data; boundary=x", 400),
        (b"--x\r\n" + b"a" * 300_000, "multipart/form-data; boundary=x", 400),
        (b"--x\r\nContent-Transfer-Encoding: odd\r\n\r\n", "multipart/form-data; boundary=x", 400),
        (
            b'--x\r\nContent-Disposition: form-data; name="sdp"\r\n'
            b"Content-Type: text/plain; charset=odd\r\n\r\nv=0\r\n--x--\r\n",
            "multipart/form-data; boundary=x",
            400,
        ),
    ],
)
async def test_junk_gets_a_clear_answer_and_opens_nothing(
    client: TestClient[Any, Any], phone: FakePhone, body: bytes, content_type: str, status: int
) -> None:
    response = await client.post(CALLS, data=body, headers={"Content-Type": content_type})
    assert response.status == status
    assert (await error_in(response))["type"] == "invalid_request_error"
    assert phone.sessions == {}


async def test_a_body_that_is_not_what_it_is_encoded_as_is_refused(
    client: TestClient[Any, Any],
) -> None:
    response = await call(client, headers={"Content-Encoding": "gzip"})
    assert response.status == 400
    await error_in(response)


async def test_a_caller_that_dribbles_its_body_is_not_waited_for(
    client: TestClient[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("server.signalling.BODY_TIMEOUT_S", 0.05)

    async def dribble() -> AsyncIterator[bytes]:
        yield b"v=0"
        await asyncio.sleep(60)

    async with asyncio.timeout(10):
        response = await client.post(CALLS, data=dribble(), headers={"Content-Type": SDP})
        assert response.status == 400
        assert "did not come" in (await error_in(response))["message"]


@pytest.mark.parametrize(
    "parts",
    [
        {"session": "{}"},
        {"sdp": OFFER, "session": "{"},
        {"sdp": OFFER, "session": "[]"},
        {"sdp": OFFER, "session": "[" * 100_000},
        {"sdp": OFFER, "session": '{"umigame": 1}'},
        {"sdp": OFFER, "session": '{"umigame": {"resume": 1}}'},
    ],
)
async def test_a_broken_session_is_refused(
    client: TestClient[Any, Any], phone: FakePhone, parts: dict[str, str]
) -> None:
    response = await client.post(CALLS, data=form(**parts))
    assert response.status == 400
    await error_in(response)
    assert phone.sessions == {}


async def test_a_form_too_long_is_refused(client: TestClient[Any, Any]) -> None:
    response = await client.post(CALLS, data=form(sdp=OFFER, session="a" * 300_000))
    assert response.status == 413
    await error_in(response)


async def test_candidates_trickle_in(client: TestClient[Any, Any], phone: FakePhone) -> None:
    location = (await call(client)).headers["Location"]
    fragment = "a=ice-ufrag:same\r\na=candidate:1 1 udp 1 192.0.2.1 9 typ host\r\n"
    headers = {"Content-Type": FRAGMENT}
    response = await client.patch(location, data=fragment, headers=headers)
    assert response.status == 204
    assert phone.fragments == [fragment]
    restart = await client.patch(location, data="a=ice-ufrag:new\r\n", headers=headers)
    assert restart.status == 422
    assert (await error_in(restart))["code"] == "ice_restart_unsupported"
    wrong = await client.patch(location, data="{}", headers={"Content-Type": "application/json"})
    assert wrong.status == 415


@pytest.mark.parametrize(("method", "suffix"), [("POST", "/hangup"), ("DELETE", "")])
async def test_hanging_up_ends_one_call_only(
    client: TestClient[Any, Any], phone: FakePhone, method: str, suffix: str
) -> None:
    location = (await call(client)).headers["Location"]
    await call(client)
    assert (await client.request(method, location + suffix)).status == 204
    assert list(phone.sessions) == ["call_1"]
    again = await client.request(method, location + suffix)
    assert again.status == 404
    assert (await error_in(again))["code"] == "call_not_found"


async def test_one_too_many_is_told_when_to_try_again(
    client: TestClient[Any, Any], phone: FakePhone
) -> None:
    for _ in range(2):
        assert (await call(client)).status == 201
    response = await call(client)
    assert response.status == 429
    assert int(response.headers["Retry-After"]) >= 1
    assert (await error_in(response))["hint"]
    assert len(phone.sessions) == 2


async def test_a_server_that_stops_says_so(client: TestClient[Any, Any], phone: FakePhone) -> None:
    phone.drain()
    response = await call(client)
    assert response.status == 503 and "Retry-After" in response.headers


async def test_a_dead_engine_makes_the_server_unready(
    client: TestClient[Any, Any], phone: FakePhone
) -> None:
    assert (await client.get("/readyz")).status == 200
    phone.broken = EngineError("The front-end died.")
    ready = await client.get("/readyz")
    assert ready.status == 503
    assert (await ready.json())["reason"] == "The front-end died."
    assert (await call(client)).status == 503
    assert (await client.get("/healthz")).status == 200


async def test_the_unforeseen_tells_the_caller_nothing_and_the_log_all(
    client: TestClient[Any, Any], phone: FakePhone, caplog: pytest.LogCaptureFixture
) -> None:
    phone.broken = RuntimeError("the cable of rack 7")
    response = await call(client)
    assert response.status == 500
    error = await error_in(response)
    assert error["type"] == "server_error" and "rack 7" not in error["message"]
    assert "rack 7" in caplog.text
    phone.broken = None
    assert (await call(client)).status == 201


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/nowhere", 404), ("GET", CALLS, 405), ("GET", "/../settings.py", 404)],
)
async def test_wrong_paths_answer_as_json(
    client: TestClient[Any, Any], method: str, path: str, status: int
) -> None:
    response = await client.request(method, path)
    assert response.status == status
    await error_in(response)


@pytest.mark.parametrize(
    "body",
    [
        "[]",
        "{",
        '{"session": 1}',
        '{"expires_after": 5}',
        '{"expires_after": {"seconds": 9}}',
        '{"expires_after": {"seconds": 1e99}}',
        '{"expires_after": {"seconds": true}}',
    ],
)
async def test_a_wrong_wish_for_a_bearer_is_refused(
    client: TestClient[Any, Any], body: str
) -> None:
    response = await client.post("/v1/realtime/client_secrets", data=body)
    assert response.status == 400
    await error_in(response)


async def test_the_page_learns_the_ice_servers(client: TestClient[Any, Any]) -> None:
    response = await client.get("/v1/realtime/ice-servers")
    assert await response.json() == {"ice_servers": [{"urls": ["stun:stun.example"]}]}
