"""A server without an engine: real signalling, page and peers, that says back what it hears.

As a process: python -m tests.fakes.echo_phone, with the settings of a server.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from functools import cached_property
from typing import Any

from aiohttp import web

from server.app import Choice, build_app, serve
from server.errors import UnknownCall
from server.factory import ice_config
from server.ice import IceServers
from server.metrics import Metrics
from server.page import Page, read_page
from server.rtc.peer import Peer
from server.settings import Settings, load
from server.signalling import Opened


class EchoPhone:
    """Calls and Service in one."""

    choices = (Choice("front-end", "echo", "it needs nothing"),)

    def __init__(self, settings: Settings) -> None:
        self.peers: dict[str, Peer] = {}
        self._settings = settings
        self._ice_servers = IceServers(settings)
        self._echoes: list[asyncio.Task[None]] = []

    @property
    def calls(self) -> "EchoPhone":
        return self

    @cached_property
    def failed(self) -> "asyncio.Future[None]":
        return asyncio.get_running_loop().create_future()

    def not_ready(self) -> str:
        return ""

    def drain(self) -> None: ...

    async def open(
        self, offer: str, session: Mapping[str, Any], *, client_ip: str, resume: str | None
    ) -> Opened:
        call_id = f"call_{len(self.peers)}"
        peer = Peer(call_id, ice_config(self._settings, await self._ice_servers.now()))
        try:
            answer = await peer.answer(offer)
        except BaseException:
            await peer.close()
            raise
        self.peers[call_id] = peer
        self._echoes.append(asyncio.create_task(self._echo(peer), name=f"{call_id} echo"))
        return Opened(call_id, answer)

    async def trickle(self, call_id: str, fragment: str) -> None:
        await self.peers[call_id].add_candidates(fragment)

    async def hang_up(self, call_id: str) -> None:
        if call_id not in self.peers:
            raise UnknownCall
        await self.peers[call_id].close()

    async def _echo(self, peer: Peer) -> None:
        async for packet in peer.received:
            peer.to_send.offer(packet)

    async def close(self) -> None:
        for peer in self.peers.values():
            await peer.close()
        await asyncio.gather(*self._echoes)


@contextlib.asynccontextmanager
async def start(settings: Settings, metrics: Metrics) -> AsyncGenerator[EchoPhone, None]:
    phone = EchoPhone(settings)
    try:
        yield phone
    finally:
        await phone.close()


@contextlib.asynccontextmanager
async def echoing(settings: Settings) -> AsyncIterator[tuple[str, EchoPhone]]:
    """Its URL, within this process."""
    metrics = Metrics()
    async with start(settings, metrics) as phone:
        runner = web.AppRunner(build_app(settings, phone, metrics, Page(read_page())))
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        try:
            yield f"http://127.0.0.1:{runner.addresses[0][1]}", phone
        finally:
            await runner.cleanup()


if __name__ == "__main__":
    asyncio.run(serve(load(), start, lambda url, choices: print(url, flush=True)))
