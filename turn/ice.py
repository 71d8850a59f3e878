"""Which STUN and TURN servers a caller gets: asked for each call anew, so that none is too old.

A source is a coturn whose secret we share (Minted), a provider that hands out servers at a URL
(Fetched), or a list (Listed). `now` is Unix seconds.
"""

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from turn.credentials import mint


class NoIceServers(Exception):
    """A provider did not say which servers to use."""


@dataclass(frozen=True, slots=True)
class IceServer:
    """As RTCIceServer (W3C webrtc-pc)."""

    urls: tuple[str, ...]
    username: str = ""
    credential: str = field(default="", repr=False)

    def as_json(self) -> dict[str, Any]:
        known = {"username": self.username, "credential": self.credential}
        return {"urls": list(self.urls), **{name: value for name, value in known.items() if value}}


@dataclass(frozen=True, slots=True)
class Offer:
    """What a provider answered."""

    servers: tuple[IceServer, ...]
    ttl_s: float | None
    """How long they are good for; None: it did not say."""


class IceSource(Protocol):
    async def servers(self, now: float) -> tuple[IceServer, ...]:
        """Those to use for a call that begins now. Raises NoIceServers."""


@dataclass(frozen=True, slots=True)
class Listed:
    """Always the same."""

    listed: tuple[IceServer, ...]

    async def servers(self, now: float) -> tuple[IceServer, ...]:
        return self.listed


@dataclass(frozen=True, slots=True)
class Minted:
    """A coturn that shares our secret; each request gets credentials of its own."""

    urls: tuple[str, ...]
    secret: str = field(repr=False)
    ttl_s: int

    async def servers(self, now: float) -> tuple[IceServer, ...]:
        # Nobody's name or address: it stands in coturn's log. Quotas are by credential then.
        made = mint(self.secret, secrets.token_hex(4), self.ttl_s, now)
        return (IceServer(self.urls, made.username, made.password),)


class Fetched:
    """A provider's, kept for half their life: a call that gets them can still use them."""

    def __init__(self, fetch: Callable[[], Awaitable[Offer]], ttl_s: float) -> None:
        """`ttl_s` is for answers that do not say. `fetch` raises NoIceServers."""
        self._fetch = fetch
        self._ttl_s = ttl_s
        self._lock = asyncio.Lock()
        self._kept: tuple[IceServer, ...] = ()
        self._renew_at = self._ends_at = 0.0

    async def servers(self, now: float) -> tuple[IceServer, ...]:
        async with self._lock:
            if now >= self._renew_at:
                await self._renew(now)
        return self._kept

    async def _renew(self, now: float) -> None:
        try:
            offer = await self._fetch()
        except NoIceServers:
            if now >= self._ends_at:
                raise
            return
        ttl_s = self._ttl_s if offer.ttl_s is None else offer.ttl_s
        self._kept = offer.servers
        self._renew_at, self._ends_at = now + ttl_s / 2, now + ttl_s


def read_offer(body: Any, max_age_s: float | None = None) -> Offer:
    """What providers answer: a list of servers, or an object that holds one and perhaps a TTL.

    `max_age_s` is HTTP's Cache-Control, for those that say it there. Raises NoIceServers.
    """
    held = body if isinstance(body, dict) else {}
    listed = body if isinstance(body, list) else held.get("iceServers", held.get("ice_servers"))
    listed = [listed] if isinstance(listed, dict) else listed
    if not isinstance(listed, list) or not all(isinstance(each, dict) for each in listed):
        raise NoIceServers("The answer holds no iceServers.")
    ttl = held.get("ttl", held.get("lifetimeDuration"))
    try:
        ttl_s = max_age_s if ttl is None else float(ttl)
    except (TypeError, ValueError):
        raise NoIceServers("The answer's ttl is no number.") from None
    return Offer(tuple(_server(each) for each in listed), ttl_s)


def _server(each: dict[str, Any]) -> IceServer:
    urls = each.get("urls", each.get("url"))
    urls = [urls] if isinstance(urls, str) else urls
    if not isinstance(urls, Sequence) or not all(isinstance(url, str) for url in urls):
        raise NoIceServers("A server in the answer has no urls.")
    return IceServer(tuple(urls), str(each.get("username", "")), str(each.get("credential", "")))
