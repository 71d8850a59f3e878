"""Puts RTP packets on one line that never goes back, whichever SSRC they come with. Pure."""

from collections.abc import Sequence

from pipeline.audio.rtp import Unwrap
from pipeline.types import OpusPacket

RTP_CLOCK_HZ = 48_000
"""Opus, whatever its sample rate (RFC 7587 section 4.1)."""


class RtpTimeline:
    """Unwraps sequence numbers and timestamps (RFC 3550 section 5.1).

    A new SSRC (a track replaced, a sender begun anew) continues the line: with the next sequence
    number, and a timestamp as much later as its first packet came.
    """

    def __init__(self) -> None:
        self._ssrc: int | None = None
        self._unwrap_sequence, self._unwrap_timestamp = Unwrap(16), Unwrap(32)
        self._sequence_offset = self._timestamp_offset = 0
        self._newest: OpusPacket | None = None

    def place(
        self, ssrc: int, sequence: int, timestamp: int, payload: bytes, arrived_s: float
    ) -> OpusPacket:
        """The packet with its place on the line; both numbers are as on the wire."""
        if ssrc != self._ssrc:
            self._follow(ssrc, sequence, timestamp, arrived_s)
        packet = OpusPacket(
            payload,
            self._unwrap_sequence(sequence) + self._sequence_offset,
            self._unwrap_timestamp(timestamp) + self._timestamp_offset,
            arrived_s,
        )
        if self._newest is None or packet.sequence > self._newest.sequence:
            self._newest = packet
        return packet

    def wire(self, sequences: Sequence[int]) -> tuple[int, list[int]]:
        """The SSRC and the numbers by which the newest sender knows these packets."""
        return self._ssrc or 0, [(s - self._sequence_offset) & 0xFFFF for s in sequences]

    def _follow(self, ssrc: int, sequence: int, timestamp: int, arrived_s: float) -> None:
        self._ssrc = ssrc
        self._unwrap_sequence, self._unwrap_timestamp = Unwrap(16), Unwrap(32)
        if self._newest is not None:
            elapsed = round((arrived_s - self._newest.arrived_s) * RTP_CLOCK_HZ)
            self._sequence_offset = self._newest.sequence + 1 - sequence
            self._timestamp_offset = self._newest.timestamp + elapsed - timestamp
