import pytest

from turn.urls import IceUrl, coturn_urls, parse_url


@pytest.mark.parametrize(
    ("url", "parsed"),
    [
        ("stun:stun.example.org", IceUrl("stun", "stun.example.org", 3478, "udp")),
        ("turn:turn.example.org", IceUrl("turn", "turn.example.org", 3478, "udp")),
        ("turn:192.0.2.1:80?transport=tcp", IceUrl("turn", "192.0.2.1", 80, "tcp")),
        ("turns:turn.example.org", IceUrl("turns", "turn.example.org", 5349, "tcp")),
        ("turn:[2001:db8::1]:443", IceUrl("turn", "2001:db8::1", 443, "udp")),
    ],
)
def test_a_url_is_read_as_its_rfc_says(url: str, parsed: IceUrl) -> None:
    assert parse_url(url) == parsed
    assert parse_url(str(parsed)) == parsed


@pytest.mark.parametrize(
    "url",
    ["https://x", "turn:", "turn:x:port", "turns:x?transport=udp", "turn:x?transport=sctp", "turn"],
)
def test_what_is_no_ice_url_is_refused(url: str) -> None:
    with pytest.raises(ValueError):
        parse_url(url)


def test_a_relay_is_offered_by_udp_first_and_by_tls_last() -> None:
    assert coturn_urls("2001:db8::1", 3478, 443) == (
        "stun:[2001:db8::1]:3478",
        "turn:[2001:db8::1]:3478?transport=udp",
        "turn:[2001:db8::1]:3478?transport=tcp",
        "turns:[2001:db8::1]:443?transport=tcp",
    )
    assert not any(url.startswith("turns:") for url in coturn_urls("host", 3478, None))
