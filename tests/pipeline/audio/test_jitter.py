import asyncio
import itertools
import sys
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.audio.framer import Framer
from pipeline.audio.impair import impaired
from pipeline.audio.jitter import JitterBuffer, Nack
from pipeline.audio.opus import OpusDecoder, has_fec
from pipeline.channel import Channel
from pipeline.probe import NoProbe
from pipeline.stage import Into
from pipeline.timed import run_timed
from pipeline.types import AudioFrame, OpusPacket, Pcm
from tests.fakes.drive import drive
from tests.fakes.sender import (
    RATE_HZ,
    delayed,
    joined,
    lost,
    packets,
    pitch_hz,
    sine,
    speech,
)

TAIL_S = 0.06
"""After the last packet, before silence stands in."""

CODEC_S = 0.0065
"""Opus's own look-ahead (RFC 6716 section 2)."""

IN_PLACE = pytest.approx(0.01, abs=0.011)
"""Between level with real time and a packet ahead of it, which is all that is allowed."""

Heard = list[tuple[float, AudioFrame]]


@cache
def spoken(seconds: float = 6.0, packet_s: float = 0.02, skew: float = 0.0) -> list[OpusPacket]:
    return packets(speech(seconds), packet_s, skew)


def hear(
    sent: list[OpusPacket], jitter: JitterBuffer | None = None, until_s: float | None = None
) -> Heard:
    """The frames that come out, each with its time; checks what holds whatever went in."""
    end_s = max(packet.arrived_s for packet in sent) + TAIL_S if until_s is None else until_s
    items = [(packet.arrived_s, packet) for packet in sent]
    out = drive(jitter or JitterBuffer(OpusDecoder()), items, end_s)
    heard = [(at_s, item) for at_s, item in out if isinstance(item, AudioFrame)]
    position = 0
    for at_s, frame in heard:
        assert frame.pts == position, "a hole in the stream"
        assert 0 <= frame.concealed <= len(frame.pcm)
        position += len(frame.pcm)
        assert position / RATE_HZ - at_s <= 0.0201, "ahead of real time"
    return heard


def delay_s(heard: Heard, meant: Pcm, from_s: float) -> float:
    """How much later than it was spoken the second after `from_s` comes out."""
    pcm = joined(frame for _, frame in heard)
    start = round(from_s * RATE_HZ)
    piece = meant[start : start + RATE_HZ]
    around = pcm[start - 4_800 : start + RATE_HZ + 9_600]
    return (int(np.argmax(np.correlate(around, piece))) - 4_800) / RATE_HZ - CODEC_S


def test_packets_in_order_come_out_as_they_arrive_and_none_is_touched() -> None:
    sent, jitter = spoken(), JitterBuffer(OpusDecoder())
    heard = hear(sent, jitter)
    frames = [(at_s, frame) for at_s, frame in heard if not frame.concealed]
    assert [at_s for at_s, _ in frames] == [packet.arrived_s for packet in sent]
    stats = jitter.stats
    assert (stats.lost, stats.late, stats.dropped, stats.received) == (0, 0, 0, len(sent))


def test_a_tone_keeps_its_pitch() -> None:
    pcm = joined(frame for _, frame in hear(packets(sine(440, 3.0))))
    assert pitch_hz(pcm[RATE_HZ : 2 * RATE_HZ], RATE_HZ) == pytest.approx(440, abs=1)


@pytest.mark.parametrize("gone", [[100], [100, 101], list(range(100, 150)), list(range(100, 180))])
def test_after_lost_packets_the_delay_is_what_it_was(gone: list[int]) -> None:
    heard = hear(lost(spoken(), *gone))
    before_s, after_s = (delay_s(heard, speech(6.0), at_s) for at_s in (0.9, 4.5))
    assert after_s == pytest.approx(before_s, abs=0.021)
    last_s = heard[-1][0]
    assert last_s == spoken()[-1].arrived_s


