import ipaddress
from pathlib import Path

import pytest

from turn.coturn import DENIED, Coturn, render

FOLDER = Path("/run/x")


def options(**values: object) -> dict[str, list[str]]:
    """Of the rendered file, by name."""
    config = Coturn(**{"secret": "north", "realm": "example.org", **values})  # type: ignore[arg-type]
    found: dict[str, list[str]] = {}
    for line in render(config, FOLDER).splitlines():
        name, _, value = line.partition("=")
        found.setdefault(name, []).append(value)
    return found


def test_only_those_with_credentials_are_let_in_and_there_is_no_console() -> None:
    rendered = options()
    assert rendered["static-auth-secret"] == ["north"]
    for switch in ("use-auth-secret", "no-cli", "no-multicast-peers", "no-tcp-relay", "no-tls"):
        assert rendered[switch] == [""]
    assert rendered["stale-nonce"] == ["600"]
    assert not {"no-auth", "user", "allow-loopback-peers"} & rendered.keys()


def test_private_networks_are_out_of_reach_but_the_media_server_is_not() -> None:
    rendered = options(allowed_peers=("10.0.0.5",))
    assert rendered["allowed-peer-ip"] == ["10.0.0.5"]
    denied = [range_ for range_ in map(_range, rendered["denied-peer-ip"])]
    for address in ("10.0.0.6", "127.0.0.1", "169.254.169.254", "::1", "fd00::1", "fe80::1"):
        parsed = ipaddress.ip_address(address)
        assert any(
            int(first) <= int(parsed) <= int(last)
            for first, last in denied
            if first.version == parsed.version
        ), address


def test_every_special_network_that_python_knows_is_denied() -> None:
    denied = [_range(each) for each in DENIED]
    for network in ("0.0.0.0/8", "100.64.0.0/10", "192.168.0.0/16", "198.18.0.0/15", "fc00::/7"):
        parsed = ipaddress.ip_network(network)
        assert (parsed[0], parsed[-1]) in denied


def test_tls_and_a_nat_are_told_when_they_are_there() -> None:
    rendered = options(
        tls_port=443, cert=Path("/c"), key=Path("/k"), external_ip="192.0.2.9", listen=("10.0.0.5",)
    )
    assert rendered["tls-listening-port"] == ["443"] and rendered["no-tlsv1"] == [""]
    assert (rendered["cert"], rendered["pkey"]) == (["/c"], ["/k"])
    assert rendered["external-ip"] == ["192.0.2.9"]
    assert rendered["relay-ip"] == rendered["listening-ip"] == ["10.0.0.5"]
    assert "no-tls" not in rendered


def test_a_secret_cannot_smuggle_in_an_option() -> None:
    with pytest.raises(ValueError, match="line break"):
        options(secret="north\nno-auth")


def test_the_secret_does_not_show_where_it_might_be_logged() -> None:
    assert "north" not in repr(Coturn("north", "example.org"))


def _range(text: str) -> tuple[ipaddress._BaseAddress, ipaddress._BaseAddress]:
    first, _, last = text.partition("-")
    return ipaddress.ip_address(first), ipaddress.ip_address(last or first)
