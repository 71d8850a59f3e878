"""Ports, addresses, certificates, clock and relays."""

import asyncio
import contextlib
import shutil
import socket
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import aiohttp
from cryptography import x509

from pipeline.errors import ConfigError
from server.app import bind, tls_context
from server.doctor.checks import Check
from server.groups import port_range
from server.ice import IceServers
from server.rtc.interfaces import addresses, usable
from server.rtc.relay import external_address, try_relay, why_not
from server.settings import Settings
from turn.urls import IceUrl, parse_url

PATIENCE_S = 4.0
RENEW_DAYS = 14


async def http_port(settings: Settings) -> AsyncIterator[Check]:
    server = settings.server
    try:
        bind(server).close()
    except ConfigError as error:
        if await _is_ours(settings):
            yield Check("HTTP port", "ok", f"{server.port}: a server of ours answers there")
        else:
            yield Check("HTTP port", "problem", str(error))
    else:
        yield Check("HTTP port", "ok", f"{server.port} is free; no server is running")


async def _is_ours(settings: Settings) -> bool:
    scheme = "https" if settings.server.tls_cert else "http"
    url = f"{scheme}://{settings.server.host}:{settings.server.port}/healthz"
    patience = aiohttp.ClientTimeout(2)
    with contextlib.suppress(aiohttp.ClientError, TimeoutError, ValueError):
        # It is asked who it is, not trusted: no certificate is checked.
        async with (
            aiohttp.ClientSession(timeout=patience) as http,
            http.get(url, ssl=False) as response,
        ):
            return bool(await response.json() == {"status": "ok"})
    return False


async def media_ports(settings: Settings) -> AsyncIterator[Check]:
    found = usable(addresses(), settings.network.interfaces)
    if not found:
        hint = "there is none but loopback: browsers find no path; check network.interfaces"
        yield Check("addresses", "problem", hint)
        return
    yield Check("addresses", "ok", ", ".join(found))
    if not settings.network.ports:
        yield Check("media ports", "ok", "any UDP port; network.ports makes a firewall rule easy")
        return
    taken = [port for port in port_range(settings.network.ports) if not _free(found[0], port)]
    if taken:
        hint = f"UDP {taken[0]} and {len(taken) - 1} more of network.ports are in use"
        yield Check("media ports", "problem", f"{hint}: choose others, unless by calls")
    else:
        yield Check("media ports", "ok", f"UDP {settings.network.ports}; let the firewall pass it")


def _free(address: str, port: int) -> bool:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((address, port))
        except OSError:
            return False
    return True


async def external(settings: Settings) -> AsyncIterator[Check]:
    """What a STUN server sees, beside what we tell callers."""
    name = "external address"
    urls = [parse_url(u) for server in await IceServers(settings).now() for u in server.urls]
    stun = next((url for url in urls if url.scheme == "stun"), None)
    if stun is None:
        yield Check(name, "skipped", "no STUN server is set, so nobody can be asked")
        return
    seen = await external_address(stun, PATIENCE_S)
    known = {*usable(addresses()), *settings.network.advertised}
    if seen is None:
        yield Check(name, "problem", f"{stun} did not answer: does it run, does UDP get out?")
    elif seen in known:
        yield Check(name, "ok", seen)
    else:
        hint = f'{seen}, by way of a NAT: if it is 1:1, set network.advertised = "{seen}"'
        yield Check(name, "problem", hint + "; otherwise callers need a relay")


async def certificates(settings: Settings) -> AsyncIterator[Check]:
    server, turn = settings.server, settings.turn
    if server.tls_cert is None:
        hint = "none: without HTTPS a browser gives no microphone, except at localhost"
        yield Check("certificate", "skipped", hint)
    else:
        tls_context(server)
        yield _certificate("certificate", server.tls_cert)
    if turn.tls_cert is not None:
        yield _certificate("certificate of the relay", turn.tls_cert)


def _certificate(name: str, file: Path) -> Check:
    try:
        ends = x509.load_pem_x509_certificate(file.read_bytes()).not_valid_after_utc
    except (OSError, ValueError) as error:
        return Check(name, "problem", f"{file} cannot be read: {error}")
    left = (ends - datetime.now(UTC)).days
    if left < RENEW_DAYS:
        return Check(name, "problem", f"{file} ends in {left} days: renew it, then restart")
    return Check(name, "ok", f"good for {left} days")


async def clock(settings: Settings) -> AsyncIterator[Check]:
    """Time-limited credentials fail when server and relay differ by more than their life."""
    tool = shutil.which("timedatectl")
    if tool is None:
        yield Check("clock", "skipped", f"timedatectl is missing; here it is {time.ctime()}")
        return
    process = await asyncio.create_subprocess_exec(
        *(tool, "show", "-p", "NTPSynchronized", "--value"),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    said = (await process.communicate())[0].decode().strip()
    if said == "yes":
        yield Check("clock", "ok", "synchronised")
    elif said == "no":
        yield Check("clock", "problem", "not synchronised: timedatectl set-ntp true")
    else:
        yield Check("clock", "skipped", f"systemd does not run; here it is {time.ctime()}")


async def relays(settings: Settings) -> AsyncIterator[Check]:
    """An allocation at each URL, with credentials as a caller gets them."""
    servers = await IceServers(settings).now()
    tried = [(server, url) for server in servers for url in map(parse_url, server.urls)]
    if not any(url.relays for _, url in tried):
        hint = "none: callers whose network blocks UDP cannot be heard; see TURN in the README"
        yield Check("relay", "skipped", hint)
    for server, url in tried:
        if url.relays:
            yield await _relay(url, server.username, server.credential)


async def _relay(url: IceUrl, username: str, credential: str) -> Check:
    try:
        address = await asyncio.wait_for(try_relay(url, username, credential), PATIENCE_S)
    except Exception as error:  # why_not has words for each
        hint = f"it {why_not(error, username)}. Does coturn run, and does the firewall pass it?"
        return Check(f"relay {url}", "problem", hint)
    return Check(f"relay {url}", "ok", f"relays from {address[0]}")
