import numpy as np
import pytest

from pipeline.hearing.speech import WINDOW, Onset, Window, look
from pipeline.types import Pcm
from tests.fakes.sounds import RATE_HZ, cough, hum, scene, syllables

BEGINS_S = 0.5


def found(sound: Pcm, *, echo: bool = False) -> tuple[float, float] | None:
    """(when it was sure, when speech began), to a VAD that takes any sound for speech."""
    pcm, onset = scene(BEGINS_S + 2, (BEGINS_S, sound)), Onset()
    for i in range(WINDOW, len(pcm) - WINDOW + 1, WINDOW):
        two, end_s = pcm[i - WINDOW : i + WINDOW], (i + WINDOW) / RATE_HZ
        likely = 1.0 if np.mean(two[WINDOW:] ** 2) > 1e-5 else 0.0
        began_s = onset.push(look(two, end_s, likely, echo))
        if began_s is not None:
            return end_s, began_s
    return None


@pytest.mark.parametrize("seed", range(6))
def test_speech_is_confirmed_within_200_ms_and_dated_back_to_its_onset(seed: int) -> None:
    at = found(syllables(seed, 1.0, pitch_hz=100 + 25 * seed))
    assert at is not None
    sure_s, began_s = at
    assert sure_s - BEGINS_S <= 0.2
    assert began_s == pytest.approx(BEGINS_S, abs=0.04)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("seconds", [0.2, 0.3])
def test_a_cough_is_not_speech(seed: int, seconds: float) -> None:
    assert found(cough(seed, seconds)) is None


@pytest.mark.parametrize("pitch_hz", [90, 120, 160, 210])
@pytest.mark.parametrize("seconds", [0.3, 0.6])
def test_a_hum_through_the_nose_is_not_speech(pitch_hz: float, seconds: float) -> None:
    assert found(hum(pitch_hz, seconds)) is None


def test_our_own_echo_is_not_speech_however_clear() -> None:
    assert found(syllables(1, 1.5), echo=True) is None


def test_a_bang_of_two_windows_is_too_short_to_be_speech() -> None:
    assert found(syllables(1, 0.06)) is None


def test_two_bangs_with_a_gap_do_not_add_up() -> None:
    onset, told = Onset(), []
    for k, likely in enumerate([True] * 3 + [False] * 3 + [True] * 3):
        told.append(onset.push(Window(k * 0.032, likely, likely, -20.0)))
    assert told == [None] * 9
