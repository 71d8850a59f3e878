"""RTP headers and numbers (RFC 3550): pure."""

import struct
from dataclasses import dataclass

from pipeline.errors import InputError

_FIXED = struct.Struct("!BBHII")


class Unwrap:
    """Turns a counter that wraps at 2**bits into one that does not (RFC 3550 appendix A.1).

    Reordered values fall back by as much as they are late.
    """

    def __init__(self, bits: int) -> None:
        self._size = 1 << bits
        self._last: int | None = None

    def __call__(self, value: int) -> int:
        last = value if self._last is None else self._last
        half = self._size // 2
        self._last = last + (value - last + half) % self._size - half
        return self._last


@dataclass(frozen=True, slots=True)
class RtpPacket:
    """One datagram, taken apart."""

    payload_type: int
    sequence: int
    """16 bits, as on the wire."""
    timestamp: int
    """32 bits, as on the wire."""
    ssrc: int
    payload: bytes


def parse_rtp(datagram: bytes) -> RtpPacket:
    """RFC 3550 section 5.1. Raises InputError if it is cut short or no RTP."""
    if len(datagram) < _FIXED.size or datagram[0] >> 6 != 2:
        raise InputError("This is not an RTP packet.")
    flags, marker_type, sequence, timestamp, ssrc = _FIXED.unpack_from(datagram)
    start = _FIXED.size + 4 * (flags & 0x0F)
    if flags & 0x10:
        if len(datagram) < start + 4:
            raise InputError("An RTP packet ends within its header extension.")
        start += 4 + 4 * int.from_bytes(datagram[start + 2 : start + 4])
    end = len(datagram) - (datagram[-1] if flags & 0x20 else 0)
    if start > end:
        raise InputError("An RTP packet ends within its header or padding.")
    return RtpPacket(marker_type & 0x7F, sequence, timestamp, ssrc, datagram[start:end])


def build_rtp(packet: RtpPacket) -> bytes:
    """The datagram: no extension, no padding."""
    sequence, timestamp = packet.sequence & 0xFFFF, packet.timestamp & 0xFFFFFFFF
    header = _FIXED.pack(0x80, packet.payload_type, sequence, timestamp, packet.ssrc)
    return header + packet.payload
