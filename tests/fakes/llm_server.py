"""An LLM's HTTP server that misbehaves on demand, whatever format it speaks."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from aiohttp import web

REFUSALS = {"401", "404", "429", "500", "quota"}
BREAK_AT = 3
"""Pieces that come before a fault in mid-stream."""


class Wire(Protocol):
    """A streaming format, built from the types of its own SDK."""

    path: str

    def begin(self) -> bytes: ...
    def piece(self, text: str) -> bytes: ...
    def end(self) -> bytes: ...
    def refusal(self, act: str) -> dict[str, Any]: ...


@dataclass
class FakeLlm:
    """`script` is worked off one entry a request; the last one stays in force.

    Entries: "ok", "endless", "redirect", a refusal, and in mid-stream "reset", "stall",
    "malformed", "cut" (an end like any other, but too early); "silence" before the first piece.
    """

    wire: Wire
    answer: tuple[str, ...] = ("The", " capital", " is", " Paris", ".")
    script: list[str] = field(default_factory=lambda: ["ok"])
    elsewhere: str = ""
    """Where "redirect" sends its callers."""
    url: str = ""
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    streaming: int = 0
    """Requests that are being answered right now."""
    idle: asyncio.Event = field(default_factory=asyncio.Event)
    """Set while there are none."""
    server: web.Server | None = None

    @property
    def base_url(self) -> str:
        return f"{self.url}/v1"

    @property
    def sockets(self) -> int:
        """Connections that are open."""
        return len(self.server.connections) if self.server else 0

    async def deserted(self) -> None:
        """Returns once nobody is connected."""
        async with asyncio.timeout(2):
            while self.sockets:  # noqa: ASYNC110 - aiohttp tells nobody
                await asyncio.sleep(0.01)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.requests.append(await request.json())
        self.headers.append({name.lower(): value for name, value in request.headers.items()})
        act = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        if act in REFUSALS:
            return self._refusal(act)
        if act == "redirect":
            return web.Response(status=307, headers={"Location": self.elsewhere + self.wire.path})
        self.streaming += 1
        self.idle.clear()
        try:
            return await self._stream(request, act)
        finally:
            self.streaming -= 1
            if not self.streaming:
                self.idle.set()

    async def _stream(self, request: web.Request, act: str) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        if act == "silence":
            await asyncio.sleep(60)
        await response.write(self.wire.begin())
        for number, text in enumerate(self.answer):
            if number == BREAK_AT and act in ("stall", "reset", "malformed", "cut"):
                return await self._break(request, response, act)
            await response.write(self.wire.piece(text))
        while act == "endless":
            await response.write(self.wire.piece(" la"))
            await asyncio.sleep(0.005)
        await response.write(self.wire.end())
        return response

    async def _break(
        self, request: web.Request, response: web.StreamResponse, act: str
    ) -> web.StreamResponse:
        match act:
            case "stall":
                await asyncio.sleep(60)
            case "reset":
                request.transport.abort()  # type: ignore[union-attr]
            case "malformed":
                await response.write(self.wire.piece("x").replace(b"}", b"", 1))
                await asyncio.sleep(60)
        return response

    def _refusal(self, act: str) -> web.Response:
        status = 429 if act == "quota" else int(act)
        headers = {"Retry-After": "7"} if act == "429" else {}
        text = json.dumps(self.wire.refusal(act))
        return web.Response(
            status=status, text=text, content_type="application/json", headers=headers
        )


@asynccontextmanager
async def serving(fake: FakeLlm, tls: ssl.SSLContext | None = None) -> AsyncIterator[FakeLlm]:
    app = web.Application()
    app.router.add_post(fake.wire.path, fake.handle)
    # Handlers are cancelled when the client goes, as those of real servers are.
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
    await site.start()
    fake.server = runner.server
    scheme = "https" if tls else "http"
    fake.url = f"{scheme}://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield fake
    finally:
        await runner.cleanup()
