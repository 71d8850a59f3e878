"""Who gets in: other sites, friendly ones, callers with and without a bearer."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp.test_utils import TestClient

from server.admission import Admission
from server.guesses import MOST
from server.signalling import CALLS
from tests.fakes.caller import (
    FRIEND,
    OFFER,
    SECRET,
    SESSION,
    bearer,
    call,
    connect,
    error_in,
    form,
    settings_with,
)
from tests.fakes.phone import FakePhone


async def test_other_sites_and_rebound_names_open_nothing(
    client: TestClient[Any, Any], phone: FakePhone
) -> None:
    for headers in ({"Origin": "https://evil.example"}, {"Host": "evil.example"}):
        response = await client.post(CALLS, data=form(sdp=OFFER), headers=headers)
        assert response.status == 403
        assert "operator" in (await error_in(response))["hint"]
        assert "Access-Control-Allow-Origin" not in response.headers
    assert phone.sessions == {}


async def test_a_friendly_site_may_call_and_read_the_answer(client: TestClient[Any, Any]) -> None:
    preflight = await client.options(
        CALLS,
        headers={
            "Origin": FRIEND,
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "authorization,content-type",
        },
    )
    assert preflight.status == 204
    assert preflight.headers["Access-Control-Allow-Headers"] == "authorization,content-type"
    response = await call(client, headers={"Origin": FRIEND})
    assert response.status == 201
    assert response.headers["Access-Control-Allow-Origin"] == FRIEND
    assert "Location" in response.headers["Access-Control-Expose-Headers"]


async def test_a_friendly_site_can_read_errors_too(locked: TestClient[Any, Any]) -> None:
    response = await call(locked, headers={"Origin": FRIEND})
    assert response.status == 401
    assert response.headers["Access-Control-Allow-Origin"] == FRIEND


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", CALLS),
        ("PATCH", CALLS + "/call_0"),
        ("DELETE", CALLS + "/call_0"),
        ("POST", CALLS + "/call_0/hangup"),
        ("POST", "/v1/realtime/client_secrets"),
        ("GET", "/v1/realtime/ice-servers"),
        ("GET", "/metrics"),
    ],
)
async def test_a_secret_locks_everything_but_page_and_health(
    locked: TestClient[Any, Any], phone: FakePhone, method: str, path: str
) -> None:
    phone.sessions["call_0"] = {}
    for headers in ({}, bearer("guess"), bearer("ek_x.y.z")):
        response = await locked.request(method, path, headers=headers)
        assert response.status == 401
        assert response.headers["WWW-Authenticate"] == "Bearer"
        assert (await error_in(response))["code"] == "invalid_api_key"
    assert list(phone.sessions) == ["call_0"]
    for path in ("/", "/healthz", "/readyz"):
        assert (await locked.get(path)).status == 200


@pytest.mark.parametrize("guess", ["schlüssel".encode(), "schlüssel".encode("latin-1"), b"ek_\xff"])
async def test_a_bearer_that_is_not_ascii_is_a_wrong_one(
    locked: TestClient[Any, Any], guess: bytes
) -> None:
    reader, writer = await asyncio.open_connection(locked.host, locked.port)
    writer.write(b"POST %s HTTP/1.1\r\nHost: localhost\r\n" % CALLS.encode())
    writer.write(b"Authorization: Bearer %s\r\nContent-Length: 0\r\n\r\n" % guess)
    assert (await reader.readline()).split()[1] == b"401"
    writer.close()
    await writer.wait_closed()


@pytest.fixture
async def proxied(phone: FakePhone) -> AsyncIterator[TestClient[Any, Any]]:
    """A server with a secret behind a proxy."""
    phone.admission = Admission(4, 0, per_ip=1)
    settings = settings_with(secret=SECRET, trusted_proxies=("127.0.0.1",))
    client = await connect(phone, settings)
    yield client
    await client.close()


def asked_by(address: str, secret: str = SECRET) -> dict[str, str]:
    return {**bearer(secret), "X-Forwarded-For": f"10.0.0.1, {address}"}


async def test_a_trusted_proxy_tells_callers_apart(proxied: TestClient[Any, Any]) -> None:
    assert (await call(proxied, headers=asked_by("192.0.2.1"))).status == 201
    assert (await call(proxied, headers=asked_by("192.0.2.1"))).status == 429
    assert (await call(proxied, headers=asked_by("192.0.2.2"))).status == 201


async def test_one_who_guesses_the_secret_waits_and_others_do_not(
    proxied: TestClient[Any, Any],
) -> None:
    for guess in range(MOST):
        response = await call(proxied, headers=asked_by("192.0.2.1", f"guess {guess}"))
        assert response.status == 401
    response = await call(proxied, headers=asked_by("192.0.2.1"))
    assert response.status == 429 and 1 <= int(response.headers["Retry-After"]) <= 60
    assert (await error_in(response))["code"] == "too_many_guesses"
    assert (await call(proxied, headers=asked_by("192.0.2.2"))).status == 201


async def test_the_page_trades_the_secret_for_a_bearer_that_opens_calls(
    locked: TestClient[Any, Any], phone: FakePhone
) -> None:
    asked = {"session": SESSION, "expires_after": {"anchor": "created_at", "seconds": 30}}
    response = await locked.post("/v1/realtime/client_secrets", json=asked, headers=bearer(SECRET))
    assert response.status == 200
    assert response.headers["Cache-Control"] == "no-store"
    secret = (await response.json())["value"]
    assert (await call(locked, headers=bearer(secret))).status == 201
    assert phone.sessions["call_0"] == SESSION
    more = await locked.post("/v1/realtime/client_secrets", headers=bearer(secret))
    assert more.status == 401
    assert (await locked.get("/metrics", headers=bearer(secret))).status == 401
