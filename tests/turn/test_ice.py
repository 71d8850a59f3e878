import asyncio

import pytest

from turn.credentials import expired, mint
from turn.ice import Fetched, IceServer, Minted, NoIceServers, Offer, read_offer

NOW = 1_700_000_000.0


async def test_each_request_gets_credentials_that_are_new() -> None:
    source = Minted(("turn:x",), "north", ttl_s=2)
    (first,), (later,) = await source.servers(NOW), await source.servers(NOW + 3600)
    assert expired(first.username, NOW + 3) and not expired(later.username, NOW + 3601)
    user = later.username.partition(":")[2]
    assert later.credential == mint("north", user, 2, NOW + 3600).password
    assert (await source.servers(NOW))[0].username != first.username, "nobody shares a quota"


def test_neither_secret_nor_credential_shows_where_it_might_be_logged() -> None:
    shown = repr(Minted(("turn:x",), "north", 2)) + repr(IceServer(("turn:x",), "u", "north"))
    assert "north" not in shown


class Provider:
    """Counts how often it is asked."""

    def __init__(self, ttl_s: float | None) -> None:
        self.ttl_s = ttl_s
        self.asked = 0
        self.down = False

    async def __call__(self) -> Offer:
        await asyncio.sleep(0.1)
        if self.down:
            raise NoIceServers("down")
        self.asked += 1
        return Offer((IceServer((f"turn:{self.asked}",)),), self.ttl_s)


async def test_a_provider_is_asked_again_after_half_the_life_of_its_answer() -> None:
    provider = Provider(ttl_s=100)
    source = Fetched(provider, ttl_s=5)
    await asyncio.gather(*(source.servers(NOW) for _ in range(5)))
    assert provider.asked == 1, "callers at the same moment share one answer"
    await source.servers(NOW + 49)
    assert provider.asked == 1
    assert await source.servers(NOW + 51) == (IceServer(("turn:2",)),)


async def test_a_provider_that_fails_is_bridged_while_its_last_answer_is_good() -> None:
    provider = Provider(ttl_s=None)
    source = Fetched(provider, ttl_s=10)
    before = await source.servers(NOW)
    provider.down = True
    assert await source.servers(NOW + 9) == before
    with pytest.raises(NoIceServers):
        await source.servers(NOW + 11)


def test_the_answers_of_known_providers_are_read() -> None:
    server = {"urls": "turn:x", "username": "u", "credential": "c"}
    read = IceServer(("turn:x",), "u", "c")
    assert read_offer([server], 60) == Offer((read,), 60)
    assert read_offer({"iceServers": server}) == Offer((read,), None)
    twilio = {"ice_servers": [{**server, "url": "turn:x"}], "ttl": "86400"}
    assert read_offer(twilio, 60) == Offer((read,), 86_400)
    assert read.as_json() == {"urls": ["turn:x"], "username": "u", "credential": "c"}
    assert IceServer(("stun:x",)).as_json() == {"urls": ["stun:x"]}


@pytest.mark.parametrize(
    "body", [None, "x", {}, {"iceServers": [1]}, [{}], {"iceServers": [], "ttl": []}]
)
def test_an_answer_without_servers_is_an_error(body: object) -> None:
    with pytest.raises(NoIceServers):
        read_offer(body)