def test_a_lost_packet_is_recovered_from_the_next_ones_fec_after_a_short_wait() -> None:
    jitter = JitterBuffer(OpusDecoder())
    index = next(n for n, packet in enumerate(spoken()) if n > 100 and has_fec(packet.payload))
    heard = hear(lost(spoken(), index - 1), jitter)
    assert (jitter.stats.lost, jitter.stats.recovered_fec) == (1, 1)
    assert not any(frame.concealed for at_s, frame in heard if at_s > 0.1)
    waits = np.diff([at_s for at_s, _ in heard])
    assert waits.max() == pytest.approx(0.02 + 0.02 + 0.03, abs=0.0001)


def test_packets_in_the_wrong_order_are_put_right_and_nothing_is_invented() -> None:
    straight = joined(frame for _, frame in hear(spoken()))
    sent = list(spoken())
    for index in range(50, 250, 7):
        sent[index] = delayed(sent[index], 0.045)
    jitter = JitterBuffer(OpusDecoder())
    heard = hear(sent, jitter)
    assert (joined(frame for _, frame in heard) == straight).all()
    assert jitter.stats.lost == jitter.stats.late == 0


def test_fifty_milliseconds_of_jitter_conceal_nothing() -> None:
    sent, jitter = impaired(spoken(), seed=3, jitter_s=0.05), JitterBuffer(OpusDecoder())
    heard = hear(sent, jitter)
    assert not any(frame.concealed for at_s, frame in heard if at_s > 0.1)
    assert jitter.stats.lateness_p95_s == pytest.approx(0.0475, abs=0.004)


def test_duplicates_and_late_packets_are_counted_and_not_heard() -> None:
    straight = joined(frame for _, frame in hear(spoken()))
    jitter = JitterBuffer(OpusDecoder())
    doubled = [delayed(packet, 0.001) for packet in spoken()[:100]]
    assert (joined(f for _, f in hear([*spoken(), *doubled], jitter)) == straight).all()
    assert (jitter.stats.duplicates, jitter.stats.late) == (100, 0)

    jitter, sent = JitterBuffer(OpusDecoder()), list(spoken())
    sent[100] = delayed(sent[100], 0.3)
    hear(sent, jitter)
    assert (jitter.stats.duplicates, jitter.stats.late, jitter.stats.lost) == (0, 1, 1)


@pytest.mark.parametrize(("rtt_s", "asked"), [(None, False), (0.2, False), (0.01, True)])
def test_a_missing_packet_is_asked_for_once_and_only_where_the_answer_is_in_time(
    rtt_s: float | None, asked: bool
) -> None:
    jitter = JitterBuffer(OpusDecoder())
    jitter.rtt_s = rtt_s
    sent = lost(spoken(), 100, 101)
    out = drive(jitter, [(packet.arrived_s, packet) for packet in sent], 4.0)
    nacks = [(at_s, item.sequences) for at_s, item in out if isinstance(item, Nack)]
    missing = (spoken()[100].sequence, spoken()[101].sequence)
    assert nacks == ([(spoken()[102].arrived_s, missing)] if asked else [])


def test_without_a_microphone_there_is_silence_in_real_time_for_ever() -> None:
    jitter = JitterBuffer(OpusDecoder())
    out = drive(jitter, [], 0.9)
    assert not jitter.paused
    out += drive(jitter, [], 60.0)
    assert jitter.paused
    frames = [item for _, item in out if isinstance(item, AudioFrame)]
    assert len(joined(frames)) == 60 * RATE_HZ
    assert not joined(frames).any()
    assert all(len(frame.pcm) == frame.concealed == 480 for frame in frames)


def test_a_microphone_that_stops_and_returns_is_heard_at_once_without_lag() -> None:
    sent = [packet for packet in spoken() if not 2 < packet.arrived_s < 4]
    # A muted track keeps its sequence numbers; its clock may run on or stand still.
    resumed = next(i for i, packet in enumerate(sent) if packet.arrived_s >= 4)
    for still in (0, 96_000):
        muted = sent[:resumed] + [
            replace(packet, sequence=packet.sequence - 100, timestamp=packet.timestamp - still)
            for packet in sent[resumed:]
        ]
        jitter = JitterBuffer(OpusDecoder())
        heard = hear(muted, jitter)
        assert delay_s(heard, speech(6.0), 4.3) == IN_PLACE
        first_s = next(at_s for at_s, frame in heard if at_s > 3.9 and not frame.concealed)
        assert first_s == muted[resumed].arrived_s
        gaps = np.diff([at_s for at_s, _ in heard])
        assert gaps.max() < 0.09
        assert not jitter.paused


