"""Frames that are complete just before the engine's ticks, whenever and however packets come."""

from collections.abc import Iterator

import numpy as np
import pytest

from pipeline.audio.align import Align
from pipeline.audio.framer import Framer
from pipeline.audio.jitter import JitterBuffer
from pipeline.audio.opus import OpusDecoder, OpusEncoder
from pipeline.engine.scheduler import Scheduler
from pipeline.types import AudioFrame, OpusPacket, StepInput, Ticks, silence
from tests.fakes.sender import RATE_HZ, joined, pitch_hz, sine

TICKS = Ticks(0.013, 0.08)
SIZE = 1_920
STEP_S = 0.06
SETTLED_S = 10.0
Slot = tuple[Align, Framer]


def arrivals(rng: np.random.Generator, seconds: float, jitter_s: float) -> list[float]:
    """Of one caller's packets: any phase, and late by exponentially distributed times."""
    sent_s = rng.uniform(0, TICKS.every_s) + np.arange(0, seconds, 0.02)
    late_s = rng.exponential(jitter_s, len(sent_s))
    return list(np.maximum.accumulate(sent_s + late_s))


def waits(callers: int, seconds: float, jitter_s: float) -> list[float]:
    """How long each frame of a full engine waits for its step to begin, once all is settled."""
    rng = np.random.default_rng(2)
    slots: list[Slot] = [(Align(TICKS, SIZE, RATE_HZ), Framer(SIZE)) for _ in range(callers)]
    scheduler = Scheduler(TICKS.every_s, 0.0, TICKS)
    scheduler.step_s = STEP_S
    for index in range(callers):
        scheduler.open(index)
    came = [(at_s, index) for index in range(callers) for at_s in arrivals(rng, seconds, jitter_s)]
    waited, free_s, before_s = [], 0.0, 0.0
    for at_s, index in sorted(came):
        while (due_s := scheduler.deadline()) is not None:
            if (begins_s := max(due_s, free_s, before_s)) > at_s:
                break
            scheduler.take(begins_s)
            if begins_s > SETTLED_S:
                waited += [begins_s - came_s for came_s in scheduler.taken_s]
            free_s = begins_s + STEP_S
            scheduler.stepped(free_s)
        align, framer = slots[index]
        packet = AudioFrame(silence(480), RATE_HZ, 0, at_s)
        for frame in framer.push(align.push(packet, at_s)):
            scheduler.submit(index, StepInput(frame.pcm), at_s)
        before_s = at_s
    return waited


def test_with_128_callers_no_frame_waits_a_phase() -> None:
    waited = waits(128, 20.0, jitter_s=0.001)
    assert np.median(waited) < 0.022
    assert np.percentile(waited, 99) < 0.035
    assert np.mean(np.array(waited) > 0.05) < 0.001, "almost none comes too late for its tick"


def test_on_a_network_that_is_late_by_13_ms_once_in_100_packets_frames_wait_a_packet_longer() -> (
    None
):
    waited = waits(64, 25.0, jitter_s=0.003)
    assert np.percentile(waited, 99) < 0.055
    assert np.mean(np.array(waited) > 0.05) < 0.01


def heard(seconds: float, skew: float, jitter_s: float) -> Iterator[tuple[float, AudioFrame]]:
    """What a jitter buffer makes of a caller whose clock is `skew` too fast."""
    rng = np.random.default_rng(3)
    jitter, payload = JitterBuffer(OpusDecoder(RATE_HZ)), OpusEncoder(RATE_HZ).encode(silence(480))
    for number in range(round(seconds / 0.02)):
        at_s = 0.3 + number * 0.02 / (1 + skew) + rng.uniform(0, jitter_s)
        while (due_s := jitter.deadline()) < at_s:
            yield from ((due_s, f) for f in jitter.poll(due_s) if isinstance(f, AudioFrame))
        packet = OpusPacket(payload, number, number * 960, at_s)
        yield from ((at_s, f) for f in jitter.push(packet, at_s) if isinstance(f, AudioFrame))
    assert jitter.stats.dropped == 0


@pytest.mark.parametrize("skew", [600e-6, -600e-6])
def test_a_clock_as_far_off_as_100_ppm_are_in_an_hour_neither_adds_to_the_wait_nor_loses_audio(
    skew: float,
) -> None:
    align, framer = Align(TICKS, SIZE, RATE_HZ), Framer(SIZE)
    slack_s, in_samples, out_samples = [], 0, 0
    for at_s, frame in heard(600.0, skew, jitter_s=0.004):
        for made in framer.push(align.push(frame, at_s)):
            out_samples += SIZE
            slack_s.append(TICKS.next(at_s) - at_s)
            assert made.end_s == pytest.approx(frame.end_s, abs=0.021), "media time is kept"
        in_samples += len(frame.pcm)
    settled = np.array(slack_s[int(SETTLED_S / TICKS.every_s) :])
    assert np.percentile(settled, 99) < 0.055
    assert np.percentile(settled[-1_000:], 50) < 0.035, "as short at the end as at the beginning"
    assert np.mean(settled > 0.06) < 0.005, "hardly any comes just after its tick"
    assert out_samples == pytest.approx(in_samples + align.inserted - align.removed, abs=SIZE)
    assert abs(align.inserted - align.removed) <= 2 * SIZE


def test_a_tone_goes_through_a_shift_without_a_gap_or_a_click() -> None:
    said = sine(440, 20.0)
    align, framer, made = Align(TICKS, SIZE, RATE_HZ), Framer(SIZE), []
    for number in range(1_000):
        pcm = said[number * 480 : (number + 1) * 480]
        at_s = 0.02 * number + (0.03 if number % 7 == 0 and 200 < number < 500 else 0.0)
        frame = AudioFrame(pcm, RATE_HZ, number * 480, at_s)
        shifted = align.push(frame, at_s)
        assert shifted.end_s == frame.end_s, "media time is the caller's"
        made += framer.push(shifted)
    assert align.inserted > SIZE // 4, "packets that come late have the stream shifted"
    sound = joined(made)[2 * SIZE :]
    assert pitch_hz(sound, RATE_HZ) == pytest.approx(440, rel=0.003)
    assert np.abs(np.diff(sound)).max() < 1.2 * np.abs(np.diff(said)).max()


def test_who_comes_back_after_a_pause_is_in_step_with_the_tick_within_two_seconds() -> None:
    align, framer = Align(TICKS, SIZE, RATE_HZ), Framer(SIZE)
    invented = [
        (0.02 * n, AudioFrame(silence(480), RATE_HZ, 480 * n, 0.0, 480)) for n in range(100)
    ]
    spoken = [
        (2.0 + 0.0137 + 0.02 * n, AudioFrame(sine(440, 0.02), RATE_HZ, 0, 0.0)) for n in range(99)
    ]
    slack_s = []
    for at_s, frame in invented + spoken:
        for _ in framer.push(align.push(frame, at_s)):
            slack_s.append((at_s, TICKS.next(at_s) - at_s))
    assert all(slack < 0.031 for at_s, slack in slack_s if not 2.0 < at_s < 3.8)
