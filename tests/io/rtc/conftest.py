"""Two peers of ours, connected over loopback."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack

import pytest

from server.rtc.gather import IceConfig
from server.rtc.peer import Peer

Doctor = Callable[[str], str]
Connect = Callable[..., Awaitable[tuple[Peer, Peer]]]
LOOPBACK = IceConfig(loopback=True)


@pytest.fixture
async def connect() -> AsyncIterator[Connect]:
    """Makes a connected (browser, server) pair; SDP may be changed on its way."""
    async with AsyncExitStack() as stack:

        async def make(
            offer: Doctor = str, answer: Doctor = str, ice: IceConfig = LOOPBACK
        ) -> tuple[Peer, Peer]:
            browser, server = Peer("browser", ice), Peer("server", ice)
            stack.push_async_callback(browser.close)
            stack.push_async_callback(server.close)
            await browser.accept(answer(await server.answer(offer(await browser.offer()))))
            async with asyncio.timeout(10):
                await asyncio.gather(browser.connected, server.connected)
            return browser, server

        yield make
