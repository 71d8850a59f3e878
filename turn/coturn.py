"""What coturn is told: a hardened turnserver.conf. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

DENIED = (
    "0.0.0.0-0.255.255.255",
    "10.0.0.0-10.255.255.255",
    "100.64.0.0-100.127.255.255",
    "127.0.0.0-127.255.255.255",
    "169.254.0.0-169.254.255.255",
    "172.16.0.0-172.31.255.255",
    "192.0.0.0-192.0.0.255",
    "192.0.2.0-192.0.2.255",
    "192.88.99.0-192.88.99.255",
    "192.168.0.0-192.168.255.255",
    "198.18.0.0-198.19.255.255",
    "198.51.100.0-198.51.100.255",
    "203.0.113.0-203.0.113.255",
    "240.0.0.0-255.255.255.255",
    "::1",
    "64:ff9b::-64:ff9b::ffff:ffff",
    "::ffff:0.0.0.0-::ffff:255.255.255.255",
    "100::-100::ffff:ffff:ffff:ffff",
    "2001::-2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff",
    "2002::-2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
    "fc00::-fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
    "fe80::-febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
)
"""Private and special ranges (RFC 6890): a relay into them opens the operator's own network."""

USER_QUOTA = 16
"""Allocations of one caller: a browser makes one a URL and network interface."""


@dataclass(frozen=True, slots=True)
class Coturn:
    """One coturn. Addresses are as text; paths must be absolute."""

    secret: str = field(repr=False)
    realm: str
    port: int = 3478
    """UDP and TCP."""
    tls_port: int | None = None
    cert: Path | None = None
    key: Path | None = None
    listen: tuple[str, ...] = ()
    """Addresses to listen on and relay from; none: all of the machine."""
    external_ip: str = ""
    """The public address, where a 1:1 NAT is in front."""
    relay_ports: tuple[int, int] = (49152, 65535)
    """First and last, UDP."""
    allowed_peers: tuple[str, ...] = ()
    """The media server's addresses, reached although their range is denied."""
    quota: int = 0
    """Allocations at once, of all callers; 0: no limit."""
    stale_nonce_s: int = 600
    max_lifetime_s: int = 3600
    """Of an allocation that is not refreshed."""


def render(config: Coturn, folder: Path) -> str:
    """The file's text; coturn keeps its own files in `folder`. It holds the secret: mode 0600.

    Raises ValueError for a value that would start a line of its own.
    """
    lines = [f"{name}={value}" if value != "" else name for name, value in _options(config, folder)]
    if any("\n" in line or "\r" in line for line in lines):
        raise ValueError("A setting of coturn holds a line break.")
    return "\n".join(lines) + "\n"


def _options(config: Coturn, folder: Path) -> Iterator[tuple[str, object]]:
    yield "use-auth-secret", ""
    yield "static-auth-secret", config.secret
    yield "realm", config.realm
    for address in config.listen:
        yield "listening-ip", address
        yield "relay-ip", address
    yield "listening-port", config.port
    yield from _tls(config)
    yield "min-port", config.relay_ports[0]
    yield "max-port", config.relay_ports[1]
    if config.external_ip:
        yield "external-ip", config.external_ip
    for peers in DENIED:
        yield "denied-peer-ip", peers
    for address in config.allowed_peers:
        yield "allowed-peer-ip", address
    yield "user-quota", USER_QUOTA
    yield "total-quota", config.quota
    yield "stale-nonce", config.stale_nonce_s
    yield "max-allocate-lifetime", config.max_lifetime_s
    for switch in HARDENED:
        yield switch, ""
    yield "simple-log", ""
    yield "log-file", "stdout"
    yield "pidfile", folder / "turnserver.pid"
    yield "userdb", folder / "turndb"


def _tls(config: Coturn) -> Iterator[tuple[str, object]]:
    yield "no-dtls", ""
    if config.tls_port is None:
        yield "no-tls", ""
        return
    yield "tls-listening-port", config.tls_port
    yield "cert", config.cert
    yield "pkey", config.key
    yield "no-tlsv1", ""
    yield "no-tlsv1_1", ""


HARDENED = (
    "fingerprint",
    "verbose",
    "no-cli",
    "no-multicast-peers",
    "no-tcp-relay",
    "no-rfc5780",
    "no-stun-backward-compatibility",
    "response-origin-only-with-rfc5780",
    "no-software-attribute",
)
"""No remote console, no relaying by TCP, nothing that amplifies or tells the version.

`verbose` is for the log, of which log.py keeps what an operator wants to know.
"""
