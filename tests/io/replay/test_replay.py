"""`umigame replay` on calls that Chromium made."""

from pathlib import Path

import jiwer
import pytest

from pipeline.audio.impair import impaired
from pipeline.audio.rtpdump import read_rtpdump
from pipeline.settings import HearingSettings
from server.replay import Replayed, replay
from server.stand_ins import RATE_HZ
from server.weights import Weights

RECORDINGS = Path(__file__).parents[2] / "recordings"


def replayed(weights: Weights, name: str, loss: float = 0.0) -> tuple[Replayed, float]:
    """And how many seconds of sound there were."""
    packets = impaired(read_rtpdump(RECORDINGS / f"{name}.rtpdump"), seed=1, loss=loss)
    result, sound = replay(packets, weights.path("vad"), HearingSettings())
    return result, len(sound) / RATE_HZ


def word_error(result: Replayed, name: str) -> float:
    meant = (RECORDINGS / f"{name}.txt").read_text()
    plain = jiwer.Compose(
        [
            jiwer.ToLowerCase(),
            jiwer.RemovePunctuation(),
            jiwer.Strip(),
            jiwer.ReduceToListOfListOfWords(),
        ]
    )
    return jiwer.wer(meant, result.heard, reference_transform=plain, hypothesis_transform=plain)


@pytest.mark.parametrize("name", ["capital", "pause", "mic-16k"])
def test_a_recorded_question_is_heard_as_one_turn(weights: Weights, name: str) -> None:
    result, sound_s = replayed(weights, name)
    assert word_error(result, name) < 0.2
    assert [line.what for line in result.timeline].count("turn_ended") == 1
    assert result.media.lost == 0
    assert sound_s > result.timeline[-1].noted_s


def test_a_bad_network_is_repaired_counted_and_the_same_each_time(weights: Weights) -> None:
    result, _ = replayed(weights, "fec", loss=0.1)
    again, _ = replayed(weights, "fec", loss=0.1)
    assert result == again
    assert result.media.lost > 10
    assert result.media.recovered_fec > 0.3 * result.media.lost
    assert word_error(result, "fec") < 0.2
