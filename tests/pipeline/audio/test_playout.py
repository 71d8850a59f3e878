import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.audio.playout import Playout
from pipeline.types import AudioFrame, silence
from tests.fakes.drive import drive
from tests.fakes.sender import RATE_HZ, sine

SIZES = pytest.mark.parametrize("size", [480, 1_920])
PACKET = 480

Sent = list[tuple[float, AudioFrame]]


def block(index: int, size: int, *, quiet: bool = False) -> AudioFrame:
    pcm = silence(size) if quiet else sine(440, size / RATE_HZ) + np.float32(0.1)
    return AudioFrame(pcm, RATE_HZ, index * size, 0.0)


def steady(size: int, count: int, first_s: float = 0.1) -> list[tuple[float, AudioFrame]]:
    return [(first_s + n * size / RATE_HZ, block(n, size)) for n in range(count)]


def most_ahead_s(sent: Sent) -> float:
    """How much more than real time was sent in any stretch of it."""
    before, most = float("inf"), 0.0
    for number, (at_s, _) in enumerate(sent):
        before = min(before, number * 0.02 - at_s)
        most = max(most, (number + 1) * 0.02 - at_s - before)
    return most


@SIZES
def test_a_block_leaves_at_once_with_all_its_packets(size: int) -> None:
    sent = [each for each in drive(Playout(size), steady(size, 50), 1.0) if not each[1].concealed]
    for at_s, frame in sent:
        assert at_s == pytest.approx(0.1 + frame.pts // size * size / RATE_HZ, abs=0.001)
    assert [frame.pts for _, frame in sent] == list(range(0, len(sent) * PACKET, PACKET))


@SIZES
def test_silence_flows_in_real_time_before_the_first_block(size: int) -> None:
    sent = drive(Playout(size), [], 2.0)
    assert [at_s for at_s, _ in sent] == pytest.approx([n * 0.02 for n in range(len(sent))])
    assert len(sent) == 101
    assert all(frame.concealed == PACKET and not frame.pcm.any() for _, frame in sent)


@SIZES
def test_an_engine_that_is_late_now_and_then_is_heard_without_holes(size: int) -> None:
    late = [(at_s + 0.035 * (n % 3 == 2), each) for n, (at_s, each) in enumerate(steady(size, 200))]
    sent = drive(Playout(size), late, late[-1][0])
    first = next(n for n, (_, frame) in enumerate(sent) if not frame.concealed)
    holes = [frame for _, frame in sent[first:] if frame.concealed]
    assert not holes


@SIZES
def test_a_burst_after_a_stall_never_leaves_faster_than_real_time_beyond_one_block(
    size: int,
) -> None:
    blocks = [(max(at_s, 1.4 if at_s > 1 else 0), each) for at_s, each in steady(size, 200)]
    sent = drive(Playout(size), blocks, 5.0)
    stalled = [each for each in sent if each[0] > 1.2]
    assert stalled[0][1].concealed
    assert most_ahead_s(stalled) <= size / RATE_HZ + 0.0201


@SIZES
@pytest.mark.parametrize("quiet", [True, False])
def test_an_engine_that_stalls_for_five_seconds_is_soon_heard_without_lag(
    size: int, quiet: bool
) -> None:
    playout, handed_s = Playout(size), {}
    blocks = []
    for n, (at_s, each) in enumerate(steady(size, 12 * RATE_HZ // size)):
        at_s = max(at_s, 7.0) if at_s > 2 else at_s
        handed_s[n] = at_s
        blocks.append((at_s, block(n, size, quiet=quiet and n % 4 == 0) if quiet else each))
    sent = drive(playout, blocks, 13.0)
    lags = {at_s: at_s - handed_s[f.pts // size] for at_s, f in sent if not f.concealed}
    assert max(lags.values()) < 0.5
    settled = [lag for at_s, lag in lags.items() if at_s > 10]
    assert max(settled) < (0.045 if quiet else 0.45)
    stats = playout.stats
    assert stats.dropped_speech > 0 and (stats.dropped_silent > 0) == quiet
    assert (
        stats.played + stats.dropped_silent + stats.dropped_speech == len(blocks) * size // PACKET
    )


@SIZES
def test_silence_that_stands_in_for_a_late_block_flows_in_real_time(size: int) -> None:
    sent = drive(Playout(size), steady(size, 20), 4.0)
    last_s = max(at_s for at_s, frame in sent if not frame.concealed)
    filled = [at_s for at_s, frame in sent if frame.concealed and at_s > last_s]
    assert np.diff(filled) == pytest.approx(0.02)


def test_when_we_stood_still_ourselves_no_burst_makes_up_for_it() -> None:
    playout = Playout(480)
    drive(playout, steady(480, 20), 0.5)
    burst = [frame for n in range(20, 200) for frame in playout.push(block(n, 480), 10.0)]
    while playout.deadline() <= 10.0:
        burst += playout.poll(10.0)
    assert len(burst) <= 3


@SIZES
def test_a_short_stall_is_caught_up_by_dropping_silence_and_no_speech(size: int) -> None:
    playout = Playout(size)
    blocks = [
        (1.3 if 1.0 < at_s < 1.3 else at_s, block(n, size, quiet=n % 5 == 0))
        for n, (at_s, _) in enumerate(steady(size, 10 * RATE_HZ // size))
    ]
    sent = drive(playout, blocks, blocks[-1][0])
    assert playout.stats.dropped_speech == 0
    assert playout.stats.dropped_silent > 0
    lag_s = sent[-1][0] - (0.1 + sent[-1][1].pts // size * size / RATE_HZ)
    assert lag_s < 0.025


@SIZES
def test_barge_in_drops_what_waits_and_tells_where_the_voice_stopped(size: int) -> None:
    playout = Playout(size)
    sent = playout.poll(0.0)
    for n in range(3):
        sent += playout.push(block(n, size), 0.0)
    stopped = playout.flush()
    played = [frame for frame in sent if not frame.concealed]
    assert 0 < len(played) * PACKET < 3 * size
    assert stopped == played[-1].pts + PACKET
    assert not [f for _, f in drive(playout, [], 1.0) if not f.concealed]
    resumed = playout.push(block(9, size), 1.0)
    assert resumed[0].pts == 9 * size


@given(
    size=st.sampled_from([480, 1_920]),
    gaps_s=st.lists(st.floats(0, 0.5), min_size=1, max_size=60),
)
def test_however_blocks_come_the_stream_is_whole_in_order_and_in_real_time(
    size: int, gaps_s: list[float]
) -> None:
    playout = Playout(size)
    times = np.cumsum(gaps_s).tolist()
    end_s = times[-1] + 1.0
    sent = drive(playout, [(at_s, block(n, size)) for n, at_s in enumerate(times)], end_s)
    assert all(len(frame.pcm) == PACKET for _, frame in sent)
    positions = [frame.pts for _, frame in sent if not frame.concealed]
    assert positions == sorted(set(positions))
    gaps = np.diff([at_s for at_s, _ in sent])
    assert gaps.max() <= size / RATE_HZ + 0.0401
    for number, (at_s, _) in enumerate(sent):
        assert (number + 1) * 0.02 - at_s <= size / RATE_HZ + 0.0201
