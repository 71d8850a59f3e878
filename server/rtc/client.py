"""A caller without a browser: speaks sound files to a server, records what it hears.

Speaks OpenAI Realtime's WebRTC signalling over HTTP: `umigame talk`, benches and tests use it.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import aiohttp
import numpy as np

from pipeline.audio.jitter import JitterBuffer, Nack
from pipeline.audio.opus import OpusDecoder
from pipeline.clock import now
from pipeline.errors import ServiceError, UmigameError
from pipeline.probe import NoProbe
from pipeline.stage import Into
from pipeline.timed import run_timed
from pipeline.types import AudioFrame, Pcm
from server.rtc.gather import IceConfig
from server.rtc.microphone import AUDIBLE, RATE_HZ, Microphone, Said
from server.rtc.peer import Peer
from server.rtc.wav import read_sound
from turn.ice import IceServer, read_offer

CONNECT_S = 10.0
CALLS = "v1/realtime/calls"
ICE_SERVERS = "v1/realtime/ice-servers"


class CallFailed(UmigameError):
    """The server refused the call, or no connection came about; `status` is HTTP's, if any."""

    def __init__(self, message: str, *, status: int | None = None, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.status = status


@dataclass(frozen=True, slots=True)
class Received:
    """An event from the server."""

    at_s: float
    """Loop time."""
    event: dict[str, Any]

    @property
    def type(self) -> str:
        return str(self.event.get("type", ""))


class Caller:
    """A call under way; `dial` makes one. All times are loop times, as are those of `Said`."""

    def __init__(self, peer: Peer) -> None:
        self.heard: list[AudioFrame] = []
        """All that came back, in order; `arrived_s` is when a frame's packet did."""
        self.events: list[Received] = []
        self._peer = peer
        self._microphone = Microphone(peer.to_send)
        self._jitter = JitterBuffer(OpusDecoder(RATE_HZ))
        self._news = asyncio.Event()

    @property
    def closed(self) -> "asyncio.Future[str]":
        """Why the call ended, once it has."""
        return self._peer.closed

    async def say(self, sound: Path | Pcm) -> Said:
        """Speak a sound file, or mono PCM at RATE_HZ; returns when the last sample is out.

        Cancel it to fall silent in mid-sentence. Raises InputError if it is no sound, CallFailed
        if the call ends first.
        """
        if isinstance(sound, Path):
            sound = await asyncio.to_thread(read_sound, sound, RATE_HZ)
        said = await self._microphone.say(sound)
        if self.closed.done():
            raise CallFailed(f"The call ended in mid-sentence: {self.closed.result()}.")
        return said

    def send(self, event: dict[str, Any]) -> None:
        """Send a client event of the Realtime API."""
        self._peer.send_event(json.dumps(event))

    async def vanish(self) -> None:
        """Leave without hanging up: the call is lost, and may be resumed."""
        await self._peer.close()

    async def wait_for(self, kind: str, *, since_s: float = 0.0) -> Received:
        """The first event of this type that came after `since_s`; waits for it without end.

        Raises CallFailed if the call ends first.
        """
        seen = 0
        while True:
            for each in self.events[seen:]:
                if each.type == kind and each.at_s >= since_s:
                    return each
            seen = len(self.events)
            if self.closed.done():
                raise CallFailed(f"The call ended before {kind}: {self.closed.result()}.")
            self._news.clear()
            await self._news.wait()

    def sound(self) -> Pcm:
        """All that was heard, mono at RATE_HZ, in real time from the first packet on."""
        return np.concatenate([np.zeros(0, np.float32), *(frame.pcm for frame in self.heard)])

    def first_sound_after(self, at_s: float) -> float | None:
        """When the first packet after `at_s` came in which something can be heard."""
        audible = (f for f in self.heard if f.arrived_s > at_s and np.abs(f.pcm).max() >= AUDIBLE)
        return next((frame.arrived_s for frame in audible), None)

    async def run(self) -> None:
        """Move sound and events until the call is over."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._microphone.run(), name="caller speaks")
            tasks.create_task(self._listen(), name="caller listens")
            tasks.create_task(self._read_events(), name="caller reads")

    async def _listen(self) -> None:
        await run_timed(self._jitter, self._peer.received, Into(self._on_sound), NoProbe())

    def _on_sound(self, item: AudioFrame | Nack) -> None:
        self._jitter.rtt_s = self._peer.rtt_s()
        if isinstance(item, Nack):
            self._peer.nack(item.sequences)
        else:
            self.heard.append(item)

    async def _read_events(self) -> None:
        async for text in self._peer.commands:
            with suppress(ValueError):
                self.events.append(Received(now(), json.loads(text)))
                self._news.set()
        self._news.set()


@asynccontextmanager
async def dial(
    base_url: str,
    *,
    bearer: str | None = None,
    session: dict[str, Any] | None = None,
    relay_only: bool = False,
) -> AsyncIterator[Caller]:
    """Call the server at `base_url`; hang up at the end. Raises CallFailed.

    `relay_only`: through one of the relays that the server names.
    """
    headers = {"Authorization": f"Bearer {bearer}"} if bearer else {}
    async with aiohttp.ClientSession(headers=headers) as http:
        servers = await _ice_servers(http, base_url)
        peer = Peer("caller", IceConfig(servers, relay_only=relay_only, loopback=not relay_only))
        try:
            location = await _call(http, base_url, peer, session)
            await _connected(peer)
            caller = Caller(peer)
            running = asyncio.create_task(caller.run(), name="caller")
            try:
                yield caller
            finally:
                await _hang_up(http, location)
                await peer.close()
                await running
        finally:
            await peer.close()


async def _ice_servers(http: aiohttp.ClientSession, base_url: str) -> tuple[IceServer, ...]:
    """The server's STUN and TURN servers; none if it does not say. Raises CallFailed."""
    url = _url(base_url, ICE_SERVERS)
    async with _asking(url), http.get(url) as response:
        # A refusal is better told by the call itself.
        listed = (await response.json())["ice_servers"] if response.ok else []
    return read_offer(listed).servers


async def _call(
    http: aiohttp.ClientSession, base_url: str, peer: Peer, session: dict[str, Any] | None
) -> str:
    """Offer, take the answer; the call's own URL."""
    try:
        offer = await peer.offer()
    except ServiceError as error:
        raise CallFailed(error.message, hint=error.hint) from error
    form = aiohttp.FormData({"sdp": offer}, default_to_multipart=True)
    form.add_field("session", json.dumps({"type": "realtime", **(session or {})}))
    url = _url(base_url, CALLS)
    async with _asking(url), http.post(url, data=form) as response:
        body = await response.text()
        if response.status != 201:
            raise _refusal(response.status, body)
        await peer.accept(body)
        return urljoin(url, response.headers.get("Location", ""))


def _url(base_url: str, path: str) -> str:
    return urljoin(base_url.rstrip("/") + "/", path)


@asynccontextmanager
async def _asking(url: str) -> AsyncIterator[None]:
    """What can go wrong with a request, as CallFailed."""
    try:
        yield
    except aiohttp.InvalidURL as error:
        hint = "Give it like http://localhost:8998."
        raise CallFailed(f"{url} is no server's address.", hint=hint) from error
    except aiohttp.ClientError as error:
        raise CallFailed(f"{url}: {error}.", hint="Is the server running?") from error


async def _connected(peer: Peer) -> None:
    outcomes: list[asyncio.Future[Any]] = [peer.connected, peer.closed]
    await asyncio.wait(outcomes, timeout=CONNECT_S, return_when=asyncio.FIRST_COMPLETED)
    if not peer.connected.done():
        why = peer.closed.result() if peer.closed.done() else "no network path was found"
        relays = " ".join(peer.relay_failures())
        raise CallFailed(f"No connection: {why}.", hint=relays or "Is UDP to the server blocked?")


async def _hang_up(http: aiohttp.ClientSession, location: str) -> None:
    with suppress(aiohttp.ClientError):
        async with http.post(f"{location}/hangup"):
            pass


def _refusal(status: int, body: str) -> CallFailed:
    """The error in OpenAI's shape, else the status alone."""
    try:
        message = str(json.loads(body)["error"]["message"])
    except (ValueError, LookupError, TypeError):
        message = f"The server answered with status {status}."
    return CallFailed(message, status=status)
