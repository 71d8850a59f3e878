"""Puts RTP packets on one line that never goes back, whichever SSRC they come with. Pure."""

from collections.abc import Sequence

from pipeline.types import OpusPacket

RTP_CLOCK_HZ = 48_000
FIRST_SEQUENCE = 1 << 16
FIRST_TIMESTAMP = 1 << 32
"""Room below the first packet for those that it overtook."""


class RtpTimeline:
    """Unwraps sequence numbers (16 bits) and timestamps (32 bits, RFC 3550 section 5.1).

    A new SSRC (a track replaced, a browser that restarts its encoder) continues the line: the
    next sequence number, and a timestamp as much later as its first packet came.
    """

    def __init__(self) -> None:
        self._ssrc: int | None = None
        self._sequence_offset = 0
        self._timestamp_offset = 0
        self._sequence = FIRST_SEQUENCE - 1
        self._timestamp = FIRST_TIMESTAMP
        self._arrived_s: float | None = None

    def place(
        self, ssrc: int, sequence: int, timestamp: int, payload: bytes, arrived_s: float
    ) -> OpusPacket:
        """The packet with its place on the line; both numbers are of the wire."""
        if ssrc != self._ssrc:
            self._follow(ssrc, sequence, timestamp, arrived_s)
        unwrapped = _nearest(sequence + self._sequence_offset, self._sequence, 16)
        placed = _nearest(timestamp + self._timestamp_offset, self._timestamp, 32)
        if unwrapped >= self._sequence:
            self._sequence, self._timestamp, self._arrived_s = unwrapped, placed, arrived_s
        return OpusPacket(payload, unwrapped, placed, arrived_s)

    def wire(self, sequences: Sequence[int]) -> tuple[int, list[int]]:
        """The SSRC and 16-bit numbers under which the sender knows these packets."""
        return self._ssrc or 0, [(s - self._sequence_offset) & 0xFFFF for s in sequences]

    def _follow(self, ssrc: int, sequence: int, timestamp: int, arrived_s: float) -> None:
        elapsed_s = 0.0 if self._arrived_s is None else arrived_s - self._arrived_s
        self._ssrc = ssrc
        self._sequence_offset = self._sequence + 1 - sequence
        self._timestamp_offset = self._timestamp + round(elapsed_s * RTP_CLOCK_HZ) - timestamp


def _nearest(value: int, reference: int, bits: int) -> int:
    """The number equal to `value` modulo 2**bits that is nearest to `reference`."""
    half = 1 << (bits - 1)
    return reference + ((value - reference + half) % (2 * half)) - half
