"""The jitter buffer against the clock: silence, stalls, skew and long calls."""

import asyncio
import itertools
import sys
from dataclasses import replace

import numpy as np
import pytest

from pipeline.audio.framer import Framer
from pipeline.audio.impair import impaired
from pipeline.audio.jitter import JitterBuffer
from pipeline.audio.opus import OpusDecoder
from pipeline.channel import Channel
from pipeline.probe import NoProbe
from pipeline.stage import Into
from pipeline.timed import run_timed
from pipeline.types import AudioFrame, OpusPacket
from tests.fakes.drive import drive
from tests.fakes.listening import IN_PLACE, delay_s, hear, spoken
from tests.fakes.sender import (
    RATE_HZ,
    delayed,
    joined,
    packets,
    sine,
    speech,
)


def test_without_a_microphone_there_is_silence_in_real_time_for_ever() -> None:
    jitter = JitterBuffer(OpusDecoder())
    out = drive(jitter, [], 60.0)
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


@pytest.mark.parametrize("late_ms", [10, 15])
def test_falling_into_step_with_who_begins_again_is_no_overload(late_ms: int) -> None:
    """Their first packet is the late one: with the second there is more than there is time for."""
    first, *others = spoken()[200:]
    jitter = JitterBuffer(OpusDecoder())
    hear([*spoken()[:100], delayed(first, late_ms / 1000), *others], jitter)
    assert jitter.stats.dropped == 0


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


@pytest.mark.parametrize("phase_ms", [0, 1, 2, 7, 10, 15, 19])
def test_whenever_a_caller_connects_each_packet_is_one_frame_for_the_engine_at_once(
    phase_ms: int,
) -> None:
    came = [delayed(packet, 0.2 + phase_ms / 1000) for packet in spoken(4.0)]
    sent = impaired(came, seed=3, jitter_s=0.008)
    jitter, framer, frames = JitterBuffer(OpusDecoder()), Framer(480), []
    for at_s, frame in hear(sent, jitter):
        frames += [at_s for _ in framer.push(frame) if at_s >= sent[0].arrived_s]
    assert frames[: len(sent)] == [packet.arrived_s for packet in sent]
    assert jitter.stats.dropped == 0


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
        await asyncio.sleep(1.01)
        for packet in spoken()[:50]:
            await inbox.send(replace(packet, arrived_s=asyncio.get_running_loop().time()))
            await asyncio.sleep(0.02)
        inbox.close()

    async with asyncio.TaskGroup() as tasks:
        core = JitterBuffer(OpusDecoder())
        tasks.create_task(run_timed(core, inbox, Into(frames.append), NoProbe()), name="jitter")
        tasks.create_task(speak(), name="speak")
    assert [frame.concealed for frame in frames] == [480] * 50 + [0] * 50
