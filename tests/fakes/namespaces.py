"""Three networks in one machine: a browser's, a gate with coturn, and a server's.

browser 10.77.1.2 ── 10.77.1.1 gate 10.77.2.1 ── 10.77.2.2 server

The gate forwards nothing: what passes is what a process in it carries. Its firewall is made of
routing rules, so that neither nft nor iptables is needed.
"""

import contextlib
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass

BROWSER, GATE_NEAR, GATE_WEB, GATE_FAR, SERVER = (
    "10.77.1.2",
    "10.77.1.1",
    "10.77.1.3",
    "10.77.2.1",
    "10.77.2.2",
)


class Forbidden(Exception):
    """This machine lets us make no networks."""


@dataclass(frozen=True, slots=True)
class Networks:
    """Names of the namespaces."""

    browser: str
    gate: str
    server: str

    def pass_only(self, *protocols: str) -> None:
        """From now on of what the browser sends: "udp", "tcp", or "tcp 443" for one port."""
        for each in protocols:
            protocol, *port = each.split()
            selected = ["ipproto", protocol, *(["dport", *port] if port else [])]
            self._rule("1", *selected, "lookup", "local")
        for protocol in ("udp", "tcp"):  # and not all: ARP asks these rules too
            self._rule("2", "ipproto", protocol, "blackhole")

    def _rule(self, order: str, *what: str) -> None:
        ip("-n", self.gate, "rule", "add", "pref", order, "iif", "near", *what)


def inside(namespace: str) -> list[str]:
    """What to put before a command."""
    return ["ip", "netns", "exec", namespace]


def ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True)


@contextlib.contextmanager
def networks() -> Iterator[Networks]:
    """Raises Forbidden where they cannot be made."""
    made = Networks(*(f"umigame-{name}-{os.getpid()}" for name in ("browser", "gate", "server")))
    names = (made.browser, made.gate, made.server)
    with contextlib.ExitStack() as stack:
        try:
            for name in names:
                ip("netns", "add", name)
                stack.callback(ip, "netns", "del", name)
                ip("-n", name, "link", "set", "lo", "up")
            _wire(made.browser, BROWSER, made.gate, "near", GATE_NEAR)
            _wire(made.server, SERVER, made.gate, "far", GATE_FAR)
            ip("-n", made.gate, "addr", "add", f"{GATE_WEB}/24", "dev", "near")
            # Local delivery comes after the firewall.
            ip("-n", made.gate, "rule", "add", "pref", "10", "lookup", "local")
            ip("-n", made.gate, "rule", "del", "pref", "0")
        except FileNotFoundError as error:
            raise Forbidden("ip is not installed: apt install iproute2") from error
        except subprocess.CalledProcessError as error:
            raise Forbidden(f"networks cannot be made here: {error.stderr.strip()}") from error
        yield made


def _wire(inner: str, address: str, gate: str, name: str, gateway: str) -> None:
    ip("link", "add", "eth0", "netns", inner, "type", "veth", "peer", "name", name, "netns", gate)
    for namespace, device, own in ((inner, "eth0", address), (gate, name, gateway)):
        ip("-n", namespace, "addr", "add", f"{own}/24", "dev", device)
        ip("-n", namespace, "link", "set", device, "up")
    ip("-n", inner, "route", "add", "default", "via", gateway)
