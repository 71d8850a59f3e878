"""coturn as the settings want it: by itself (`umigame turn`), or beside a server."""

import asyncio
import contextlib
import logging
import secrets
from collections.abc import AsyncGenerator, Callable
from typing import Any

from pydantic import SecretStr

from pipeline.errors import ConfigError
from server.app import Service, Start, stop_signal
from server.groups import port_range
from server.metrics import Metrics
from server.rtc.interfaces import addresses, usable
from server.settings import Settings
from turn.coturn import Coturn
from turn.runner import CoturnFailed, coturn

log = logging.getLogger(__name__)

RESTART_S = 1.0


def config_of(settings: Settings) -> Coturn:
    """Raises ConfigError for what is missing."""
    turn, server = settings.turn, settings.server
    if turn.secret is None:
        raise ConfigError(
            "turn.secret is needed: coturn and server must share it.",
            hint="Set UMIGAME_TURN__SECRET to 16 random characters or more, and turn.host.",
        )
    cert, key = turn.tls_cert or server.tls_cert, turn.tls_key or server.tls_key
    for file in filter(None, (cert, key)):
        if not file.is_file():
            raise ConfigError(f"There is no {file}.", hint="Check tls_cert and tls_key.")
    ports = port_range(turn.relay_ports)
    return Coturn(
        secret=turn.secret.get_secret_value(),
        realm=turn.host or "umigame",
        port=turn.listening_port,
        tls_port=turn.tls_listening_port if cert else None,
        cert=cert and cert.absolute(),
        key=key and key.absolute(),
        listen=turn.listen,
        external_ip=turn.external_ip,
        relay_ports=(ports[0], ports[-1]),
        # Itself too: a call may be relayed at both ends.
        allowed_peers=(turn.allowed_peers or media_addresses(settings)) + turn.listen,
        quota=turn.quota,
    )


def media_addresses(settings: Settings) -> tuple[str, ...]:
    """Where a server on this machine can be reached by its relay."""
    network = settings.network
    return tuple(dict.fromkeys([*usable(addresses(), network.interfaces), *network.advertised]))


def with_secret(settings: Settings) -> Settings:
    """A coturn of our own needs no secret that others know. Raises ConfigError without a host."""
    turn = settings.turn
    if not (turn.host or turn.urls):
        raise ConfigError(
            "turn.host is needed: the name or address at which callers reach this machine.",
            hint="Set it under [turn], or UMIGAME_TURN__HOST.",
        )
    secret = turn.secret or SecretStr(secrets.token_urlsafe(32))
    return settings.model_copy(update={"turn": turn.model_copy(update={"secret": secret})})


async def relay(settings: Settings, started: Callable[[Coturn], None]) -> None:
    """Run coturn until SIGTERM or SIGINT. Raises ConfigError if it ends by itself."""
    config = config_of(settings)
    async with _coturn(config) as ended:
        started(config)
        stopped = asyncio.create_task(stop_signal().wait(), name="stop signal")
        reasons: list[asyncio.Future[Any]] = [stopped, ended]
        await asyncio.wait(reasons, return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()
        if ended.done():
            raise ConfigError(f"coturn ended: {ended.result()}")


def beside(start: Start, settings: Settings) -> tuple[Settings, Start]:
    """A service with a coturn, which is started again should it end, and the settings of both.

    Raises ConfigError.
    """
    settings = with_secret(settings)
    config = config_of(settings)

    @contextlib.asynccontextmanager
    async def both(settings: Settings, metrics: Metrics) -> AsyncGenerator[Service, None]:
        ready = asyncio.Event()
        kept = asyncio.create_task(_keep(config, ready), name="coturn")
        waiting = asyncio.create_task(ready.wait(), name="coturn ready")
        try:
            await asyncio.wait([kept, waiting], return_when=asyncio.FIRST_COMPLETED)
            if kept.done():
                kept.result()
            async with start(settings, metrics) as service:
                yield service
        finally:
            waiting.cancel()
            kept.cancel()
            await asyncio.wait([kept, waiting])

    return settings, both


async def _keep(config: Coturn, ready: asyncio.Event) -> None:
    """Raises ConfigError if it cannot be started at all; later failures are logged."""
    while True:
        try:
            async with _coturn(config) as ended:
                ready.set()
                why = await asyncio.shield(ended)
        except ConfigError as error:
            if not ready.is_set():
                raise
            why = str(error)
        log.error("coturn ended: %s. It is started again.", why)
        await asyncio.sleep(RESTART_S)


@contextlib.asynccontextmanager
async def _coturn(config: Coturn) -> AsyncGenerator["asyncio.Future[str]", None]:
    try:
        async with coturn(config) as ended:
            yield ended
    except CoturnFailed as error:
        raise ConfigError(str(error)) from error
