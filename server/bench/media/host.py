"""The process that is called: `python -m server.bench.media.host ours 80 CORE`.

Prints a line of JSON with its url and runs until it is killed.
"""

import asyncio
import os
import sys
from contextlib import AsyncExitStack
from importlib.resources import files
from json import dumps
from typing import Protocol

from aiohttp import web

from server.bench.media.lag import Lag
from server.bench.media.ours import our_echo
from server.bench.media.stock import StockEcho
from server.terminal import run_async


class Echo(Protocol):
    async def answer(self, offer: str) -> str:
        """The answer's SDP; the call then runs by itself."""


class Host:
    def __init__(self, echo: Echo, lag: Lag) -> None:
        self._echo, self._lag = echo, lag
        self._script = files("server.bench.media").joinpath("browser.js").read_text()

    async def page(self, request: web.Request) -> web.Response:
        page = f"<!doctype html><script>{self._script}</script>"
        return web.Response(text=page, content_type="text/html")

    async def call(self, request: web.Request) -> web.Response:
        return web.Response(text=await self._echo.answer(await request.text()))

    async def lag(self, request: web.Request) -> web.Response:
        return web.json_response(self._lag.take_p99_ms())


async def run(stack: str, frame_ms: int) -> None:
    async with AsyncExitStack() as parts:
        lag = Lag()
        measuring = asyncio.create_task(lag.run(), name="loop lag")
        ours = stack == "ours"
        echo = await parts.enter_async_context(our_echo(frame_ms)) if ours else StockEcho(frame_ms)
        host = Host(echo, lag)
        app = web.Application()
        app.add_routes([web.get("/", host.page), web.post("/call", host.call)])
        app.add_routes([web.get("/lag", host.lag)])
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        print(dumps({"url": f"http://127.0.0.1:{runner.addresses[0][1]}/"}), flush=True)  # noqa: T201
        await measuring


if __name__ == "__main__":
    os.sched_setaffinity(0, {int(sys.argv[3])})
    run_async(run(sys.argv[1], int(sys.argv[2])))
