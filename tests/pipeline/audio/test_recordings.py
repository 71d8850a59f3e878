"""Chromium's own RTP (tests/recordings) through the receiving stages."""

from pathlib import Path

import numpy as np
import pytest

from pipeline.audio.framer import Framer
from pipeline.audio.impair import impaired
from pipeline.audio.jitter import JitterBuffer
from pipeline.audio.opus import OpusDecoder
from pipeline.audio.rtpdump import read_rtpdump
from pipeline.types import AudioFrame, OpusPacket, Pcm
from tests.fakes.drive import drive
from tests.fakes.sender import RATE_HZ, delayed, joined, skewed

RECORDINGS = sorted((Path(__file__).parents[2] / "recordings").glob("*.rtpdump"))
EVERY = pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)


def received(packets: list[OpusPacket]) -> tuple[Pcm, JitterBuffer]:
    jitter, framer = JitterBuffer(OpusDecoder()), Framer(1_920)
    # Half a frame after the buffer began: as good a phase as any.
    items = [(packet.arrived_s, packet) for packet in (delayed(each, 0.01) for each in packets)]
    out = drive(jitter, items, packets[-1].arrived_s + 0.3)
    frames = [item for _, item in out if isinstance(item, AudioFrame)]
    return joined(each for frame in frames for each in framer.push(frame)), jitter


def loudness(pcm: Pcm) -> Pcm:
    """Level of each 50 ms."""
    whole = pcm[: len(pcm) // 1_200 * 1_200].reshape(-1, 1_200)
    return np.sqrt(np.mean(whole**2, axis=1))


@EVERY
def test_a_browser_is_heard_as_long_and_as_loud_as_it_spoke(path: Path) -> None:
    packets = list(read_rtpdump(path))
    pcm, jitter = received(packets)
    assert len(pcm) / RATE_HZ == pytest.approx(packets[-1].arrived_s + 0.3, abs=0.1)
    assert loudness(pcm).max() > 0.05
    stats = jitter.stats
    assert (stats.lost, stats.late, stats.undecodable, stats.dropped) == (0, 0, 0, 0)


@EVERY
@pytest.mark.parametrize("loss", [0.0, 0.1])
def test_a_bad_network_is_the_same_bad_network_each_time_and_speech_survives_it(
    path: Path, loss: float
) -> None:
    clean, _ = received(list(read_rtpdump(path)))
    worse = skewed(impaired(read_rtpdump(path), seed=7, loss=loss, jitter_s=0.04), 0.001)
    once, jitter = received(worse)
    again, _ = received(worse)
    assert once.tobytes() == again.tobytes()
    assert (jitter.stats.lost > 0) == (loss > 0)
    level, meant = loudness(once), loudness(clean)
    size = min(len(level), len(meant))
    assert np.corrcoef(level[:size], meant[:size])[0, 1] > 0.7
