"""A peer without a network: the test is its far side."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any

from pipeline.channel import Channel, Full
from pipeline.clock import now
from pipeline.errors import InputError
from pipeline.types import OpusPacket


class FakePeer:
    """Heard all the time unless `silent_since_s` is set; connects when it is told to."""

    def __init__(self, name: str) -> None:
        loop = asyncio.get_running_loop()
        self.name = name
        self.received = Channel[OpusPacket]("received", 50, Full.DROP_OLDEST)
        self.to_send = Channel[OpusPacket]("to send", 8, Full.DROP_OLDEST)
        self.commands = Channel[str]("commands", 64, Full.DROP_NEWEST)
        self.connected: asyncio.Future[None] = loop.create_future()
        self.closed: asyncio.Future[str] = loop.create_future()
        self.silent_since_s: float | None = None
        self.events: list[dict[str, Any]] = []

    async def answer(self, offer: str) -> str:
        if not offer.startswith("v=0"):
            raise InputError("That is no SDP.")
        return "v=0 answer"

    async def add_candidates(self, fragment: str) -> None: ...

    def connect(self) -> None:
        self.connected.set_result(None)

    def send_event(self, text: str) -> None:
        self.events.append(json.loads(text))

    def told(self, kind: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event["type"] == kind]

    def heard_at_s(self) -> float:
        return now() if self.silent_since_s is None else self.silent_since_s

    def fall_silent(self) -> None:
        self.silent_since_s = now()

    def nack(self, sequences: Sequence[int]) -> None: ...

    def rtt_s(self) -> float | None:
        return 0.02

    def relayed(self) -> bool | None:
        return False

    async def close(self) -> None:
        if not self.closed.done():
            self.closed.set_result("closed by us")
        self.received.close()
        self.commands.close()