def test_what_stops_in_mid_word_fades_within_60_ms_and_then_is_silent() -> None:
    heard = hear(packets(sine(440, 2.0)), until_s=3.0)
    invented = [frame.pcm for at_s, frame in heard if at_s > 1 and frame.concealed]
    assert [bool(pcm.any()) for pcm in invented[:6]] == [True, True, True, False, False, False]
    assert not joined(frame for at_s, frame in heard if at_s > 2.2).any()


def test_silence_that_was_never_sent_is_as_long_as_it_was() -> None:
    sent = list(spoken())
    dtx = sent[:100] + [replace(packet, sequence=packet.sequence - 20) for packet in sent[120:]]
    jitter = JitterBuffer(OpusDecoder())
    heard = hear(dtx, jitter)
    assert delay_s(heard, speech(6.0), 3.5) == pytest.approx(
        delay_s(heard, speech(6.0), 0.5), abs=0.021
    )
    assert jitter.stats.lost == 0


@pytest.mark.parametrize(
    "offset", [(30_000, 10**8), (-30_000, -(10**8)), (0, 10**8), (1, -(10**8))]
)
def test_a_sender_that_starts_anew_is_followed_within_two_packets(
    offset: tuple[int, int],
) -> None:
    sequence, timestamp = offset
    sent = spoken()[:150] + [
        replace(p, sequence=p.sequence + sequence, timestamp=p.timestamp + timestamp)
        for p in spoken()[150:]
    ]
    jitter = JitterBuffer(OpusDecoder())
    heard = hear(sent, jitter)
    assert jitter.stats.lateness_p95_s < 0.01
    invented = sum(frame.concealed for at_s, frame in heard if at_s > 2)
    assert invented <= 2 * 480
    assert delay_s(heard, speech(6.0), 4.5) == IN_PLACE


@pytest.mark.parametrize("packet_s", [0.01, 0.02, 0.04, 0.06])
def test_packets_of_every_length_are_heard_whole_and_at_the_same_place(packet_s: float) -> None:
    heard = hear(spoken(6.0, packet_s))
    assert delay_s(heard, speech(6.0), 4.0) == IN_PLACE
    assert not any(frame.concealed for at_s, frame in heard if at_s > 0.1)


@pytest.mark.parametrize("skew", [0.01, -0.01])
def test_a_clock_that_is_one_percent_off_neither_fills_nor_drains_anything(skew: float) -> None:
    jitter = JitterBuffer(OpusDecoder())
    heard = hear(spoken(40.0, 0.02, skew), jitter)
    leads_s = [(f.pts + len(f.pcm)) / RATE_HZ - at_s for at_s, f in heard if at_s > 10]
    assert min(leads_s) > -0.06 and max(leads_s) < 0.0201
    assert not any(frame.concealed for at_s, frame in heard if at_s > 0.1)
    assert jitter.stats.dropped == 0


def test_a_stall_of_our_own_is_over_when_it_is_over() -> None:
    sent = [delayed(p, max(0.0, 4.0 - p.arrived_s)) if p.arrived_s > 1 else p for p in spoken()]
    jitter = JitterBuffer(OpusDecoder())
    frames = []
    for packet in sent:
        frames += [f for f in jitter.push(packet, packet.arrived_s) if isinstance(f, AudioFrame)]
    burst = [frame for frame in frames if frame.arrived_s == 4.0]
    assert sum(len(frame.pcm) for frame in burst) <= 0.25 * RATE_HZ
    assert all(len(frame.pcm) >= 470 for frame in frames if frame.arrived_s > 4.0)


