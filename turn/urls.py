"""STUN and TURN addresses as URLs (RFC 7064, RFC 7065), IPv6 included. Pure."""

from dataclasses import dataclass
from typing import Literal, cast
from urllib.parse import parse_qs, urlsplit

Scheme = Literal["stun", "stuns", "turn", "turns"]
Transport = Literal["udp", "tcp"]

PORTS = {"stun": 3478, "turn": 3478, "stuns": 5349, "turns": 5349}
"""RFC 8656 section 18.7 (IANA)."""


@dataclass(frozen=True, slots=True)
class IceUrl:
    scheme: Scheme
    host: str
    """A name or an address, which if IPv6 has no brackets here."""
    port: int
    transport: Transport
    """Between us and the server; what is relayed is UDP always."""

    @property
    def relays(self) -> bool:
        return self.scheme in ("turn", "turns")

    @property
    def secure(self) -> bool:
        return self.scheme in ("stuns", "turns")

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        query = f"?transport={self.transport}" if self.relays else ""
        return f"{self.scheme}:{host}:{self.port}{query}"


def parse_url(url: str) -> IceUrl:
    """Raises ValueError, with words for a person, if it is none."""
    scheme, _, rest = url.partition(":")
    if scheme not in PORTS:
        raise ValueError(f"{url} must begin with stun:, stuns:, turn: or turns:")
    parts = urlsplit(f"//{rest}")
    if not parts.hostname or parts.path or parts.username:
        raise ValueError(f"{url} must read like turn:turn.example.org:3478?transport=udp")
    default = "tcp" if scheme.endswith("s") else "udp"
    transport = parse_qs(parts.query).get("transport", [default])[0]
    if transport not in ("udp", "tcp") or (scheme == "turns" and transport == "udp"):
        raise ValueError(f"{url}: this transport is not supported; there are udp and tcp")
    return IceUrl(
        cast(Scheme, scheme),
        parts.hostname,
        parts.port or PORTS[scheme],
        cast(Transport, transport),
    )


def coturn_urls(host: str, port: int, tls_port: int | None) -> tuple[str, ...]:
    """How one coturn is reached, the best way first; TCP and TLS are for firewalls."""
    urls = [
        IceUrl("stun", host, port, "udp"),
        IceUrl("turn", host, port, "udp"),
        IceUrl("turn", host, port, "tcp"),
    ]
    if tls_port is not None:
        urls.append(IceUrl("turns", host, tls_port, "tcp"))
    return tuple(map(str, urls))
