"""Calls through a real coturn: the terminal client against the server's signalling and peers."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import numpy as np
import pytest

from pipeline.clock import now
from server.reach import TurnSettings
from server.rtc.client import Caller, CallFailed, dial
from server.rtc.gather import RELAY_WAIT_S
from server.rtc.microphone import RATE_HZ
from server.settings import ServerSettings, Settings
from tests.fakes.certificate import Certificate
from tests.fakes.echo_phone import EchoPhone, echoing
from tests.io.turn.conftest import SECRET, StartCoturn, free_port
from turn.coturn import Coturn
from turn.runner import coturn
from turn.urls import coturn_urls

TONE = np.sin(np.arange(RATE_HZ // 2, dtype=np.float32) * 0.1) * np.float32(0.5)


WAYS = ("stun", "udp", "tcp", "tls")


def settings_for(relay: Coturn, way: str = "udp", **turn: object) -> Settings:
    """A server whose callers know one way to the relay."""
    urls = coturn_urls(relay.listen[0], relay.port, relay.tls_port)
    values = {"urls": urls[WAYS.index(way)], "secret": SECRET, **turn}
    return Settings(server=ServerSettings(), turn=TurnSettings.model_validate(values))


@asynccontextmanager
async def relayed(settings: Settings) -> AsyncIterator[tuple[Caller, EchoPhone]]:
    async with (
        asyncio.timeout(30),
        echoing(settings) as (url, phone),
        dial(url, relay_only=True) as call,
    ):
        yield call, phone


async def hears_itself(call: Caller) -> None:
    """The tone comes back."""
    said = await call.say(TONE)
    async with asyncio.timeout(5):
        while call.first_sound_after(said.began_s) is None:  # noqa: ASYNC110
            await asyncio.sleep(0.05)


@pytest.mark.parametrize("way", WAYS[1:])
async def test_a_call_passes_through_the_relay_alone(
    start_coturn: StartCoturn,
    certificate: Certificate,
    monkeypatch: pytest.MonkeyPatch,
    way: str,
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate.cert))
    async with relayed(settings_for(await start_coturn(), way)) as (call, phone):
        (peer,) = phone.peers.values()
        assert peer.relayed() is True
        await hears_itself(call)


async def test_both_sides_may_be_relayed(start_coturn: StartCoturn) -> None:
    settings = settings_for(await start_coturn(), relay_only=True)
    async with relayed(settings) as (call, _):
        await hears_itself(call)


async def test_where_udp_is_blocked_the_next_way_is_taken_at_once(
    start_coturn: StartCoturn,
) -> None:
    relay = await start_coturn()
    blocked = f"turn:{relay.listen[0]}:{free_port(relay.listen[0])}?transport=udp"
    open_way = f"turn:{relay.listen[0]}:{relay.port}?transport=tcp"
    began_s = now()
    async with relayed(settings_for(relay, urls=[blocked, open_way])) as (call, _):
        assert now() - began_s < 2 * RELAY_WAIT_S, "neither side waited for it"
        await hears_itself(call)


async def test_calls_are_made_long_after_the_first_credentials_expired(
    start_coturn: StartCoturn,
) -> None:
    settings = settings_for(await start_coturn(), ttl_s=2)
    async with asyncio.timeout(30), echoing(settings) as (url, _):
        async with dial(url, relay_only=True):
            await asyncio.sleep(5)
        async with dial(url, relay_only=True) as call:
            await hears_itself(call)


async def test_a_call_outlives_its_credentials_and_stale_nonces(
    start_coturn: StartCoturn,
) -> None:
    relay = await start_coturn(max_lifetime_s=3, stale_nonce_s=1)
    async with relayed(settings_for(relay, ttl_s=3)) as (call, _):
        await asyncio.sleep(7)  # the allocation was refreshed twice by now
        await hears_itself(call)


async def test_a_wrong_secret_is_told_as_such(
    start_coturn: StartCoturn, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    settings = settings_for(await start_coturn(), secret="another secret of ours")
    with pytest.raises(CallFailed, match=r"refused the credentials: wrong secret.*\(401\)"):
        async with relayed(settings):
            pass
    assert "the credentials are wrong or have expired" in caplog.text, "coturn says it too"
    assert SECRET not in caplog.text and "another secret" not in caplog.text


async def test_expired_credentials_are_told_as_such(
    start_coturn: StartCoturn, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = settings_for(await start_coturn(), ttl_s=1)
    slow_s = time.time() - 60
    monkeypatch.setattr("server.ice.time.time", lambda: slow_s)
    with pytest.raises(CallFailed, match=r"refused the credentials.*\(401\)"):
        async with relayed(settings):
            pass


async def test_a_certificate_that_nobody_vouches_for_is_told_as_such(
    start_coturn: StartCoturn,
) -> None:
    settings = settings_for(await start_coturn(), "tls")
    with pytest.raises(CallFailed, match="certificate that is not trusted: self-signed"):
        async with relayed(settings):
            pass


async def test_a_server_that_must_be_relayed_and_cannot_says_why(
    start_coturn: StartCoturn,
) -> None:
    relay = await start_coturn()
    nowhere = f"turn:{relay.listen[0]}:{free_port(relay.listen[0])}?transport=tcp"
    settings = settings_for(relay, urls=[nowhere], relay_only=True)
    async with echoing(settings) as (url, _):
        with pytest.raises(CallFailed, match="No relay could be had") as refused:
            async with dial(url):
                pass
    assert refused.value.status == 503


async def test_a_relay_that_died_holds_up_no_hanging_up(config: Coturn) -> None:
    async with asyncio.timeout(60), echoing(settings_for(config)) as (url, _):
        async with coturn(config):
            line = AsyncExitStack()
            await line.enter_async_context(dial(url, relay_only=True))
        began_s = now()
        await line.aclose()
        assert now() - began_s < 10, "aioice alone takes 40 s at either end"
