"""Every private name of aiortc and aioice that we use, and nothing else.

What stock aiortc has no public way for, and why we need it:

- RTP as it arrives. Its audio jitter buffer ratchets from 80 to 280 ms at the first loss and
  never drains, its decoder knows neither FEC nor concealment (aiortc#543); ours does.
- NACKs for audio (RFC 4585 section 6.2.1).
- Consent checks each second (RFC 7675), how long their answers take, and when the peer was last
  heard. (The round-trip time of RTCP reports comes only after 5 s from Chromium.)
- Candidates that we gather ourselves (gather.py), and no strangers' datagrams.
- An end of the call that does not wait for a relay that is gone.

`aiortc` is pinned; `check` runs at import and names whatever has moved.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import reduce
from typing import Any, cast

import aioice.ice
import aioice.stun
import aioice.turn
import aiortc.rtcrtpreceiver
from aioice import Candidate
from aiortc import RTCIceTransport, RTCRtpReceiver
from aiortc.rtcrtpreceiver import StreamStatistics
from aiortc.rtp import RtpPacket

from pipeline.clock import now
from pipeline.errors import ConfigError

CONSENT_S = 1.0
"""Between two consent checks; aioice's own 5 s would notice a lost path too late."""
CONSENT_FAILURES = 20
"""Each costs CONSENT_S and half a second of waiting: consent expires after 30 s (RFC 7675)."""
GIVE_BACK_S = 1.0
"""What a relay that says nothing may hold up the end of a call."""
MAX_STREAMS = 31
"""Report blocks that fit one RTCP receiver report (RFC 3550 section 6.4.2)."""

NEEDED = (
    (aiortc.rtcrtpreceiver, "RTCRtpReceiver._handle_rtp_packet"),
    (aiortc.rtcrtpreceiver, "RTCRtpReceiver._handle_disconnect"),
    (aiortc.rtcrtpreceiver, "RTCRtpReceiver._send_rtcp_nack"),
    (aiortc.rtcrtpreceiver, "RTCRtpReceiver._RTCRtpReceiver__codecs"),
    (aiortc.rtcrtpreceiver, "RTCRtpReceiver._RTCRtpReceiver__remote_streams"),
    (aiortc.rtcrtpreceiver, "StreamStatistics.add"),
    (aiortc, "RTCIceTransport._connection"),
    (aioice.stun, "RETRY_RTO"),
    (aioice.turn, "TurnTransport._TurnTransport__close_task"),
    (aioice.ice, "StunProtocol.close"),
    (aioice.ice, "CONSENT_INTERVAL"),
    (aioice.ice, "CONSENT_FAILURES"),
    (aioice.ice, "Connection.get_component_candidates"),
    (aioice.ice, "Connection._protocols"),
    (aioice.ice, "relayed_candidate"),
    (aioice.ice, "server_reflexive_candidate"),
    (aioice.ice, "Connection._nominated"),
    (aioice.ice, "Connection.check_incoming"),
    (aioice.ice, "CandidatePair.remote_addr"),
    (aioice.ice, "StunProtocol.datagram_received"),
    (aioice.ice, "StunProtocol.request"),
)


def check(needed: Iterable[tuple[Any, str]] = NEEDED) -> None:
    """Raise ConfigError naming every private name that is gone."""
    if missing := [f"{home.__name__}.{path}" for home, path in needed if not _has(home, path)]:
        raise ConfigError(
            f"aiortc or aioice has changed: {', '.join(missing)} is missing.",
            hint="Install the versions in pyproject.toml, or mend server/rtc/seam.py.",
        )


def _has(home: Any, path: str) -> bool:
    """Whether the name is an attribute, or one that the owner's constructor sets."""
    *owners, name = path.split(".")
    try:
        owner = reduce(getattr, owners, home)
    except AttributeError:
        return False
    constructor = getattr(owner.__init__, "__code__", None)
    return hasattr(owner, name) or (constructor is not None and name in constructor.co_names)


check()
vars(aioice.ice).update(CONSENT_INTERVAL=CONSENT_S, CONSENT_FAILURES=CONSENT_FAILURES)


class RtpTap:
    """Takes a receiver's RTP after SRTP and before aiortc's jitter buffer and decoder.

    Must be made before the receiver starts. `put` must not raise: it runs in aiortc's pump.
    """

    def __init__(self, receiver: RTCRtpReceiver, put: Callable[[RtpPacket], None]) -> None:
        self._receiver = cast(Any, receiver)
        self._put = put
        self._idle_decoder = True
        self._receiver._handle_rtp_packet = self._handle

    async def _handle(self, packet: RtpPacket, arrival_time_ms: int) -> None:
        codec = self._receiver._RTCRtpReceiver__codecs.get(packet.payload_type)
        if codec is None:
            return
        if self._idle_decoder:  # it would only wait, one thread a peer
            self._receiver._handle_disconnect()
            self._idle_decoder = False
        streams = self._receiver._RTCRtpReceiver__remote_streams
        if packet.ssrc not in streams:
            if len(streams) == MAX_STREAMS:
                del streams[next(iter(streams))]
            streams[packet.ssrc] = StreamStatistics(codec.clockRate)
        streams[packet.ssrc].add(packet)
        self._put(packet)


