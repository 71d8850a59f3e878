import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.errors import InputError
from server.rtc.sdp import (
    MAX_SDP_BYTES,
    IceRestartUnsupported,
    finish_answer,
    parse_fragment,
    parse_offer,
)

RECORDED = Path("tests/recordings/chromium-offer.sdp").read_bytes().decode()
"""Chromium's: audio, video, data channel, in this order."""
UFRAG = re.findall(r"a=ice-ufrag:(\S+)", RECORDED)[0]
ANSWER = """v=0\r
o=- 1 1 IN IP4 0.0.0.0\r
s=-\r
t=0 0\r
a=group:BUNDLE 0 2\r
m=audio 5000 UDP/TLS/RTP/SAVPF 111\r
c=IN IP4 192.0.2.1\r
a=sendrecv\r
a=mid:0\r
a=rtcp:9 IN IP4 0.0.0.0\r
a=rtcp-mux\r
a=rtpmap:111 opus/48000/2\r
a=ice-ufrag:abcd\r
a=ice-pwd:abcdefghijklmnopqrstuvwx\r
a=fingerprint:sha-256 AA:BB\r
a=setup:active\r
m=application 5000 UDP/DTLS/SCTP webrtc-datachannel\r
c=IN IP4 192.0.2.1\r
a=mid:2\r
a=sctp-port:5000\r
a=ice-ufrag:abcd\r
a=ice-pwd:abcdefghijklmnopqrstuvwx\r
a=fingerprint:sha-256 AA:BB\r
a=setup:active\r
"""


def lines_of(sdp: str, kind: str) -> list[str]:
    section = sdp[sdp.index(f"m={kind} ") :]
    return section.split("\r\nm=", 1)[0].split("\r\n")


@pytest.mark.parametrize(
    ("pattern", "replacement", "reason"),
    [
        (r"^v=0", "hello", "not SDP"),
        (r"m=audio \d+", "m=audio x", "not valid SDP"),
        (r"m=audio ", "m=video ", "no audio"),
        (r"m=audio \d+", "m=audio 0", "no audio"),
        (r"opus/48000/2", "speex/48000/2", "no Opus"),
        (r"a=fingerprint:.*\r\n", "", "fingerprint"),
        (r"a=ice-pwd:.*\r\n", "", "ICE"),
        (r"a=rtcp-mux\r\n", "", "rtcp-mux"),
        (r"a=group:BUNDLE.*\r\n", "", "bundle"),
        (r"$", "a=x\r\n" * MAX_SDP_BYTES, "too large"),
        (r"$", "m=audio 9 UDP/TLS/RTP/SAVPF 0\r\n" * 20, "too many m-lines"),
    ],
)
def test_an_offer_that_cannot_be_used_is_refused_with_the_reason(
    pattern: str, replacement: str, reason: str
) -> None:
    spoilt = re.sub(pattern, replacement, RECORDED)
    with pytest.raises(InputError, match=reason):
        parse_offer(spoilt)


@given(st.integers(0, len(RECORDED)), st.integers(0, 400), st.text(max_size=40))
def test_a_mangled_offer_is_taken_or_refused_but_never_trips_the_server(
    at: int, cut: int, put: str
) -> None:
    try:
        parse_offer(RECORDED[:at] + put + RECORDED[at + cut :])
    except InputError as error:
        assert str(error)


def test_audio_and_data_are_taken_and_video_is_left_out() -> None:
    offer = parse_offer(RECORDED)
    assert re.findall(r"^m=(\w+)", offer.sdp, re.M) == ["audio", "application"]
    assert "a=group:BUNDLE 0 2\r\n" in offer.sdp
    assert offer.mid == "0"


def test_the_answer_refuses_video_in_its_place() -> None:
    answer = finish_answer(ANSWER, parse_offer(RECORDED))
    assert re.findall(r"^m=(\w+) (\d+)", answer, re.M) == [
        ("audio", "5000"),
        ("video", "0"),
        ("application", "5000"),
    ]
    assert {"a=mid:1", "a=inactive"} <= set(lines_of(answer, "video"))


def test_a_line_without_formats_is_refused_in_its_place_like_any_other() -> None:
    bare = re.sub(r"(m=video \S+ \S+ )[ \d]*", r"\1 ", RECORDED)
    answer = finish_answer(ANSWER, parse_offer(bare))
    assert re.findall(r"^m=(\w+) (\d+)", answer, re.M)[1] == ("video", "0")


def test_the_answer_asks_for_fec_and_retransmission_but_not_for_dtx() -> None:
    audio = lines_of(finish_answer(ANSWER, parse_offer(RECORDED)), "audio")
    assert "a=fmtp:111 minptime=10;useinbandfec=1" in audio
    assert "a=rtcp-fb:111 nack" in audio


def test_a_browser_behind_mdns_names_is_not_looked_up() -> None:
    hidden = RECORDED.replace("192.0.2.2", "5a1b2c3d-0000-4000-8000-123456789abc.local")
    assert ".local" not in parse_offer(hidden).sdp


def test_audio_carries_the_transport_even_if_the_data_channel_comes_first() -> None:
    head, audio, video, data = re.split(r"(?=^m=)", RECORDED, flags=re.M)
    offer = parse_offer(head.replace("BUNDLE 0 1 2", "BUNDLE 2 0 1") + data + audio + video)
    assert re.findall(r"^m=(\w+)", offer.sdp, re.M) == ["application", "audio"]
    assert offer.mid == "0"


FRAGMENT = (
    f"a=ice-ufrag:{UFRAG}\r\na=ice-pwd:x\r\nm=audio 9 RTP/AVP 0\r\na=mid:0\r\n"
    "a=candidate:1 1 UDP 2122 203.0.113.9 4444 typ host\r\n"
    "a=candidate:2 1 tcp 1518 203.0.113.9 9 typ host tcptype active\r\n"
    "a=end-of-candidates\r\n"
    "a=candidate:3 1 udp 2122 5a1b2c3d-0000-4000-8000-123456789abc.local 5 typ host\r\n"
)


def test_a_fragment_gives_the_candidates_that_can_be_used() -> None:
    (candidate,) = parse_fragment(FRAGMENT, parse_offer(RECORDED))
    assert (candidate.ip, candidate.port, candidate.sdpMid) == ("203.0.113.9", 4444, "0")


def test_an_ice_restart_is_told_apart_and_says_what_to_do() -> None:
    with pytest.raises(IceRestartUnsupported, match="new call"):
        parse_fragment(FRAGMENT.replace(UFRAG, "new4"), parse_offer(RECORDED))


@pytest.mark.parametrize("text", ["{}", "a=candidate:1 1 udp", "a=candidate:" + "9" * 70_000])
def test_what_is_no_fragment_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        parse_fragment(text, parse_offer(RECORDED))
