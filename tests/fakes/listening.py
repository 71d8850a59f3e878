"""What comes out of a jitter buffer, for the tests that ask how it sounds and when."""

from functools import cache

import numpy as np
import pytest

from pipeline.audio.jitter import JitterBuffer
from pipeline.audio.opus import OpusDecoder
from pipeline.types import AudioFrame, OpusPacket, Pcm
from tests.fakes.drive import drive
from tests.fakes.sender import RATE_HZ, joined, packets, speech

TAIL_S = 0.06
"""After the last packet, before silence stands in."""

CODEC_S = 0.0065
"""Opus's own look-ahead (RFC 6716 section 2)."""

IN_PLACE = pytest.approx(0.01, abs=0.011)
"""Between level with real time and a packet ahead of it, which is all that is allowed."""

AHEAD_S = 0.034
"""A packet, and at most 14 ms more by which the first one came before silence's next beat."""

Heard = list[tuple[float, AudioFrame]]


@cache
def spoken(seconds: float = 6.0, packet_s: float = 0.02, skew: float = 0.0) -> list[OpusPacket]:
    return packets(speech(seconds), packet_s, skew)


def hear(
    sent: list[OpusPacket],
    jitter: JitterBuffer | None = None,
    until_s: float | None = None,
    head_s: float = 0.0,
) -> Heard:
    """The frames that come out, each with its time; checks what holds whatever went in.

    `head_s`: how late the packets may be with which it begins.
    """
    end_s = max(packet.arrived_s for packet in sent) + TAIL_S if until_s is None else until_s
    items = [(packet.arrived_s, packet) for packet in sent]
    out = drive(jitter or JitterBuffer(OpusDecoder()), items, end_s)
    heard = [(at_s, item) for at_s, item in out if isinstance(item, AudioFrame)]
    position = 0
    for at_s, frame in heard:
        assert frame.pts == position, "a hole in the stream"
        assert 0 <= frame.concealed <= len(frame.pcm)
        position += len(frame.pcm)
        assert position / RATE_HZ - at_s <= AHEAD_S + head_s, "ahead of real time"
    return heard


def delay_s(heard: Heard, meant: Pcm, from_s: float) -> float:
    """How much later than it was spoken the second after `from_s` comes out."""
    pcm = joined(frame for _, frame in heard)
    start = round(from_s * RATE_HZ)
    piece = meant[start : start + RATE_HZ]
    around = pcm[start - 4_800 : start + RATE_HZ + 9_600]
    return (int(np.argmax(np.correlate(around, piece))) - 4_800) / RATE_HZ - CODEC_S
