"""The terminal client against a server that says back what it hears."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest
from aiohttp import web

from pipeline.types import Pcm
from server.rtc.client import CallFailed, dial
from server.rtc.gather import IceConfig
from server.rtc.microphone import RATE_HZ
from server.rtc.peer import Peer
from server.rtc.wav import read_sound, write_wav

PITCH_HZ = 440
SECRET = "let me in"
PATIENCE_S = 10.0


class EchoServer:
    """Answers calls as OpenAI Realtime's signalling does, and echoes sound and events."""

    def __init__(self) -> None:
        self.sessions: list[dict[str, object]] = []
        self.hung_up: list[str] = []
        self._tasks = asyncio.TaskGroup()
        self._peers: dict[str, Peer] = {}

    async def answer(self, request: web.Request) -> web.Response:
        if request.headers.get("Authorization") != f"Bearer {SECRET}":
            error = {"error": {"message": "The secret is wrong.", "type": "invalid_request_error"}}
            return web.json_response(error, status=401)
        form = await request.post()
        self.sessions.append(json.loads(str(form["session"])))
        peer = Peer("echo", IceConfig(loopback=True))
        call_id = f"call_{len(self._peers)}"
        self._peers[call_id] = peer
        sdp = await peer.answer(str(form["sdp"]))
        self._tasks.create_task(self._echo_sound(peer))
        self._tasks.create_task(self._echo_events(peer))
        location = f"/v1/realtime/calls/{call_id}"
        return web.Response(text=sdp, status=201, headers={"Location": location})

    async def hang_up(self, request: web.Request) -> web.Response:
        self.hung_up.append(request.match_info["id"])
        await self._peers[request.match_info["id"]].close()
        return web.Response()

    async def _echo_sound(self, peer: Peer) -> None:
        async for packet in peer.received:
            peer.to_send.offer(packet)

    async def _echo_events(self, peer: Peer) -> None:
        async for text in peer.commands:
            peer.send_event(text)

    async def serve(self) -> AsyncIterator[str]:
        app = web.Application()
        app.add_routes(
            [
                web.post("/v1/realtime/calls", self.answer),
                web.post("/v1/realtime/calls/{id}/hangup", self.hang_up),
            ]
        )
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        async with self._tasks:
            yield f"http://127.0.0.1:{runner.addresses[0][1]}"
            for peer in self._peers.values():
                await peer.close()
        await runner.cleanup()


@pytest.fixture
async def server() -> EchoServer:
    return EchoServer()


@pytest.fixture
async def url(server: EchoServer) -> AsyncIterator[str]:
    async for url in server.serve():
        yield url


@pytest.fixture
def sentence(tmp_path: Path) -> Path:
    """0.6 s of a tone, then 0.2 s of silence, at CD rate."""
    times = np.arange(round(0.8 * 44_100)) / 44_100
    path = tmp_path / "sentence.wav"
    write_wav(path, np.sin(2 * np.pi * PITCH_HZ * times) * 0.5 * (times < 0.6), 44_100)
    return path


def pitch_hz(pcm: Pcm) -> float:
    spectrum = np.abs(np.fft.rfft(pcm * np.hanning(len(pcm))))
    return float(np.argmax(spectrum)) * RATE_HZ / len(pcm)


async def test_what_is_said_is_heard_and_timed(
    server: EchoServer, url: str, sentence: Path
) -> None:
    async with dial(url, bearer=SECRET, session={"model": "x"}) as call:
        first = await call.say(sentence)
        await asyncio.sleep(0.3)
        second = await call.say(sentence)
        await asyncio.sleep(0.2)
    assert first.ended_s - first.began_s == pytest.approx(0.6, abs=0.02)
    for said in (first, second):
        heard_s = call.first_sound_after(said.began_s)
        assert heard_s is not None
        assert 0.015 < heard_s - said.began_s < 1.0, "a packet is 20 ms, a busy machine slow"
    one = [frame.pcm for frame in call.heard if first.began_s < frame.arrived_s < second.began_s]
    assert pitch_hz(np.concatenate(one)) == pytest.approx(PITCH_HZ, abs=20)
    assert server.sessions == [{"type": "realtime", "model": "x"}]
    assert server.hung_up == ["call_0"]


async def test_events_pass_both_ways(url: str) -> None:
    async with dial(url, bearer=SECRET) as call, asyncio.timeout(PATIENCE_S):
        call.send({"type": "response.create"})
        received = await call.wait_for("response.create")
        assert received.event == {"type": "response.create"}


async def test_a_refused_call_says_what_the_server_said(url: str) -> None:
    with pytest.raises(CallFailed, match=r"The secret is wrong\.") as refused:
        async with dial(url, bearer="guess"):
            pass
    assert refused.value.status == 401


async def test_a_server_that_is_not_there_is_told_from_one_that_refuses() -> None:
    with pytest.raises(CallFailed, match="Is the server running"):
        async with dial("http://127.0.0.1:1"):
            pass


async def test_a_call_that_the_server_ends_ends_the_sentence(
    server: EchoServer, url: str, sentence: Path
) -> None:
    async with dial(url, bearer=SECRET) as call:
        waiting = asyncio.create_task(call.wait_for("response.done"))
        speaking = asyncio.create_task(call.say(np.ones(30 * RATE_HZ, np.float32)))
        await asyncio.sleep(0.2)
        await server._peers["call_0"].close()
        async with asyncio.timeout(PATIENCE_S):
            for task in (waiting, speaking):
                with pytest.raises(CallFailed, match="ended"):
                    await task


def test_a_sound_file_comes_back_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "tone.wav"
    tone = np.sin(2 * np.pi * PITCH_HZ * np.arange(RATE_HZ) / RATE_HZ).astype(np.float32)
    write_wav(path, tone, RATE_HZ)
    assert np.abs(read_sound(path, RATE_HZ) - tone).max() < 1e-3
    assert len(read_sound(path, 16_000)) == pytest.approx(16_000, abs=32)
