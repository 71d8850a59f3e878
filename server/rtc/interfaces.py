"""The addresses of this machine at which a caller may reach it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from ipaddress import ip_address

import ifaddr

INNER = ("docker", "br-", "veth", "virbr", "vboxnet", "vmnet", "cni", "flannel", "podman", "lxc")
"""Names that bridges to containers and virtual machines begin with: no caller is there."""


@dataclass(frozen=True, slots=True)
class Address:
    interface: str
    ip: str


def usable(found: Iterable[Address], wanted: Sequence[str] = ()) -> list[str]:
    """Of the interfaces `wanted`, or of all but the inner ones. Never loopback, nor link-local
    IPv6, which holds on one link only."""
    return [
        each.ip
        for each in found
        if (each.interface in wanted if wanted else not each.interface.startswith(INNER))
        and not (parsed := ip_address(each.ip)).is_loopback
        and not (parsed.version == 6 and parsed.is_link_local)
    ]


def addresses() -> list[Address]:
    """All of this machine's."""
    return [
        Address(adapter.name, ip.ip if isinstance(ip.ip, str) else ip.ip[0])
        for adapter in ifaddr.get_adapters()
        for ip in adapter.ips
    ]
