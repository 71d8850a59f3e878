import pytest
from aioice import Candidate

from server.rtc.gather import advertised
from server.rtc.interfaces import Address, usable

FOUND = [
    Address("lo", "127.0.0.1"),
    Address("eth0", "10.0.0.5"),
    Address("eth0", "fe80::1"),
    Address("eth0", "2001:db8::5"),
    Address("docker0", "172.17.0.1"),
    Address("br-0123abcd", "172.18.0.1"),
    Address("wg0", "10.8.0.2"),
]


def test_nobody_is_looked_for_behind_the_bridges_of_containers() -> None:
    assert usable(FOUND) == ["10.0.0.5", "2001:db8::5", "10.8.0.2"]
    assert usable(FOUND, ["wg0", "docker0"]) == ["172.17.0.1", "10.8.0.2"]


@pytest.mark.parametrize(
    ("host", "found"),
    [("10.0.0.5", ["203.0.113.9"]), ("2001:db8::5", []), ("127.0.0.1", [])],
)
def test_behind_a_nat_the_public_address_is_offered_with_the_same_port(
    host: str, found: list[str]
) -> None:
    candidate = Candidate.from_sdp(f"1 1 udp 2130706431 {host} 50000 typ host")
    made = advertised(candidate, ["203.0.113.9"])
    assert [each.host for each in made] == found
    assert all(
        (each.port, each.type, each.related_address) == (50000, "srflx", host) for each in made
    )
    assert all(each.priority < candidate.priority for each in made)
