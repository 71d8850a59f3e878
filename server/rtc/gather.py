"""Gathers our candidates in place of aioice, of whose parts it is made.

aioice takes one STUN and one TURN server, asks on every interface, binds any port, knows no
address but its own, and says nothing when a relay refuses.
"""

import asyncio
import ipaddress
import logging
import random
from asyncio.staggered import staggered_race
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import aioice.ice
from aioice import Candidate
from aioice.candidate import candidate_foundation, candidate_priority

from server.rtc.interfaces import addresses, usable
from server.rtc.relay import why_not
from server.rtc.seam import close_soon
from turn.ice import IceServer
from turn.urls import IceUrl, parse_url

log = logging.getLogger(__name__)

STUN_WAIT_S = 1.0
RELAY_WAIT_S = 3.0
"""How long gathering may hold up a call when a STUN or TURN server says nothing."""
HEAD_START_S = 0.3
"""Of a relay's URL before the next one is tried: UDP before TCP before TLS."""
LOOPBACK = "127.0.0.1"

Relayed = tuple[Candidate, Any]
"""And the protocol through which it sends."""


@dataclass(frozen=True, slots=True)
class IceConfig:
    """How a peer looks for a path."""

    servers: tuple[IceServer, ...] = ()
    relay_only: bool = False
    loopback: bool = False
    """Offer 127.0.0.1 too; done anyway where there is no other address."""
    ports: range | None = None
    """For our sockets, UDP; None: any."""
    advertised: tuple[str, ...] = ()
    """Addresses by which a 1:1 NAT passes on to us."""
    interfaces: tuple[str, ...] = ()
    """To be used; none: all but inner ones."""


class Gathering:
    """For one connection of aioice's."""

    def __init__(self, connection: Any, config: IceConfig) -> None:
        self.relay_failures: list[str] = []
        """Sentences; empty if a relay was found, or none is known."""
        self.found = 0
        """How many candidates there are."""
        self._connection = connection
        self._config = config

    async def candidates(self, component: int) -> list[Candidate]:
        """All that are found in time; their protocols are added to the connection."""
        config = self._config
        hosts = [] if config.relay_only else await self._hosts(component)
        async with asyncio.TaskGroup() as tasks:
            reflexive = tasks.create_task(self._reflexive(hosts), name="STUN")
            relayed = tasks.create_task(self._relayed(component), name="TURN")
        found = [each.local_candidate for each in hosts]
        found += [c for each in hosts for c in advertised(each.local_candidate, config.advertised)]
        found += reflexive.result()
        if (relay := relayed.result()) is not None:
            candidate, protocol = relay
            close_soon(protocol)
            self._connection._protocols.append(protocol)
            found.append(candidate)
        self.found = len(found)
        return found

    async def _hosts(self, component: int) -> list[Any]:
        """A socket an address."""
        found = usable(addresses(), self._config.interfaces)
        if self._config.loopback or not found:
            found.append(LOOPBACK)
        made = [await self._bind(component, address) for address in found]
        hosts = [each for each in made if each is not None]
        self._connection._protocols += hosts
        return hosts

    async def _bind(self, component: int, address: str) -> Any:
        """None if the address or every port of the range is taken."""
        loop = asyncio.get_running_loop()
        new = partial(aioice.ice.StunProtocol, self._connection)
        for port in _shuffled(self._config.ports):
            try:
                _, protocol = await loop.create_datagram_endpoint(new, local_addr=(address, port))
            except OSError as error:
                why = error
                continue
            protocol.local_candidate = _host(component, protocol)
            return protocol
        log.warning("No UDP port could be had on %s: %s", address, why)
        return None

    async def _reflexive(self, hosts: Sequence[Any]) -> list[Candidate]:
        """The first STUN server's, IPv4: aioice asks for no other."""
        url = next((u for _, u in self._urls() if u.scheme == "stun"), None)
        v4 = [each for each in hosts if _version(each.local_candidate.host) == 4]
        asked = [
            asyncio.create_task(
                aioice.ice.server_reflexive_candidate(each, (url.host, url.port)), name="STUN"
            )
            for each in v4
            if url is not None and each.local_candidate.host != LOOPBACK
        ]
        if not asked:
            return []
        try:
            done, _ = await asyncio.wait(asked, timeout=STUN_WAIT_S)
        finally:
            for task in asked:
                task.cancel()
        return [task.result()[0] for task in done if task.exception() is None]

    async def _relayed(self, component: int) -> Relayed | None:
        """The first relay that answers; one is enough."""
        urls = [(server, url) for server, url in self._urls() if url.relays]
        if not urls:
            return None
        attempts: list[Callable[[], Awaitable[Relayed]]] = [
            partial(self._allocate, component, server, url) for server, url in urls
        ]
        won: Relayed | None
        won, _, errors = await staggered_race(attempts, HEAD_START_S)
        if won is None:
            self.relay_failures = [
                f"The relay {url} {why_not(error, server.username)}."
                for (server, url), error in zip(urls, errors, strict=True)
            ]
            log.warning("%s", " ".join(self.relay_failures))
        return won

    async def _allocate(self, component: int, server: IceServer, url: IceUrl) -> Relayed:
        async with asyncio.timeout(RELAY_WAIT_S):
            relayed: Relayed = await aioice.ice.relayed_candidate(
                component=component,
                hide_related_address=self._config.relay_only,
                protocol_factory=partial(aioice.ice.StunProtocol, self._connection),
                turn_server=(url.host, url.port),
                turn_username=server.username,
                turn_password=server.credential,
                turn_ssl=url.secure,
                turn_transport=url.transport,
            )
        return relayed

    def _urls(self) -> list[tuple[IceServer, IceUrl]]:
        return [(server, parse_url(url)) for server in self._config.servers for url in server.urls]


def advertised(host: Candidate, addresses: Sequence[str]) -> list[Candidate]:
    """What a 1:1 NAT makes of a host candidate: the same port at another address.

    Named server-reflexive, as STUN would have found it (RFC 8445 section 5.1.1.2).
    """
    return [
        Candidate(
            foundation=candidate_foundation("srflx", "udp", address),
            component=host.component,
            transport=host.transport,
            priority=candidate_priority(host.component, "srflx"),
            host=address,
            port=host.port,
            type="srflx",
            related_address=host.host,
            related_port=host.port,
        )
        for address in addresses
        if _version(address) == _version(host.host) and host.host != LOOPBACK
    ]


def _host(component: int, protocol: Any) -> Candidate:
    address, port = protocol.transport.get_extra_info("sockname")[:2]
    return Candidate(
        foundation=candidate_foundation("host", "udp", address),
        component=component,
        transport="udp",
        priority=candidate_priority(component, "host"),
        host=address,
        port=port,
        type="host",
    )


def _version(address: str) -> int:
    return ipaddress.ip_address(address).version


def _shuffled(ports: range | None) -> list[int]:
    """So that calls that begin together do not all try the same."""
    return [0] if ports is None else random.sample(ports, len(ports))
