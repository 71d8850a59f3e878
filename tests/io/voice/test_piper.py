import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from pipeline.errors import ConfigError
from pipeline.events import ServiceState
from pipeline.frontends.voice.face import Spoken
from pipeline.frontends.voice.tts import PiperTts
from pipeline.frontends.voice.voice import RATE_HZ
from pipeline.types import Pcm
from server.weights import Weights


@pytest.fixture(scope="module")
def model(weights: Weights) -> Path:
    return weights.path("tts")


@pytest.fixture(scope="module")
def tts(model: Path) -> Iterator[PiperTts]:
    tts = PiperTts(model)
    yield tts
    tts.shutdown()


def collected(tts: PiperTts, job: int) -> tuple[Pcm, Spoken]:
    """All audio of `job`, and its last piece."""
    pieces: list[Spoken] = []
    give_up_s = time.monotonic() + 20
    while time.monotonic() < give_up_s:
        pieces.extend(spoken for spoken in tts.collect() if spoken.job == job)
        if pieces and pieces[-1].last:
            return np.concatenate([piece.pcm for piece in pieces]), pieces[-1]
        time.sleep(0.005)
    raise TimeoutError(f"job {job} never ended")


def test_speech_begins_at_once_and_lasts_as_long_as_its_words(tts: PiperTts) -> None:
    pcm, end = collected(tts, tts.say("The capital of France is Paris."))
    assert not end.failed
    loud = np.flatnonzero(np.abs(pcm) > 0.01)
    assert loud[0] / RATE_HZ < 0.05
    assert 0.1 < (len(pcm) - loud[-1]) / RATE_HZ < 0.3
    assert 1.2 < len(pcm) / RATE_HZ < 2.6
    assert 0.2 < np.abs(pcm).max() <= 1.0


def test_short_clauses_are_as_loud_as_long_ones(tts: PiperTts) -> None:
    def loudness(text: str) -> float:
        pcm, _ = collected(tts, tts.say(text))
        return float(np.sqrt(np.mean(pcm[np.abs(pcm) > 0.01] ** 2)))

    assert 0.5 < loudness("Sure.") / loudness("It lies on the river Seine, I think.") < 2


def test_urgent_jobs_overtake_and_cancelled_ones_are_never_heard(tts: PiperTts) -> None:
    long = "This is a rather long sentence that nobody is waiting for at the moment."
    first, second, unwanted = tts.say(long), tts.say(long), tts.say(long)
    urgent = tts.say("Hello.", urgent=True)
    tts.cancel(unwanted)
    order: list[int] = []
    give_up_s = time.monotonic() + 20
    while len(order) < 3 and time.monotonic() < give_up_s:
        order += [spoken.job for spoken in tts.collect() if spoken.last]
        time.sleep(0.005)
    assert sorted(order) == [first, second, urgent]
    assert order.index(urgent) < order.index(second)
    collected(tts, tts.say("Bye."))
    assert unwanted not in [spoken.job for spoken in tts.collect()]


def test_a_killed_worker_fails_its_jobs_with_the_reason_and_comes_back(tts: PiperTts) -> None:
    told: list[ServiceState] = []
    tts.watch(told.append)
    assert tts.worker_pid is not None
    os.kill(tts.worker_pid, signal.SIGKILL)
    _, end = collected(tts, tts.say("Is anybody there?"))
    if end.failed:
        assert "ended with -9" in end.failed
    pcm, end = collected(tts, tts.say("Yes, I am here."))
    assert not end.failed
    assert len(pcm) / RATE_HZ > 0.5
    assert [state.up for state in told] == [False, True]
    assert "ended with -9" in told[0].message


def test_asking_never_waits_even_if_the_worker_stands_still(tts: PiperTts) -> None:
    assert tts.worker_pid is not None
    os.kill(tts.worker_pid, signal.SIGSTOP)
    try:
        began_s = time.monotonic()
        jobs = [tts.say("Nobody reads this. " * 100) for _ in range(100)]
        assert time.monotonic() - began_s < 1
        assert any("does not read" in spoken.failed for spoken in tts.collect())
    finally:
        os.kill(tts.worker_pid, signal.SIGCONT)
    for job in jobs:
        tts.cancel(job)


def test_a_file_that_is_no_voice_is_refused_with_its_name(tmp_path: Path) -> None:
    broken = tmp_path / "broken.onnx"
    with pytest.raises(ConfigError, match="no voice model at"):
        PiperTts(broken)
    broken.write_bytes(b"not a model")
    (tmp_path / "broken.onnx.json").write_text("{}")
    with pytest.raises(ConfigError, match="cannot start"):
        PiperTts(broken)


def test_without_piper_the_extra_to_install_is_named(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"umigame\[voice\]"):
        PiperTts(model)
