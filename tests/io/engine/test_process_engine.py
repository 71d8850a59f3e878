"""An engine in a process of its own: what crosses, and what becomes of callers when it dies."""

import asyncio
import math
import os
import signal
import sys
from asyncio.subprocess import PIPE
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from pipeline.engine import vitals
from pipeline.engine.client import EngineClient
from pipeline.engine.remote import ProcessEngine, process_engine
from pipeline.errors import ConfigError, EngineError, EngineFull
from pipeline.types import (
    Command,
    OracleUpdate,
    SessionConfig,
    Slot,
    SpeechEvent,
    SpeechKind,
    StepInput,
    StepOutput,
    Word,
)
from tests.fakes.front_ends import Moody
from tests.fakes.server_process import alive

MOODY = "tests.fakes.front_ends:Moody"
PATIENCE_S = 20.0


def frame(value: float, **riding: object) -> StepInput:
    return StepInput(np.full(1_920, value, dtype=np.float32), **riding)  # type: ignore[arg-type]


async def heard(engine: ProcessEngine | EngineClient, slot: Slot) -> StepOutput:
    return await asyncio.wait_for(engine.outputs(slot).receive(), PATIENCE_S)


async def back(engine: ProcessEngine) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while engine.not_ready:  # noqa: ASYNC110
            await asyncio.sleep(0.02)


async def test_frames_cross_exactly_with_all_that_rides_on_them() -> None:
    async with process_engine(MOODY, {}) as engine:
        assert (engine.info.name, engine.info.frame_s) == ("moody", 0.08)
        slot = await engine.open(SessionConfig())
        noise = np.random.default_rng(1).standard_normal(1_920).astype(np.float32)
        update = OracleUpdate(3, " Wien \ud83d", True, math.inf, "fake", 2)
        event = SpeechEvent(SpeechKind.STOPPED, 2, 1.5)
        riding = {"speech": (event,), "oracle": (update,), "commands": (Command.STOP,)}
        engine.submit(slot, StepInput(noise, concealed=7, **riding))  # type: ignore[arg-type]
        first = await heard(engine, slot)
        assert (first.pcm == noise).all() and first.pcm.dtype == np.float32
        assert first.words == (Word(" Wien \ud83d", 3, 0),)
        assert (first.speaking, first.yielded, first.start_sample) == (True, False, 0)
        engine.submit(slot, frame(0.1))
        assert (await heard(engine, slot)).start_sample == 1_920
        assert engine.load().live == 1
        assert sum(engine.load().steps.counts) == 2
        await engine.close(slot)
        assert engine.load().live == 0
        assert (await engine.open(SessionConfig())).generation == slot.generation + 1


async def test_two_event_loops_can_share_it_and_one_that_leaves_frees_its_slots() -> None:
    async with process_engine(MOODY, {"slots": 2}) as engine:
        other = await EngineClient.connect(Path(engine.socket))
        running = asyncio.create_task(other.run())
        ours, theirs = await engine.open(SessionConfig()), await other.open(SessionConfig())
        with pytest.raises(EngineFull, match="all 2 slots"):
            await engine.open(SessionConfig())
        engine.submit(theirs, frame(0.3))
        engine.submit(ours, frame(0.1))
        other.submit(theirs, frame(0.2))
        assert (await heard(engine, ours)).pcm[0] == pytest.approx(0.1)
        assert (await heard(other, theirs)).pcm[0] == pytest.approx(0.2)
        running.cancel()
        await asyncio.wait([running])
        async with asyncio.timeout(PATIENCE_S):
            while engine.load().live == 2:  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        assert (await engine.open(SessionConfig())).index == theirs.index


def kill(engine: ProcessEngine, slot: Slot) -> None:
    os.kill(engine.pid, signal.SIGKILL)


def stop(engine: ProcessEngine, slot: Slot) -> None:
    os.kill(engine.pid, signal.SIGSTOP)
    engine.submit(slot, frame(0.1))


