"""The real VAD, on what browsers really sent."""

from itertools import count
from pathlib import Path

import numpy as np
import pytest

from pipeline.errors import ConfigError
from pipeline.hearing.hearing import Hearing, Played
from pipeline.hearing.vad import WINDOW, SileroVad
from pipeline.types import Pcm, SpeechEvent, SpeechKind
from server.weights import Weights
from tests.fakes.sounds import RATE_HZ, cough, frames, hum, recorded, scene

ONSET_S = 0.3


@pytest.fixture(scope="module")
def vad(weights: Weights) -> SileroVad:
    return SileroVad(weights.path("vad"))


def events(
    vad: SileroVad, microphone: Pcm, played: Pcm | None = None
) -> list[tuple[float, SpeechEvent]]:
    """What hearing tells, with the second at which it does."""
    numbers, told = count(1), []
    hearing = Hearing(vad.listener(), lambda: next(numbers))
    sent = frames(played) if played is not None else [None] * len(frames(microphone))
    for frame, reference in zip(frames(microphone), sent, strict=False):
        if reference is not None:
            hearing.push(Played(reference, reference.pts / RATE_HZ))
        told += [(frame.end_s, e) for e in hearing.push(frame) if isinstance(e, SpeechEvent)]
    return told


def started(told: list[tuple[float, SpeechEvent]]) -> list[float]:
    return [at_s for at_s, event in told if event.kind is SpeechKind.STARTED]


def speech(name: str) -> Pcm:
    """The recording without the silence around it."""
    pcm = recorded(name)
    loud = np.nonzero(np.abs(pcm) > 0.02 * np.abs(pcm).max())[0]
    return pcm[loud[0] : loud[-1] + 1]


@pytest.mark.parametrize("name", ["capital", "week", "mic-16k", "stereo-44k"])
def test_a_question_starts_within_200_ms_and_stops_150_ms_after_its_end(
    vad: SileroVad, name: str
) -> None:
    said = speech(name)
    ends_s = ONSET_S + len(said) / RATE_HZ
    told = events(vad, scene(ends_s + 2, (ONSET_S, said)))
    assert started(told)[0] - ONSET_S <= 0.22
    last_stop = [at_s for at_s, event in told if event.kind is SpeechKind.STOPPED][-1]
    assert last_stop - ends_s <= 0.15
    assert told[-1][1].kind is SpeechKind.TURN_ENDED
    assert {event.utterance for _, event in told} == {1}


def test_coughs_and_hums_start_nothing(vad: SileroVad) -> None:
    noises = [*(cough(seed) for seed in range(5)), *(hum(hz) for hz in (100, 150, 200))]
    room = scene(len(noises) + 1.0, *((k + 0.3, noise) for k, noise in enumerate(noises)))
    assert events(vad, room) == []


@pytest.mark.parametrize("level_db", [-10, -20, -30])
@pytest.mark.parametrize("delay_s", [0.04, 0.15, 0.4])
def test_the_assistants_voice_on_the_speakers_is_not_the_user(
    vad: SileroVad, level_db: float, delay_s: float
) -> None:
    reply = scene(4.0, (0.2, speech("week")))
    late = np.concatenate([np.zeros(round(delay_s * RATE_HZ), np.float32), reply])[: len(reply)]
    echo = late * np.float32(10 ** (level_db / 20))
    assert started(events(vad, scene(4.0) + echo, played=reply)) == []
    if level_db > -30:
        assert started(events(vad, scene(4.0) + echo)), "without the gate it would be"


def test_the_user_is_heard_over_the_assistants_voice_within_the_budget(vad: SileroVad) -> None:
    reply = scene(4.0, (0.2, speech("week")), (2.2, speech("mic-16k")))
    late = np.concatenate([np.zeros(2_400, np.float32), reply])[: len(reply)]
    microphone = scene(4.0, (0.9, speech("capital"))) + 0.1 * late
    at_s = started(events(vad, microphone, played=reply))
    assert 0.9 < at_s[0] <= 0.9 + 0.22


def test_two_conversations_on_one_model_do_not_disturb_each_other(vad: SileroVad) -> None:
    pcm = scene(3.0, (0.3, speech("capital")))
    alone, beside, noise = vad.listener(), vad.listener(), vad.listener()
    other = scene(3.0, (0.0, hum(120, 2.5)))
    for i in range(0, len(pcm) - WINDOW, WINDOW):
        noise(other[i : i + WINDOW])
        assert alone(pcm[i : i + WINDOW]) == beside(pcm[i : i + WINDOW])


def test_a_broken_model_file_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    broken = tmp_path / "silero_vad.onnx"
    broken.write_bytes(b"not a model")
    with pytest.raises(ConfigError, match="start again"):
        SileroVad(broken)
