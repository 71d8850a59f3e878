"""One WebRTC connection: Opus packets and event text both ways.

The server's side answers (`answer`), the terminal client's side offers (`offer`, `accept`).
"""

import asyncio
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import av
from aiortc import (
    MediaStreamTrack,
    RTCBundlePolicy,
    RTCConfiguration,
    RTCDataChannel,
    RTCPeerConnection,
    RTCRtpReceiver,
    RTCRtpTransceiver,
    RTCSessionDescription,
)
from aiortc.mediastreams import MediaStreamError
from aiortc.rtcconfiguration import RTCIceTransportPolicy
from aiortc.rtp import RtpPacket

from pipeline.channel import Channel, Full
from pipeline.clock import now
from pipeline.errors import ChannelClosed, InputError, ServiceError
from pipeline.types import OpusPacket
from server.rtc import sdp, seam
from server.rtc.events import LABEL, EventSender
from server.rtc.gather import Gathering, IceConfig
from server.rtc.timeline import RtpTimeline

RTP_CLOCK_HZ = 48_000
"""RFC 7587 section 4.1."""
GOODBYE_S = 1.0
"""A connection that ends this soon after its last datagram was ended by it (DTLS close_notify)."""


class PacketTrack(MediaStreamTrack):
    """Hands ready-made Opus packets to aiortc's sender, which then encodes nothing."""

    kind = "audio"

    def __init__(self, packets: Channel[OpusPacket]) -> None:
        super().__init__()
        self._packets = packets

    async def recv(self) -> "av.Packet[Any]":
        try:
            packet = await self._packets.receive()
        except ChannelClosed:
            raise MediaStreamError from None
        made = av.Packet(packet.payload)
        made.pts = packet.timestamp
        made.time_base = Fraction(1, RTP_CLOCK_HZ)
        return made


