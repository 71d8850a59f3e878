import asyncio
import gc
import os
import re
import socket
import threading
from collections.abc import AsyncIterator
from itertools import pairwise
from pathlib import Path

import aioice.ice
import numpy as np
import pytest

from pipeline.audio.encode import Encode
from pipeline.audio.opus import OpusDecoder, OpusEncoder
from pipeline.channel import Channel
from pipeline.clock import now
from pipeline.errors import InputError
from pipeline.types import AudioFrame, OpusPacket
from server.rtc.gather import RELAY_WAIT_S, STUN_WAIT_S, IceConfig
from server.rtc.interfaces import addresses, usable
from server.rtc.peer import Peer
from tests.fakes.network import Relay, without_candidates
from tests.io.rtc.conftest import LOOPBACK, Connect
from turn.ice import IceServer

RATE_HZ = 24_000
PITCH_HZ = 440
PATIENCE_S = 10.0
"""Long, for machines that do much else beside."""
SMALLEST_MTU = 1280 - 40 - 8
"""What IPv6 carries everywhere (RFC 8200 section 5), less its header and UDP's."""
MDNS = "5a1b2c3d-0000-4000-8000-123456789abc.local"


@pytest.fixture
async def relay() -> AsyncIterator[Relay]:
    made = await Relay.start()
    yield made
    made.close()


async def hum(peer: Peer, seconds: float = 0.5) -> None:
    """Send a tone in real time."""
    encode = Encode(OpusEncoder(RATE_HZ))
    wave = np.sin(2 * np.pi * PITCH_HZ * np.arange(round(seconds * RATE_HZ)) / RATE_HZ) / 2
    for pts in range(0, len(wave), 480):
        frame = AudioFrame(wave[pts : pts + 480].astype(np.float32), RATE_HZ, pts, now())
        for packet in encode.push(frame):
            peer.to_send.offer(packet)
        await asyncio.sleep(0.02)


async def take(channel: Channel[OpusPacket], count: int) -> list[OpusPacket]:
    async with asyncio.timeout(PATIENCE_S):
        return [await channel.receive() for _ in range(count)]


def pitch_hz(packets: list[OpusPacket]) -> float:
    decoder = OpusDecoder(RATE_HZ)
    pcm = np.concatenate([decoder.decode(packet.payload) for packet in packets])
    spectrum = np.abs(np.fft.rfft(pcm * np.hanning(len(pcm))))
    return float(np.argmax(spectrum)) * RATE_HZ / len(pcm)


async def test_sound_passes_both_ways_and_keeps_its_pitch(connect: Connect) -> None:
    browser, server = await connect()
    await asyncio.gather(hum(browser), hum(server))
    for heard in (await take(server.received, 20), await take(browser.received, 20)):
        assert pitch_hz(heard) == pytest.approx(PITCH_HZ, abs=3)
        assert {b.timestamp - a.timestamp for a, b in pairwise(heard)} == {960}
        assert {b.sequence - a.sequence for a, b in pairwise(heard)} == {1}


async def test_aiortc_decodes_nothing_beside_us(connect: Connect) -> None:
    browser, server = await connect()
    await asyncio.gather(hum(browser, 0.1), hum(server, 0.1))
    await asyncio.gather(take(server.received, 1), take(browser.received, 1))
    assert [t for t in threading.enumerate() if "decoder" in t.name] == []


async def test_a_browser_is_found_by_the_candidates_it_trickles() -> None:
    browser, server = Peer("browser", LOOPBACK), Peer("server", LOOPBACK)
    offer = await browser.offer()
    answer = await server.answer(without_candidates(offer))
    await browser.accept(without_candidates(answer).replace("a=end-of-candidates\r\n", ""))
    await server.add_candidates("".join(re.findall(r"a=(?:ice-ufrag|candidate):.*\r\n", offer)))
    async with asyncio.timeout(PATIENCE_S):
        await asyncio.gather(browser.connected, server.connected)
    await browser.close()
    await server.close()


async def test_text_passes_both_ways_even_if_sent_before_the_channel_opened(
    connect: Connect,
) -> None:
    browser, server = await connect()
    long = "ü" * 30_000
    server.send_event("first")
    server.send_event(long)
    browser.send_event("hello")
    async with asyncio.timeout(PATIENCE_S):
        assert await server.commands.receive() == "hello"
        assert [await browser.commands.receive() for _ in range(2)] == ["first", long]


async def test_long_events_pass_a_path_that_carries_no_more_than_the_smallest_mtu(
    connect: Connect, relay: Relay
) -> None:
    too_long: list[int] = []
    relay.drop = lambda datagram: (
        len(datagram) > SMALLEST_MTU and not too_long.append(len(datagram))
    )
    browser, server = await connect(offer=without_candidates, answer=relay.lead_through)
    long = "x" * 64_000
    async with asyncio.timeout(PATIENCE_S):
        for sender, receiver in ((browser, server), (server, browser)):
            sender.send_event(long)
            assert await receiver.commands.receive() == long
    assert too_long == []


async def test_round_trip_time_and_path_are_known_from_the_start(
    connect: Connect, relay: Relay
) -> None:
    relay.delay_s = 0.05
    browser, server = await connect(offer=without_candidates, answer=relay.lead_through)
    for peer in (browser, server):
        rtt_s = peer.rtt_s()
        assert rtt_s is not None and 0.099 <= rtt_s < 0.4
        assert peer.relayed() is False


