"""The STUN and TURN servers of a call, for the page and for our own peer, minted for each."""

import logging
import time

from server.reach import TurnSettings
from server.settings import Settings
from turn.ice import Fetched, IceServer, IceSource, Listed, Minted, NoIceServers
from turn.provider import fetch_offer
from turn.urls import coturn_urls

log = logging.getLogger(__name__)


def sources(settings: Settings) -> list[IceSource]:
    """Ours first, then the list, then the provider."""
    turn = settings.turn
    found: list[IceSource] = []
    if turn.secret is not None:
        secret = turn.secret.get_secret_value()
        found.append(Minted(urls_of_coturn(settings), secret, turn.ttl_s))
    if turn.ice_servers:
        found.append(Listed(_listed(turn)))
    if url := turn.provider.get_secret_value():
        token = turn.provider_token.get_secret_value()
        found.append(Fetched(lambda: fetch_offer(url, token, turn.ttl_s), turn.ttl_s))
    return found


def urls_of_coturn(settings: Settings) -> tuple[str, ...]:
    """At which callers find the coturn that shares our secret."""
    turn = settings.turn
    certified = turn.tls_cert or settings.server.tls_cert
    tls_port = turn.tls_listening_port if certified else None
    return turn.urls or coturn_urls(turn.host, turn.listening_port, tls_port)


def _listed(turn: TurnSettings) -> tuple[IceServer, ...]:
    return tuple(
        IceServer(each.urls, each.username, each.credential.get_secret_value())
        for each in turn.ice_servers
    )


class IceServers:
    """All sources as one. A source that fails is left out: calls may find a direct path."""

    def __init__(self, settings: Settings) -> None:
        self._sources = sources(settings)

    async def now(self) -> tuple[IceServer, ...]:
        """For a call that begins."""
        found: list[IceServer] = []
        for source in self._sources:
            try:
                found += await source.servers(time.time())
            except NoIceServers as error:
                log.warning("turn.provider: %s Calls go on without its relays.", error)
        return tuple(found)
