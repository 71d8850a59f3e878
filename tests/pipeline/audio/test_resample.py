import numpy as np
import pytest

from pipeline.audio.resample import Resampler
from pipeline.types import AudioFrame, Pcm
from tests.fakes.sender import joined, pitch_hz, sine


def frames(pcm: Pcm, rate_hz: int, first_pts: int = 0) -> list[AudioFrame]:
    size = rate_hz // 50
    return [
        AudioFrame(pcm[at : at + size], rate_hz, first_pts + at, at / rate_hz, 0)
        for at in range(0, len(pcm), size)
    ]


@pytest.mark.parametrize(("from_hz", "to_hz"), [(24_000, 16_000), (16_000, 24_000)])
def test_a_tone_keeps_pitch_place_and_length(from_hz: int, to_hz: int) -> None:
    resampler, first_pts = Resampler(from_hz, to_hz), from_hz
    made = []
    for frame in frames(sine(1_000, 1.0, from_hz), from_hz, first_pts):
        made += resampler.push(frame)
    heard = joined(made)
    assert made[0].pts == to_hz
    assert [frame.pts for frame in made[1:]] == [frame.pts + len(frame.pcm) for frame in made[:-1]]
    assert all(frame.rate_hz == to_hz for frame in made)
    assert len(heard) == pytest.approx(to_hz, abs=0.002 * to_hz)
    assert pitch_hz(heard, to_hz) == pytest.approx(1_000, abs=1)
    inner = slice(200, -200)
    assert heard[inner] == pytest.approx(sine(1_000, 1.0, to_hz)[: len(heard)][inner], abs=0.003)


def test_it_holds_back_less_than_two_milliseconds() -> None:
    resampler = Resampler(24_000, 16_000)
    for frame in frames(sine(440, 1.0), 24_000):
        made = resampler.push(frame)
        behind_s = frame.end_s - made[-1].end_s
        assert 0 <= behind_s < 0.002
        assert made[-1].arrived_s == frame.arrived_s


def test_a_whistle_above_what_the_new_rate_can_carry_does_not_fold_back() -> None:
    resampler = Resampler(24_000, 16_000)
    made = [each for frame in frames(sine(9_500, 1.0), 24_000) for each in resampler.push(frame)]
    assert np.abs(joined(made)[1_000:]).max() < 0.003


def test_a_jump_of_the_input_is_a_jump_of_the_output() -> None:
    resampler = Resampler(24_000, 16_000)
    for frame in frames(sine(440, 0.2), 24_000):
        resampler.push(frame)
    for frame in frames(sine(440, 0.2), 24_000, first_pts=240_000):
        (made,) = resampler.push(frame)
        assert frame.end_s - made.end_s < 0.002


def test_equal_rates_pass_frames_untouched() -> None:
    frame = frames(sine(440, 0.02), 24_000)[0]
    resampler = Resampler(24_000, 24_000)
    assert resampler.push(frame) == [frame]
