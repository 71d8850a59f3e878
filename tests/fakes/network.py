"""A stretch of network between two WebRTC peers that a test can break: a UDP relay."""

import asyncio
import re
from collections.abc import Callable
from typing import cast

Address = tuple[str, int]


class Relay(asyncio.DatagramProtocol):
    """Forwards between whoever speaks to it and `far`, except what `drop` picks."""

    def __init__(self) -> None:
        self.delay_s = 0.0
        """Each way."""
        self.drop: Callable[[bytes], bool] = lambda datagram: False
        self.far: Address | None = None
        self._near: Address | None = None
        self._transport: asyncio.DatagramTransport

    @classmethod
    async def start(cls) -> "Relay":
        loop = asyncio.get_running_loop()
        _, relay = await loop.create_datagram_endpoint(cls, local_addr=("127.0.0.1", 0))
        return relay

    def lead_through(self, answer: str) -> str:
        """The answer with this relay in place of every candidate but the one it leads to."""
        candidate = re.compile(r"(a=candidate:\S+ 1 udp \d+) 127\.0\.0\.1 (\d+) typ host\r\n")
        found = candidate.search(answer)
        assert found, "the answer offers no loopback candidate"
        self.far = ("127.0.0.1", int(found[2]))
        port = self._transport.get_extra_info("sockname")[1]
        bare = re.sub(r"a=candidate:.*\r\n", "", answer)
        line = f"{found[1]} 127.0.0.1 {port} typ host\r\n"
        return bare.replace("a=ice-ufrag", f"{line}a=ice-ufrag")

    def cut(self) -> None:
        """Nothing passes any more."""
        self.drop = lambda datagram: True

    def close(self) -> None:
        self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, address: Address) -> None:
        if address != self.far:
            self._near = address
        target = self._near if address == self.far else self.far
        if target is not None and not self.drop(data):
            loop = asyncio.get_running_loop()
            loop.call_later(self.delay_s, self._transport.sendto, data, target)


def without_candidates(offer: str) -> str:
    """The offer of a peer that can only be found when it calls."""
    return re.sub(r"a=candidate:.*\r\n", "", offer)
