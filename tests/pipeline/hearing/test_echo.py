from dataclasses import replace

import numpy as np
import pytest

from pipeline.hearing.echo import EchoGate
from pipeline.hearing.speech import WINDOW
from pipeline.types import Pcm, silence
from tests.fakes.sender import joined
from tests.fakes.sounds import FRAME, RATE_HZ, frames, scene, syllables

ASSISTANT = scene(3.0, (0.2, syllables(1, 1.2)), (1.7, syllables(2, 1.0)))


def echoed(level_db: float, delay_s: float, played: Pcm = ASSISTANT) -> Pcm:
    late = np.concatenate([np.zeros(round(delay_s * RATE_HZ)), played])[: len(played)]
    return (late * 10 ** (level_db / 20)).astype(np.float32)


def judged(
    microphone: Pcm, played: Pcm, burst: int = 1, gate: EchoGate | None = None
) -> list[bool]:
    """What the gate says to each window; frames are sent in bursts of `burst`."""
    gate, told, sent = gate or EchoGate(), [], list(frames(played))
    for i in range(0, len(microphone) - WINDOW + 1, WINDOW):
        while sent and sent[0].pts <= i:
            for frame in sent[:burst]:
                gate.played(frame, i / RATE_HZ)
            del sent[:burst]
        told.append(gate.heard(microphone[i : i + WINDOW], (i + WINDOW) / RATE_HZ))
    return told


def windows(start_s: float, end_s: float) -> slice:
    return slice(int(start_s * RATE_HZ / WINDOW) + 1, int(end_s * RATE_HZ / WINDOW))


@pytest.mark.parametrize("level_db", [-10, -20, -30])
@pytest.mark.parametrize("delay_s", [0.03, 0.15, 0.31, 0.5])
def test_our_own_voice_is_known_at_any_level_and_delay(level_db: float, delay_s: float) -> None:
    microphone = scene(3.0) + echoed(level_db, delay_s)
    told = judged(microphone, ASSISTANT)
    assert all(told[windows(0.2 + delay_s, 1.4 + delay_s)])


def test_an_echo_is_known_though_silence_was_sent_before_the_microphone_had_a_clock() -> None:
    gate = EchoGate()
    for frame in frames(silence(RATE_HZ // 5)):
        gate.played(frame, 9876.5 + frame.pts / RATE_HZ)
    told = judged(scene(3.0) + echoed(-20, 0.15), ASSISTANT, gate=gate)
    assert all(told[windows(0.4, 1.5)])


def test_bursts_of_80_ms_are_laid_out_as_they_are_heard() -> None:
    told = judged(scene(3.0) + echoed(-20, 0.15), ASSISTANT, burst=4)
    assert all(told[windows(0.4, 1.5)])


def test_an_echo_is_known_across_a_frame_that_was_put_in_late_and_one_that_was_dropped() -> None:
    sent = list(frames(ASSISTANT))
    stream = [*sent[:35], replace(sent[35], pcm=sent[35].pcm * 0.3), *sent[35:50], *sent[51:]]
    gate, told = EchoGate(), []
    heard = joined(stream)
    microphone = scene(3.0) + echoed(-20, 0.15, heard)[: len(ASSISTANT)]
    late_s = [0.0, 0.001, 0.007, 0.003]
    for i in range(0, len(microphone) - WINDOW + 1, WINDOW):
        for n in [n for n in range(len(stream)) if i <= n * FRAME < i + WINDOW]:
            gate.played(stream[n], n * FRAME / RATE_HZ + late_s[n % 4])
        told.append(gate.heard(microphone[i : i + WINDOW], (i + WINDOW) / RATE_HZ))
    assert all(told[windows(0.4, 1.5)])


@pytest.mark.parametrize("level_db", [-20, -30])
def test_somebody_who_talks_over_the_echo_is_heard_within_a_window(level_db: float) -> None:
    user = syllables(9, 1.0, pitch_hz=205)
    told = judged(scene(3.0, (0.8, user)) + echoed(level_db, 0.15), ASSISTANT)
    assert told[windows(0.4, 0.8)].count(False) == 0
    assert told[windows(0.83, 1.3)].count(True) <= 1


def test_nobody_is_an_echo_while_we_are_silent() -> None:
    user = scene(2.0, (0.3, syllables(3, 1.5)))
    assert not any(judged(user, np.zeros_like(user)))


def test_an_echo_is_known_whatever_the_room_did_before() -> None:
    """A reply after long silence, on a clock that has wandered."""
    gate = EchoGate()
    played = frames(ASSISTANT)
    microphone = scene(3.0) + echoed(-20, 0.15)
    base_s = 500.0
    told = []
    for i in range(0, len(microphone) - WINDOW + 1, WINDOW):
        for frame in played:
            if i <= frame.pts < i + WINDOW:
                gate.played(frame, base_s + frame.pts / RATE_HZ)
        told.append(gate.heard(microphone[i : i + WINDOW], base_s + (i + WINDOW) / RATE_HZ))
    assert all(told[windows(0.4, 1.5)])
