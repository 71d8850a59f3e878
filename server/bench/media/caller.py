"""Somebody who clicks into a call and waits for the echo, over real WebRTC."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from time import perf_counter

import aiohttp

from pipeline.audio.opus import OpusDecoder
from pipeline.clock import now
from pipeline.errors import ServiceError
from pipeline.types import OpusPacket
from server.bench.media.clicks import PERIOD, RATE_HZ, ClickFinder, away_s
from server.rtc.gather import IceConfig
from server.rtc.peer import Peer

PACKET_S = 0.02
PACKET_TICKS = 960
CONNECT_S = 20.0


class ClickCaller:
    def __init__(self, peer: Peer, packets: Sequence[bytes]) -> None:
        self._peer, self._packets = peer, packets
        self._sent_s: list[float] = []
        self._heard_s: list[float] = []

    def away_s(self, since_s: float) -> list[float]:
        """From a click's packet out to its packet back in, for those sent since.

        On the clock of perf_counter: uvloop's counts whole milliseconds.
        """
        sent_s = [each for each in self._sent_s if each >= since_s]
        return away_s(sent_s, self._heard_s)

    async def run(self) -> None:
        """Until the peer is closed."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._speak(), name="caller speaks")
            tasks.create_task(self._listen(), name="caller listens")

    async def _speak(self) -> None:
        began_s, number = now(), 0
        while not self._peer.to_send.closed:
            if number % PERIOD == 0:
                self._sent_s.append(perf_counter())
            payload = self._packets[number % PERIOD]
            self._peer.to_send.offer(OpusPacket(payload, number, number * PACKET_TICKS, now()))
            number += 1
            await asyncio.sleep(began_s + number * PACKET_S - now())

    async def _listen(self) -> None:
        decoder, finder = OpusDecoder(RATE_HZ), ClickFinder()
        async for packet in self._peer.received:
            arrived_s = perf_counter()
            if finder.push(decoder.decode(packet.payload)):
                self._heard_s.append(arrived_s)


@asynccontextmanager
async def click_call(url: str, packets: Sequence[bytes]) -> AsyncIterator[ClickCaller]:
    """A call to a host.py at `url`. Raises ServiceError if it does not come about."""
    peer = Peer("caller", IceConfig(loopback=True))
    try:
        offer = await peer.offer()
        async with aiohttp.ClientSession() as http, http.post(url + "call", data=offer) as response:
            await peer.accept(await response.text())
        async with asyncio.timeout(CONNECT_S):
            await peer.connected
    except (aiohttp.ClientError, TimeoutError) as error:
        await peer.close()
        raise ServiceError("host", f"The measured server does not answer: {error}.") from error
    caller = ClickCaller(peer, packets)
    running = asyncio.create_task(caller.run(), name="click caller")
    try:
        yield caller
    finally:
        await peer.close()
        await running