async def test_strangers_can_neither_end_a_call_nor_speak_in_it(
    connect: Connect, relay: Relay
) -> None:
    browser, server = await connect(offer=without_candidates, answer=relay.lead_through)
    assert relay.far is not None
    rtp = bytes([0x80, 111, 0, 1]) + bytes(8) + b"junk"
    alert = bytes([21, 254, 253]) + bytes(8) + bytes([0, 2, 2, 40])
    stun = bytes([0, 1, 0, 0, 0x21, 0x12, 0xA4, 0x42]) + bytes(12)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        for datagram in [b"", b"\0", b"\x80", rtp, alert, stun, os.urandom(1400)] * 20:
            stranger.sendto(datagram, relay.far)
    await hum(browser)
    assert pitch_hz(await take(server.received, 20)) == pytest.approx(PITCH_HZ, abs=3)
    assert not server.closed.done()


async def test_a_broken_offer_is_refused_and_calls_under_way_go_on(connect: Connect) -> None:
    browser, server = await connect()
    other = Peer("other")
    for offer in ("", "v=0\r\n", "v=0\r\nm=audio 9 UDP/TLS/RTP/SAVPF 111\r\n"):
        with pytest.raises(InputError):
            await other.answer(offer)
    await other.close()
    await hum(browser, 0.2)
    assert len(await take(server.received, 8)) == 8


async def test_hanging_up_is_noticed_at_once_and_ends_the_channels(connect: Connect) -> None:
    browser, server = await connect()
    await browser.close()
    async with asyncio.timeout(PATIENCE_S):  # by the path alone it would take half a minute
        assert await server.closed == "closed by the other side"
        assert [packet async for packet in server.received] == []
        assert [text async for text in server.commands] == []


async def test_a_silent_caller_is_there_until_its_network_goes(
    connect: Connect, relay: Relay, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(aioice.ice, "CONSENT_FAILURES", 3)
    _, server = await connect(offer=without_candidates, answer=relay.lead_through)
    await asyncio.sleep(2.5)
    assert now() - server.heard_at_s() < 2.2, "RTCP and consent checks show that it is there"
    relay.cut()
    cut_s = now()
    assert await server.closed == "the network path was lost"
    assert server.heard_at_s() <= cut_s + 0.5


async def test_a_lost_packet_that_is_asked_for_comes_again(connect: Connect, relay: Relay) -> None:
    browser, server = await connect(offer=without_candidates, answer=relay.lead_through)
    await hum(browser, 0.1)
    before = await take(server.received, 5)
    lost: list[bytes] = []
    relay.drop = lambda datagram: datagram[0] == 0x90 and not lost and not lost.append(datagram)
    await hum(browser, 0.1)
    after = await take(server.received, 4)
    gap = before[-1].sequence + 1
    assert gap not in [packet.sequence for packet in after]
    server.nack([gap])
    (again,) = await take(server.received, 1)
    assert again.sequence == gap


async def test_a_machine_with_no_network_but_loopback_can_call_itself(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("server.rtc.gather.addresses", list)
    _, server = await connect(ice=IceConfig())
    assert server.relayed() is False


async def test_a_browser_behind_mdns_names_connects_without_delay(connect: Connect) -> None:
    def hide(offer: str) -> str:
        return re.sub(r"(a=candidate:\S+ 1 udp \d+) \S+ \d+", rf"\1 {MDNS} 9", offer)

    began_s = now()
    await connect(offer=hide)
    assert now() - began_s < 3


@pytest.mark.parametrize("scheme", ["stun", "turn"])
async def test_a_silent_server_holds_up_a_call_by_a_moment_at_most(scheme: str) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("0.0.0.0", 0))
        url = f"{scheme}:{own_address()}:{silent.getsockname()[1]}"
        server = Peer("server", IceConfig((IceServer((url,)),), loopback=True))
        began_s = now()
        await server.answer(recorded_offer())
        limit_s = {"stun": STUN_WAIT_S, "turn": RELAY_WAIT_S}[scheme]
        assert limit_s <= now() - began_s < limit_s + 2
        await server.close()


def own_address() -> str:
    found = usable(addresses())
    if not found:
        pytest.skip("the machine has no address but loopback")
    return found[0]


def recorded_offer() -> str:
    return Path("tests/recordings/chromium-offer.sdp").read_bytes().decode()


async def test_a_listener_without_a_microphone_is_spoken_to(connect: Connect) -> None:
    browser, server = await connect(offer=lambda offer: offer.replace("sendrecv", "recvonly"))
    await hum(server)
    assert pitch_hz(await take(browser.received, 20)) == pytest.approx(PITCH_HZ, abs=3)


async def test_calls_that_end_leave_no_task_socket_or_thread_behind(connect: Connect) -> None:
    def held() -> tuple[int, int, int]:
        gc.collect()
        return (
            len(asyncio.all_tasks()),
            len(os.listdir("/proc/self/fd")),
            threading.active_count(),
        )

    async def call() -> None:
        browser, server = await connect()
        await hum(browser, 0.04)
        await take(server.received, 1)
        await browser.close()
        await server.close()

    await call()
    before = held()
    for _ in range(30):
        await call()
    assert held() == before


async def test_a_peer_stays_within_its_ports_and_gives_them_back(connect: Connect) -> None:
    few = IceConfig(loopback=True, ports=range(42_100, 42_112))
    ports: list[int] = []

    def note(description: str) -> str:
        ports.extend(
            int(port) for port in re.findall(r"a=candidate:.* (\d+) typ host", description)
        )
        return description

    for _ in range(8):
        for peer in await connect(offer=note, answer=note, ice=few):
            await peer.close()
    assert len(ports) > len(few.ports or ()) and set(ports) <= set(few.ports or ())
