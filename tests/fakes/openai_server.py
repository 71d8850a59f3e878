"""An OpenAI-compatible server that misbehaves on demand; its chunks are the SDK's own types."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

from aiohttp import web
from openai.types.chat import ChatCompletionChunk
from openai.types.chat.chat_completion_chunk import Choice, ChoiceDelta


@dataclass
class FakeOpenAI:
    """`script` is worked off one entry a request; the last one stays in force.

    Entries: "ok", "endless", "429", "401", "404", "500", "quota", "reset", "silence", "stall".
    """

    answer: tuple[str, ...] = ("The", " capital", " is", " Paris", ".")
    script: list[str] = field(default_factory=lambda: ["ok"])
    base_url: str = ""
    requests: list[dict[str, Any]] = field(default_factory=list)
    streaming: int = 0
    """Requests that are being answered right now."""
    idle: asyncio.Event = field(default_factory=asyncio.Event)
    """Set while there are none."""

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.requests.append(await request.json())
        act = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        if act in ("401", "404", "429", "500", "quota"):
            return _refusal(act)
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
        for number, text in enumerate(self.answer):
            if number == 3 and act == "stall":
                await asyncio.sleep(60)
            if number == 3 and act == "reset":
                request.transport.abort()  # type: ignore[union-attr]
                return response
            await response.write(_chunk(text))
        while act == "endless":
            await response.write(_chunk(" la"))
            await asyncio.sleep(0.005)
        await response.write(_chunk("", "stop") + b"data: [DONE]\n\n")
        return response


def _chunk(text: str, finish: Literal["stop"] | None = None) -> bytes:
    choice = Choice(index=0, delta=ChoiceDelta(content=text), finish_reason=finish)
    chunk = ChatCompletionChunk(
        id="1", created=0, model="fake", object="chat.completion.chunk", choices=[choice]
    )
    return f"data: {chunk.model_dump_json()}\n\n".encode()


def _refusal(act: str) -> web.Response:
    status = 429 if act == "quota" else int(act)
    code = {"quota": "insufficient_quota", "429": "rate_limit_exceeded"}.get(act)
    body = {"error": {"message": "key sk-secret is wrong", "type": "error", "code": code}}
    headers = {"Retry-After": "7"} if act == "429" else {}
    return web.Response(
        status=status, text=json.dumps(body), content_type="application/json", headers=headers
    )


@asynccontextmanager
async def serving(fake: FakeOpenAI) -> AsyncIterator[FakeOpenAI]:
    app = web.Application()
    app.router.add_post("/v1/chat/completions", fake.handle)
    # Handlers are cancelled when the client goes, as those of real servers are.
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    fake.base_url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    try:
        yield fake
    finally:
        await runner.cleanup()
