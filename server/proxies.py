"""Whose request it is, when a proxy hands it on. Pure."""

import ipaddress
from collections.abc import Iterable, Sequence


class Proxies:
    """Those that are believed. Others could write anybody's address into X-Forwarded-For."""

    def __init__(self, trusted: Iterable[str] = ()) -> None:
        """`trusted`: addresses or networks ("192.0.2.0/24")."""
        self._networks = [ipaddress.ip_network(each) for each in trusted]

    def client_ip(self, peer: str, forwarded_for: Sequence[str]) -> str:
        """The nearest address that is not a trusted proxy's.

        `peer` is who connected to us, `forwarded_for` the request's X-Forwarded-For lines: each
        proxy adds at the end whom it was asked by.
        """
        chain = [hop.strip() for line in forwarded_for for hop in line.split(",") if hop.strip()]
        chain.append(peer)
        while len(chain) > 1 and self._trusts(chain[-1]):
            chain.pop()
        return chain[-1]

    def _trusts(self, hop: str) -> bool:
        try:
            address = ipaddress.ip_address(hop)
        except ValueError:
            return False
        # A socket that listens on "::" shows IPv4 callers like this.
        mapped = address.ipv4_mapped if address.version == 6 else None
        return any((mapped or address) in network for network in self._networks)