def raise_in_step(engine: ProcessEngine, slot: Slot) -> None:
    engine.submit(slot, frame(Moody.RAISES))


def hang_in_step(engine: ProcessEngine, slot: Slot) -> None:
    engine.submit(slot, frame(Moody.HANGS))


@pytest.mark.parametrize(
    ("die", "cause"),
    [
        (kill, "the engine's process was killed by signal 9"),
        (stop, "no sign of life for 2 s"),
        (hang_in_step, "no sign of life for 2 s"),
        (raise_in_step, "the moody front-end failed: CUDA error: an illegal memory access"),
    ],
)
async def test_whatever_kills_it_every_session_ends_with_the_cause_and_it_comes_back(
    die: Callable[[ProcessEngine, Slot], None],
    cause: str,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(vitals, "PATIENCE", 4)
    monkeypatch.setattr("pipeline.engine.client.HANGS_AFTER_S", 4 * vitals.LOOK_S)
    async with process_engine(MOODY, {}) as engine:
        slots = [await engine.open(SessionConfig()) for _ in range(2)]
        failed, outputs = engine.failed, [engine.outputs(slot) for slot in slots]
        pid = engine.pid
        die(engine, slots[0])
        with pytest.raises(EngineError, match=cause):
            await asyncio.wait_for(asyncio.shield(failed), PATIENCE_S)
        assert all(channel.closed for channel in outputs)
        assert cause.removeprefix("the ") in engine.not_ready
        assert not engine.load().fits
        with pytest.raises(EngineError, match=cause):
            await engine.open(SessionConfig())
        await back(engine)
        assert not alive(pid) and engine.pid != pid
        assert engine.load().restarts == 1 and engine.load().fits
        slot = await engine.open(SessionConfig())
        await engine.close(slots[0])  # as a session does that ends late
        engine.submit(slots[0], frame(0.9))
        engine.submit(slot, frame(0.2))
        assert (await heard(engine, slot)).pcm[0] == pytest.approx(0.2)


async def test_what_is_wrong_with_a_checkpoint_is_a_config_error_with_its_hint(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(ConfigError, match=r"There is no checkpoint\. Name one\."):
        async with process_engine(MOODY, {"checkpoint": False}):
            pass
    assert capfd.readouterr() == ("", "")


async def test_a_front_end_that_cannot_be_loaded_is_told_before_anybody_can_call(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(EngineError, match="cannot be loaded: RuntimeError: no kernel image"):
        async with process_engine(MOODY, {"broken": True}):
            pass
    assert "Traceback" in capfd.readouterr().err, "for whoever has to find out"


async def test_sigterm_lets_conversations_end_and_no_new_ones_begin() -> None:
    async with process_engine(MOODY, {}) as engine:
        slot = await engine.open(SessionConfig())
        os.kill(engine.pid, signal.SIGTERM)
        async with asyncio.timeout(PATIENCE_S):
            while engine.load().fits:  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        with pytest.raises(EngineFull, match="shutting down"):
            await engine.open(SessionConfig())
        engine.submit(slot, frame(0.2))
        assert (await heard(engine, slot)).pcm[0] == pytest.approx(0.2)
        failed = engine.failed
        await engine.close(slot)
        with pytest.raises(EngineError, match="ended with 0"):
            await asyncio.wait_for(asyncio.shield(failed), PATIENCE_S)


PARENT = f"""
import asyncio
from pipeline.engine.remote import process_engine

async def main():
    async with process_engine("{MOODY}", {{}}) as engine:
        print(engine.pid, flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""


async def test_it_does_not_outlive_its_parent_even_one_that_was_killed() -> None:
    parent = await asyncio.create_subprocess_exec(sys.executable, "-c", PARENT, stdout=PIPE)
    assert parent.stdout is not None
    pid = int(await parent.stdout.readline())
    parent.kill()
    await parent.wait()
    async with asyncio.timeout(PATIENCE_S):
        while alive(pid):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