def test_a_packet_that_is_not_opus_is_concealed_and_counted() -> None:
    sent = list(spoken())
    for index in (100, 150, 200):
        sent[index] = replace(sent[index], payload=b"\xff\xff\xff")
    jitter = JitterBuffer(OpusDecoder())
    heard = hear(sent, jitter)
    assert jitter.stats.undecodable == 3
    assert sum(frame.concealed for at_s, frame in heard if at_s > 1) == 3 * 480
    assert delay_s(heard, speech(6.0), 4.5) == IN_PLACE


def test_half_an_hour_of_a_lossy_call_leaves_memory_and_delay_as_they_were() -> None:
    payloads = [packet.payload for packet in spoken(6.0, 0.06)]
    jitter = JitterBuffer(OpusDecoder())
    call = (
        OpusPacket(payload, number, number * 2_880, number * 0.06)
        for number, payload in enumerate(itertools.cycle(payloads))
        if number % 20
    )
    blocks: list[int] = []
    for packet in call:
        jitter.poll(packet.arrived_s)
        jitter.push(packet, packet.arrived_s)
        if packet.arrived_s > 300 * (len(blocks) + 1):
            blocks.append(sys.getallocatedblocks())
        if len(blocks) == 6:
            break
    assert max(blocks[1:]) - min(blocks[1:]) < 300
    assert jitter.stats.samples / RATE_HZ == pytest.approx(1_800, abs=0.2)
    assert jitter.stats.lost == 1_499


def test_a_fast_clock_is_reconciled_by_whole_frames() -> None:
    heard = hear(spoken(40.0, 0.02, 0.002))
    in_step = [frame.pts % 480 == 0 for at_s, frame in heard]
    assert 0.8 < np.mean(in_step) < 1


def test_after_any_disturbance_each_packet_is_one_frame_for_the_engine_at_once() -> None:
    sent = impaired(spoken(40.0, 0.02, 0.002)[:1_000], seed=5, loss=0.1, jitter_s=0.04)
    sent += spoken(40.0, 0.02, 0.002)[1_050:]
    framer, frames = Framer(480), []
    for at_s, frame in hear(sent):
        frames += [(at_s, each) for each in framer.push(frame)]
    settled = [at_s for at_s, _ in frames if 24 < at_s < 26]
    arrived = [p.arrived_s for p in sent if 24 < p.arrived_s < 26]
    assert settled == arrived


async def test_its_shell_keeps_silence_flowing_before_the_first_packet_and_speech_after() -> None:
    inbox, frames = Channel[OpusPacket]("inbox", 10), []

    async def speak() -> None:
        await asyncio.sleep(1.0)
        for packet in spoken()[:50]:
            await inbox.send(replace(packet, arrived_s=asyncio.get_running_loop().time()))
            await asyncio.sleep(0.02)
        inbox.close()

    async with asyncio.TaskGroup() as tasks:
        core = JitterBuffer(OpusDecoder())
        tasks.create_task(run_timed(core, inbox, Into(frames.append), NoProbe()), name="jitter")
        tasks.create_task(speak(), name="speak")
    assert [frame.concealed for frame in frames] == [480] * 50 + [0] * 50


@given(
    fates=st.lists(
        st.tuples(
            st.sampled_from(["sent", "sent", "sent", "lost", "twice", "junk"]),
            st.floats(0, 0.3),
        ),
        min_size=1,
        max_size=100,
    )
)
def test_whatever_a_network_does_the_stream_is_whole_and_ends_in_real_time(
    fates: list[tuple[str, float]],
) -> None:
    sent = []
    for packet, (fate, late_s) in zip(spoken(), fates, strict=False):
        late = delayed(packet, late_s)
        sent += {
            "sent": [late],
            "lost": [],
            "twice": [late, delayed(packet, late_s / 2)],
            "junk": [replace(late, payload=b"\xff\xff\xff")],
        }[fate]
    heard = hear(sent, until_s=3.0) if sent else []
    gaps = np.diff([0.0] + [at_s for at_s, _ in heard])
    assert all(gaps < 0.131)
    if sent:
        assert len(joined(frame for _, frame in heard)) / RATE_HZ == pytest.approx(3.0, abs=0.021)
