import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.audio.rtp import RtpPacket, Unwrap, build_rtp, parse_rtp
from pipeline.errors import InputError


@given(st.lists(st.integers(-30_000, 30_000), max_size=50))
def test_a_counter_that_wraps_is_followed_forwards_and_backwards(steps: list[int]) -> None:
    unwrap, true = Unwrap(16), 65_000
    assert unwrap(true) == true
    for step in steps:
        true += step
        assert unwrap(true % 2**16) == true


def test_csrcs_extension_and_padding_are_no_payload() -> None:
    header = struct.pack("!BBHII", 0x80 | 0x20 | 0x10 | 2, 0x80 | 111, 7, 960, 42)
    csrcs, extension, padding = b"\0" * 8, struct.pack("!HH", 0xBEDE, 1) + b"\0" * 4, b"\0\0\3"
    packet = parse_rtp(header + csrcs + extension + b"opus" + padding)
    assert packet == RtpPacket(111, 7, 960, 42, b"opus")


def test_what_is_built_is_parsed_again() -> None:
    packet = RtpPacket(111, 65_535, 2**32 - 1, 9, b"opus")
    assert parse_rtp(build_rtp(packet)) == packet


@pytest.mark.parametrize(
    "junk",
    [
        b"",
        b"\x80\x6f" + b"\0" * 9,
        b"\x00\x6f" + b"\0" * 10,
        b"\x82\x6f" + b"\0" * 10,
        b"\x90\x6f" + b"\0" * 10,
        b"\xa0\x6f" + b"\0" * 9 + b"\xff",
    ],
)
def test_what_is_cut_short_or_not_rtp_is_refused(junk: bytes) -> None:
    with pytest.raises(InputError):
        parse_rtp(junk)
