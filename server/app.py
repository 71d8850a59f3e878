"""The server's process: HTTP in front, calls behind, and an orderly end."""

import asyncio
import contextlib
import ipaddress
import logging
import secrets
import signal
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from socket import AI_PASSIVE, SO_REUSEADDR, SOCK_STREAM, SOL_SOCKET, getaddrinfo
from socket import socket as Socket
from typing import Any, Protocol

from aiohttp import web

from pipeline.clock import now
from pipeline.errors import ConfigError
from server.auth import Auth, Gate
from server.guard import METRICS, guards
from server.ice import IceServers
from server.metrics import CONTENT_TYPE, Metrics, sample_loop
from server.page import Page, read_page
from server.proxies import Proxies
from server.settings import ServerSettings, Settings
from server.signalling import MAX_BODY_BYTES, Calls, Signalling

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Choice:
    """A part that was chosen at start."""

    part: str
    """front-end, STT, LLM or TTS."""
    name: str
    why: str


class Service(Protocol):
    """What answers the calls: engine, STT, LLM and all that is theirs."""

    @property
    def calls(self) -> Calls: ...

    @property
    def choices(self) -> Sequence[Choice]: ...

    @property
    def failed(self) -> "asyncio.Future[None]":
        """Gets the error with which no call can ever be taken again."""

    def not_ready(self) -> str:
        """Why no call can be taken; "" if one can."""

    def drain(self) -> None:
        """Let nobody in any more and ask every call to end; leaving its context waits for them."""


Start = Callable[[Settings, Metrics], AbstractAsyncContextManager[Service]]
"""Starts the service on entering, ends it on leaving. Raises ConfigError."""

Started = Callable[[str, Sequence[Choice]], None]
"""Told the URL and what was chosen, once callers can come."""


def build_app(
    settings: Settings, service: Service, metrics: Metrics, page: Page
) -> web.Application:
    """The whole HTTP surface."""
    server = settings.server
    secret = server.secret.get_secret_value() if server.secret else None
    auth = Auth(secret, secrets.token_bytes(32))
    gate = Gate(server.allowed_hosts, server.allowed_origins)
    signalling = Signalling(service.calls, auth, ice_for_pages(settings), service.not_ready)
    app = web.Application(
        middlewares=guards(auth, gate, Proxies(server.trusted_proxies)),
        client_max_size=MAX_BODY_BYTES,
    )
    app.add_routes([*signalling.routes(), *page.routes(), metrics_route(metrics)])
    return app


def ice_for_pages(settings: Settings) -> Callable[[], Awaitable[dict[str, Any]]]:
    """What a page gets for a call it is about to make."""
    servers = IceServers(settings)
    policy = {"ice_transport_policy": "relay"} if settings.turn.page_relay_only else {}

    async def ice() -> dict[str, Any]:
        return {"ice_servers": [each.as_json() for each in await servers.now()], **policy}

    return ice


def metrics_route(metrics: Metrics) -> web.RouteDef:
    async def scrape(request: web.Request) -> web.Response:
        return web.Response(body=metrics.render(), headers={"Content-Type": CONTENT_TYPE})

    return web.get(METRICS, scrape)


async def serve(settings: Settings, start: Start, started: Started) -> None:
    """Serve until SIGTERM or SIGINT; then end all calls, the last of them after drain_s.

    Ends likewise, raising the cause, when the service has failed: whoever started it restarts it.
    """
    metrics = Metrics()
    page = Page(await asyncio.to_thread(read_page))
    try:
        async with asyncio.timeout(None) as patience:
            tls = tls_context(settings.server)
            with bind(settings.server) as socket:
                async with start(settings, metrics) as service, sampling(metrics):
                    app = build_app(settings, service, metrics, page)
                    async with listening(app, socket, tls):
                        stop = stop_signal()
                        started(_url(socket, tls), service.choices)
                        failed = await until_stopped(stop, service)
                        log.info("stopping")
                        service.drain()
                        patience.reschedule(now() + settings.limits.drain_s)
                if failed:
                    service.failed.result()
    except TimeoutError:
        if not patience.expired():
            raise
        log.warning("calls were cut off after %.0f s", settings.limits.drain_s)


async def until_stopped(stop: asyncio.Event, service: Service) -> bool:
    """By a signal, or by the service's failure: then it is True."""
    stopped = asyncio.create_task(stop.wait(), name="stop signal")
    reasons: list[asyncio.Future[Any]] = [stopped, service.failed]
    await asyncio.wait(reasons, return_when=asyncio.FIRST_COMPLETED)
    stopped.cancel()
    return service.failed.done()


def stop_signal() -> asyncio.Event:
    """Set by the first SIGTERM or SIGINT; a second one kills as usual."""
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()

    def stopping() -> None:
        stop.set()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping)
    return stop


def bind(server: ServerSettings) -> Socket:
    """Claim the port, before anything slow is started. Raises ConfigError if it is taken."""
    with contextlib.ExitStack() as undo:
        try:
            found = getaddrinfo(server.host, server.port, type=SOCK_STREAM, flags=AI_PASSIVE)
            family, kind, protocol, _, address = found[0]
            socket = undo.enter_context(Socket(family, kind, protocol))
            socket.setsockopt(SOL_SOCKET, SO_REUSEADDR, 1)
            socket.bind(address)
        except OSError as error:
            raise ConfigError(
                f"Cannot listen on {server.host} port {server.port}: {error.strerror}.",
                hint="Choose another with --port or --host.",
            ) from error
        undo.pop_all()
    return socket


@contextlib.asynccontextmanager
async def listening(
    app: web.Application, socket: Socket, tls: ssl.SSLContext | None
) -> AsyncGenerator[None, None]:
    """Answer HTTP, or HTTPS, while inside."""
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1)
    await runner.setup()
    try:
        await web.SockSite(runner, socket, ssl_context=tls).start()
        yield
    finally:
        await runner.cleanup()


@contextlib.asynccontextmanager
async def sampling(metrics: Metrics) -> AsyncGenerator[None, None]:
    """Watch the loop while inside."""
    sampler = asyncio.create_task(sample_loop(metrics), name="loop lag")
    try:
        yield
    finally:
        sampler.cancel()
        await asyncio.wait([sampler])


def tls_context(server: ServerSettings) -> ssl.SSLContext | None:
    """For HTTPS, if there is a certificate. Raises ConfigError if it cannot be used."""
    if server.tls_cert is None:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(server.tls_cert, server.tls_key)
    except OSError as error:
        raise ConfigError(
            f"The certificate {server.tls_cert} or its key cannot be used: {error}.",
            hint="Both must be PEM; the key without a password, readable for this user.",
        ) from error
    return context


def _url(socket: Socket, tls: ssl.SSLContext | None) -> str:
    scheme = "http" if tls is None else "https"
    host, port = socket.getsockname()[:2]
    address = ipaddress.ip_address(host)
    if address.is_loopback or address.is_unspecified:
        host = "localhost"
    return f"{scheme}://[{host}]:{port}/" if ":" in host else f"{scheme}://{host}:{port}/"
