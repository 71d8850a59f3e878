"""Recorded RTP in rtpdump's format (rtptools, "#!rtpplay1.0").

A text line, a header of 16 bytes, then for each packet 8 bytes and the packet.
"""

import struct
from collections.abc import Iterable, Iterator
from pathlib import Path

from pipeline.audio.rtp import RtpPacket, Unwrap, build_rtp, parse_rtp
from pipeline.errors import InputError
from pipeline.types import OpusPacket

_MAGIC = b"#!rtpplay1.0 "
_FILE = struct.Struct("!IIIHH")
"""Start (s, µs), source address and port, padding."""
_PACKET = struct.Struct("!HHI")
"""Length with this header, length of the packet (0: RTCP), milliseconds since the start."""
_OPUS = 111


def read_rtpdump(path: Path) -> Iterator[OpusPacket]:
    """Packets in the order they came, numbers unwrapped, `arrived_s` since the recording began.

    Raises InputError, at the packet where it is found, if the file is malformed.
    """
    data = path.read_bytes()
    at = data.find(b"\n") + 1 + _FILE.size
    if not data.startswith(_MAGIC) or b"\n" not in data or at > len(data):
        raise InputError(
            f"{path} is not an rtpdump file.", hint='Such a file begins with "#!rtpplay1.0".'
        )
    sequence, timestamp = Unwrap(16), Unwrap(32)
    while at < len(data):
        datagram, offset_ms, at = _next(data, at, path)
        if datagram:
            rtp = parse_rtp(datagram)
            yield OpusPacket(
                rtp.payload, sequence(rtp.sequence), timestamp(rtp.timestamp), offset_ms / 1000
            )


def write_rtpdump(path: Path, packets: Iterable[OpusPacket]) -> None:
    """Record `packets`; times are kept to the millisecond, from the first one on."""
    with path.open("wb") as file:
        file.write(_MAGIC + b"127.0.0.1/5004\n" + _FILE.pack(0, 0, 0x7F000001, 5004, 0))
        began_s: float | None = None
        for packet in packets:
            began_s = packet.arrived_s if began_s is None else began_s
            rtp = RtpPacket(_OPUS, packet.sequence, packet.timestamp, 1, packet.payload)
            datagram, offset_ms = build_rtp(rtp), round((packet.arrived_s - began_s) * 1000)
            file.write(_PACKET.pack(len(datagram) + _PACKET.size, len(datagram), offset_ms))
            file.write(datagram)


def _next(data: bytes, at: int, path: Path) -> tuple[bytes, int, int]:
    """The datagram at `at` (empty: RTCP), its time and where the next one begins."""
    if at + _PACKET.size > len(data):
        raise InputError(f"{path} ends within a packet header.")
    length, packet_length, offset_ms = _PACKET.unpack_from(data, at)
    end = at + length
    if length < _PACKET.size + packet_length or end > len(data):
        raise InputError(f"{path} ends within a packet.")
    start = at + _PACKET.size
    return data[start : start + packet_length], offset_ms, end
