import pytest

from server.proxies import Proxies

PROXIES = Proxies(["127.0.0.1", "192.0.2.0/24"])


@pytest.mark.parametrize(
    ("peer", "forwarded_for", "client"),
    [
        ("127.0.0.1", ["203.0.113.9"], "203.0.113.9"),
        ("::ffff:127.0.0.1", ["203.0.113.9"], "203.0.113.9"),
        ("127.0.0.1", ["203.0.113.9, 192.0.2.7"], "203.0.113.9"),
        ("127.0.0.1", ["203.0.113.9", "192.0.2.7"], "203.0.113.9"),
        ("127.0.0.1", ["2001:db8::1"], "2001:db8::1"),
        ("127.0.0.1", [], "127.0.0.1"),
        ("127.0.0.1", [" , "], "127.0.0.1"),
    ],
)
def test_a_trusted_proxy_says_whose_request_it_is(
    peer: str, forwarded_for: list[str], client: str
) -> None:
    assert PROXIES.client_ip(peer, forwarded_for) == client


def test_what_a_caller_wrote_before_the_proxy_is_not_believed() -> None:
    assert PROXIES.client_ip("127.0.0.1", ["10.0.0.1, 203.0.113.9"]) == "203.0.113.9"
    assert PROXIES.client_ip("127.0.0.1", ["127.0.0.1, junk"]) == "junk"


def test_nobody_else_is_believed() -> None:
    assert PROXIES.client_ip("203.0.113.9", ["10.0.0.1"]) == "203.0.113.9"
    assert Proxies().client_ip("127.0.0.1", ["10.0.0.1"]) == "127.0.0.1"