async def send_nack(receiver: RTCRtpReceiver, ssrc: int, sequences: Sequence[int]) -> None:
    """Ask for 16-bit `sequences` of `ssrc` again; quietly nothing when not connected."""
    await receiver._send_rtcp_nack(ssrc, list(sequences))


Gather = Callable[[int], Awaitable[list[Candidate]]]
"""Finds the candidates of a component, in place of aioice (gather.py)."""


def ice_connection(transport: RTCIceTransport) -> Any:
    """aioice's connection below one of aiortc's."""
    return transport._connection


def close_soon(relayed: Any) -> None:
    """Let the protocol of a relayed candidate close within GIVE_BACK_S, come what may.

    aioice gives the allocation back first, and tries for 40 s if the relay is gone.
    """
    stock = relayed.close

    async def close() -> None:
        closing = asyncio.create_task(stock(), name="relay given back")
        await asyncio.wait([closing], timeout=GIVE_BACK_S)
        if not closing.done():
            relayed.transport._TurnTransport__close_task.cancel()
        await closing

    relayed.close = close


class IcePath:
    """Stands between a peer's sockets and its ICE connection.

    Must be made before candidates are gathered.
    """

    def __init__(self, transport: RTCIceTransport, gather: Gather) -> None:
        self.heard_at_s = now()
        """Loop time of the newest datagram from the peer, consent checks included."""
        self.rtt_s: float | None = None
        """Smoothed time that the peer's answers to our checks take; None before the first."""
        self._connection = ice_connection(transport)
        self._gather_ours = gather
        self._proven: set[tuple[Any, ...]] = set()
        self._connection.get_component_candidates = self._gather
        self._check_stock = self._connection.check_incoming
        self._connection.check_incoming = self._checked

    @property
    def relayed(self) -> bool | None:
        """Whether a TURN server carries the call; None while no path is chosen."""
        pair = self._connection._nominated.get(1)
        if pair is None:
            return None
        return "relay" in (pair.local_candidate.type, pair.remote_candidate.type)

    async def _gather(self, component: int, addresses: list[str]) -> list[Candidate]:
        candidates = await self._gather_ours(component)
        for protocol in self._connection._protocols:
            _Gate(protocol, self)
        return candidates

    def _checked(self, message: aioice.stun.Message, address: Any, protocol: Any) -> None:
        """A check came that shows the call's password."""
        self._proven.add(address[:2])
        self._check_stock(message, address, protocol)

    def from_peer(self, address: tuple[Any, ...]) -> bool:
        """Whether the peer is known to be there; notes the time.

        It may send on another pair than we do: with several good ones, each side keeps the one
        whose check it finished first, and aioice then forgets the others.
        """
        address = address[:2]
        pair = self._connection._nominated.get(1)
        if address not in self._proven and not (pair and pair.remote_addr == address):
            return False
        self.heard_at_s = now()
        return True

    def note_rtt(self, elapsed_s: float) -> None:
        """RFC 6298 section 2.3; what took longer than a first try waits was sent twice."""
        if elapsed_s < aioice.stun.RETRY_RTO:
            before_s = elapsed_s if self.rtt_s is None else self.rtt_s
            self.rtt_s = before_s + (elapsed_s - before_s) / 8


class _Gate:
    """Lets through a socket what the peer sent, and STUN, which carries its own proof.

    aiortc takes other datagrams from anybody: an empty one ends its pump, and with it the call.
    """

    def __init__(self, protocol: Any, path: IcePath) -> None:
        self._receive = protocol.datagram_received
        self._request = protocol.request
        self._path = path
        protocol.datagram_received = self._filter
        protocol.request = self._timed_request

    def _filter(self, data: bytes, address: tuple[Any, ...]) -> None:
        from_peer = self._path.from_peer(address)
        if data and (from_peer or data[0] < FIRST_NOT_STUN):
            self._receive(data, address)

    async def _timed_request(self, *request: Any, **options: Any) -> Any:
        began_s = now()
        answer = await self._request(*request, **options)
        if "integrity_key" in options:  # the peer's answer, not a STUN server's
            self._path.note_rtt(now() - began_s)
        return answer


FIRST_NOT_STUN = 4
"""STUN datagrams start with 0 to 3 (RFC 7983 section 7)."""
