"""Our peer and a real browser: what only Chromium can show."""

import asyncio
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import pytest
from aiohttp import web
from playwright.async_api import Page

from pipeline.types import OpusPacket
from server.bench.chromium import chromium
from server.rtc.gather import IceConfig
from server.rtc.microphone import RATE_HZ, Microphone
from server.rtc.peer import Peer

CALL = """async ({video, trickle}) => {
  const stream = await navigator.mediaDevices.getUserMedia({audio: true});
  const call = window.call = new RTCPeerConnection();
  window.heard = [];
  call.ontrack = ({track}) => {
    const speaker = window.speaker = new Audio();
    speaker.srcObject = new MediaStream([track]);
    speaker.play();
  };
  call.addTrack(stream.getTracks()[0], stream);
  if (video) call.addTransceiver("video");
  const channel = window.channel = call.createDataChannel("oai-events");
  channel.onmessage = event => window.heard.push(event.data);
  const send = (body, method = "POST") => fetch("/call", {method, body}).then(r => r.text());
  await call.setLocalDescription();
  let sdp = call.localDescription.sdp;
  const ufrag = sdp.match(/a=ice-ufrag:.*/)[0];
  if (trickle) {
    call.onicecandidate = ({candidate}) => candidate &&
      send(`${ufrag}\\r\\na=mid:${candidate.sdpMid}\\r\\na=${candidate.candidate}\\r\\n`, "PATCH");
  }
  await call.setRemoteDescription({type: "answer", sdp: await send(sdp)});
  await new Promise(done => channel.readyState == "open" ? done() : channel.onopen = done);
  channel.send("hello");
  return call.getTransceivers().map(t => t.currentDirection);
}"""
STATS = """async () => Object.fromEntries([...(await window.call.getStats()).values()].map(
  report => [report.type, report]))"""


@dataclass
class Host:
    """A page, and a peer that answers its call."""

    peer: Peer = field(default_factory=lambda: Peer("host", IceConfig(loopback=True)))
    fragments: list[str] = field(default_factory=list)

    async def page(self, request: web.Request) -> web.Response:
        return web.Response(text="<!doctype html>", content_type="text/html")

    async def answer(self, request: web.Request) -> web.Response:
        return web.Response(text=await self.peer.answer(await request.text()))

    async def trickle(self, request: web.Request) -> web.Response:
        fragment = await request.text()
        await self.peer.add_candidates(fragment)
        self.fragments.append(fragment)
        return web.Response(status=204)

    async def open(self) -> AsyncIterator[Page]:
        """A tab of the page in a browser of its own."""
        app = web.Application()
        app.add_routes([web.get("/", self.page), web.post("/call", self.answer)])
        app.add_routes([web.patch("/call", self.trickle)])
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        async with chromium() as browser:
            tab = await browser.new_page()
            await tab.goto(f"http://127.0.0.1:{runner.addresses[0][1]}/")
            yield tab
        await self.peer.close()
        await runner.cleanup()


@pytest.fixture
async def host() -> Host:
    return Host()


@pytest.fixture
async def tab(host: Host) -> AsyncIterator[Page]:
    async for tab in host.open():
        yield tab


async def call(tab: Page, *, video: bool = False, trickle: bool = False) -> list[str]:
    """Connect and say hello; the directions of the transceivers left."""
    async with asyncio.timeout(10):
        directions: list[str] = await tab.evaluate(CALL, {"video": video, "trickle": trickle})
    return directions


async def packets(peer: Peer, count: int) -> list[OpusPacket]:
    async with asyncio.timeout(10):
        return [await peer.received.receive() for _ in range(count)]


async def test_sound_and_events_pass_between_chromium_and_us(host: Host, tab: Page) -> None:
    directions = await call(tab)
    assert directions == ["sendrecv"]
    assert await host.peer.commands.receive() == "hello"
    host.peer.send_event("good day")
    microphone = Microphone(host.peer.to_send)
    speaking = asyncio.create_task(microphone.run())
    tone = np.sin(np.arange(2 * RATE_HZ, dtype=np.float32) * 0.1) * np.float32(0.5)
    _, heard = await asyncio.gather(microphone.say(tone), packets(host.peer, 80))
    stats = await tab.evaluate(STATS)
    report = stats["inbound-rtp"]
    assert report["totalAudioEnergy"] > 0.05
    assert report["concealedSamples"] < 0.5 * report["totalSamplesReceived"]
    assert stats["codec"]["sdpFmtpLine"] == "minptime=10;useinbandfec=1"
    assert await tab.evaluate("window.heard") == ["good day"]
    assert {b.timestamp - a.timestamp for a, b in pairwise(heard)} == {960}
    assert host.peer.rtt_s() is not None
    await host.peer.close()
    await speaking


async def test_video_is_declined_and_the_call_goes_on(host: Host, tab: Page) -> None:
    directions = await call(tab, video=True)
    assert directions == ["sendrecv"], "the video transceiver is stopped and gone"
    await packets(host.peer, 15)


async def test_trickled_candidates_are_taken(host: Host, tab: Page) -> None:
    await call(tab, trickle=True)
    assert host.fragments
    await packets(host.peer, 15)


async def test_a_closed_tab_is_noticed_at_once(host: Host, tab: Page) -> None:
    await call(tab)
    await tab.goto("about:blank")
    async with asyncio.timeout(5):  # by the path alone it would take half a minute
        assert re.search("closed by the other side", await host.peer.closed)