class Peer:
    """A connection to one browser or terminal client. Whoever makes it must `close` it.

    `received`   what came, in order of arrival, closed when the connection is over
    `to_send`    what is to go; a block of packets leaves at once
    `commands`   text from the far side's data channel, closed when the connection is over
    `connected`  done once media and events can flow
    `closed`     why it ended, in words
    """

    def __init__(self, name: str, ice: IceConfig | None = None) -> None:
        loop = asyncio.get_running_loop()
        self.name = name
        self.received = Channel[OpusPacket](f"{name} received", 50, Full.DROP_OLDEST)
        self.to_send = Channel[OpusPacket](f"{name} to send", 8, Full.DROP_OLDEST)
        self.commands = Channel[str](f"{name} commands", 64, Full.DROP_NEWEST)
        self.connected: asyncio.Future[None] = loop.create_future()
        self.closed: asyncio.Future[str] = loop.create_future()
        self._ice = ice or IceConfig()
        self._events = EventSender()
        self._timeline = RtpTimeline()
        self._nacks = Channel[tuple[int, list[int]]](f"{name} nacks", 16, Full.DROP_OLDEST)
        self._nacking: asyncio.Task[None] | None = None
        self._offer: sdp.Offer | None = None
        self._trickled = 0
        self._connection = RTCPeerConnection(_configuration(self._ice))
        self._connection.on("connectionstatechange", self._on_state)
        self._connection.on("datachannel", self._on_channel)
        self._audio = self._connection.addTransceiver(PacketTrack(self.to_send))
        _speak_opus_only(self._audio)
        seam.RtpTap(self._audio.receiver, self._on_rtp)
        transport = self._audio.receiver.transport.transport
        self._gathering = Gathering(seam.ice_connection(transport), self._ice)
        self._path = seam.IcePath(transport, self._gathering.candidates)

    async def answer(self, offer_sdp: str) -> str:
        """The answer to a browser's offer; candidates of ours are all in it.

        Raises InputError if the offer cannot be used, ServiceError as `offer` does.
        """
        self._offer = sdp.parse_offer(offer_sdp)
        try:
            await self._connection.setRemoteDescription(
                RTCSessionDescription(self._offer.sdp, "offer")
            )
        except ValueError as error:
            raise InputError(f"The offer cannot be used: {error}") from error
        await self._gather()
        return sdp.finish_answer(self._connection.localDescription.sdp, self._offer)

    async def offer(self) -> str:
        """Our own offer, with one audio m-line and the data channel.

        Raises ServiceError if it must be relayed, and no relay can be had.
        """
        self._on_channel(self._connection.createDataChannel(LABEL))
        await self._gather()
        return sdp.finish_offer(self._connection.localDescription.sdp)

    async def accept(self, answer_sdp: str) -> None:
        """Take the answer to our offer. Raises InputError if it cannot be used."""
        try:
            await self._connection.setRemoteDescription(RTCSessionDescription(answer_sdp, "answer"))
        except ValueError as error:
            raise InputError(f"The answer cannot be used: {error}") from error

    async def add_candidates(self, fragment: str) -> None:
        """Take trickled candidates. Raises InputError, or IceRestartUnsupported for a restart."""
        if self._offer is None:
            raise InputError("Candidates came before the offer.")
        candidates = sdp.parse_fragment(fragment, self._offer)
        self._trickled += len(candidates)
        if self._trickled > sdp.MAX_CANDIDATES:
            raise InputError("There were too many candidates.")
        for candidate in candidates:
            await self._connection.addIceCandidate(candidate)

    def send_event(self, text: str) -> None:
        """Send text over the data channel, now or once it opens; never waits, may drop."""
        self._events.send(text)

    def nack(self, sequences: Sequence[int]) -> None:
        """Ask for packets again, by the sequence numbers of `received`."""
        if sequences:
            self._nacks.offer(self._timeline.wire(sequences))

    def rtt_s(self) -> float | None:
        """Round-trip time of the network path; None until connected."""
        return self._path.rtt_s

    def heard_at_s(self) -> float:
        """Loop time at which anything last came: media, events or consent checks."""
        return self._path.heard_at_s

    def relayed(self) -> bool | None:
        """Whether media goes through a TURN server; None until connected."""
        return self._path.relayed

    def relay_failures(self) -> list[str]:
        """Why no relay could be had, a sentence a URL; empty if one was, or none is known."""
        return self._gathering.relay_failures

    async def close(self) -> None:
        """End the connection and free its sockets and tasks. A second call does nothing more."""
        self._end("closed by us")
        await self._connection.close()
        if self._nacking is not None:
            await self._nacking

    async def _gather(self) -> None:
        """Collect our candidates, then look for a path in the background."""
        await self._connection.setLocalDescription()
        if not self._gathering.found:
            why = " ".join(self.relay_failures()) or "None is known: see TURN in the README."
            raise ServiceError("turn", "No relay could be had.", hint=why)
        self._nacking = asyncio.create_task(self._send_nacks(), name=f"{self.name} nacks")

    async def _send_nacks(self) -> None:
        async for ssrc, sequences in self._nacks:
            await seam.send_nack(self._audio.receiver, ssrc, sequences)

    def _on_rtp(self, packet: RtpPacket) -> None:
        self.received.offer(
            self._timeline.place(
                packet.ssrc, packet.sequence_number, packet.timestamp, packet.payload, now()
            )
        )

    def _on_channel(self, channel: RTCDataChannel) -> None:
        if channel.label != LABEL:
            return
        channel.on("message", self._on_message)
        if channel.readyState == "open":
            self._events.open(channel)
        else:
            channel.on("open", lambda: self._events.open(channel))

    def _on_message(self, message: str | bytes) -> None:
        if isinstance(message, str):
            self.commands.offer(message)

    def _on_state(self) -> None:
        state = self._connection.connectionState
        if state == "connected" and not self.connected.done():
            self.connected.set_result(None)
        elif state == "failed":
            self._end(self._failure())
        elif state == "closed":
            self._end("closed by the other side" if self._heard_lately() else LOST)

    def _failure(self) -> str:
        if self._connection.iceConnectionState != "failed":
            return "the DTLS handshake failed"
        return LOST if self.connected.done() else "no network path was found"

    def _heard_lately(self) -> bool:
        return now() - self.heard_at_s() < GOODBYE_S

    def _end(self, reason: str) -> None:
        if not self.closed.done():
            self.closed.set_result(reason)
        self.received.close()
        self.to_send.close()
        self.commands.close()
        self._nacks.close()


LOST = "the network path was lost"


def _configuration(ice: IceConfig) -> RTCConfiguration:
    return RTCConfiguration(
        iceServers=[],  # Gathering asks them
        iceTransportPolicy=RTCIceTransportPolicy("relay" if ice.relay_only else "all"),
        bundlePolicy=RTCBundlePolicy.MAX_BUNDLE,
    )


def _speak_opus_only(audio: RTCRtpTransceiver) -> None:
    capabilities = RTCRtpReceiver.getCapabilities("audio")
    assert capabilities is not None
    audio.setCodecPreferences([c for c in capabilities.codecs if c.mimeType == "audio/opus"])
