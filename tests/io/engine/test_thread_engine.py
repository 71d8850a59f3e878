import asyncio
import threading

import numpy as np
import pytest

from pipeline.engine.engine import ThreadEngine
from pipeline.errors import EngineError
from pipeline.types import SessionConfig, StepInput
from tests.fakes.front_ends import Echo


def frame(value: float) -> StepInput:
    return StepInput(np.full(480, value, dtype=np.float32))


async def test_frames_come_back_in_order_and_the_front_end_knows_one_thread() -> None:
    front_end = Echo()
    async with ThreadEngine(front_end) as engine:
        slots = [await engine.open(SessionConfig()) for _ in range(2)]
        heard: dict[int, list[float]] = {0: [], 1: []}
        for step in range(20):
            for slot in slots:
                engine.submit(slot, frame(step / 100))
            for slot in slots:
                output = await asyncio.wait_for(engine.outputs(slot).receive(), 5)
                heard[slot.index].append(float(output.pcm[0]))
        for values in heard.values():
            assert values == pytest.approx([step / 100 for step in range(20)])
        for slot in slots:
            await engine.close(slot)
        assert front_end.open_slots == set()
    assert front_end.is_shut_down
    assert front_end.threads == {"engine"}
    assert "engine" not in {thread.name for thread in threading.enumerate()}


async def test_a_front_end_that_raises_ends_every_session_with_the_cause() -> None:
    front_end = Echo()
    front_end.poison = 0.75
    async with ThreadEngine(front_end) as engine:
        slots = [await engine.open(SessionConfig()) for _ in range(2)]
        outputs = [engine.outputs(slot) for slot in slots]
        for slot in slots:
            engine.submit(slot, frame(0.75))
        with pytest.raises(EngineError, match="echo front-end failed: out of memory"):
            await asyncio.wait_for(asyncio.shield(engine.failed), 5)
        assert all(channel.closed for channel in outputs)
        with pytest.raises(EngineError, match="out of memory"):
            await engine.open(SessionConfig())
        await engine.close(slots[0])
    assert front_end.is_shut_down


async def test_a_slow_step_does_not_block_the_loop_and_its_backlog_is_bounded_and_told() -> None:
    async with ThreadEngine(Echo(step_s=0.09)) as engine:
        slot = await engine.open(SessionConfig())
        loop = asyncio.get_running_loop()
        due_s, lags_s = loop.time(), []
        for _ in range(100):
            engine.submit(slot, frame(0.5))
            due_s += 0.02
            await asyncio.sleep(due_s - loop.time())
            lags_s.append(loop.time() - due_s)
        load = engine.load()
        assert sorted(lags_s)[len(lags_s) // 2] < 0.01
        assert load.shed == pytest.approx(100 - 2.0 / 0.09 - 20, abs=5)
        assert load.step_p95_s == pytest.approx(0.09, abs=0.05)


@pytest.mark.parametrize("gives_up", ["leaving", "joining"])
async def test_a_caller_who_gives_up_while_leaving_or_joining_leaves_the_slot_free(
    gives_up: str,
) -> None:
    front_end = Echo(slots=1, step_s=0.2)
    async with ThreadEngine(front_end) as engine:
        slot = await engine.open(SessionConfig())
        engine.submit(slot, frame(0.5))
        await asyncio.sleep(0.05)  # a step is under way
        tasks = {"leaving": asyncio.create_task(engine.close(slot))}
        await asyncio.sleep(0)
        if gives_up == "joining":
            tasks["joining"] = asyncio.create_task(engine.open(SessionConfig()))
            await asyncio.sleep(0)
        tasks[gives_up].cancel()
        with pytest.raises(asyncio.CancelledError):
            await tasks[gives_up]
        next_one = await asyncio.wait_for(engine.open(SessionConfig()), 5)
        assert front_end.open_slots == {next_one.index}


async def test_shutting_down_in_mid_call_closes_the_outputs_and_waits_for_the_step() -> None:
    front_end = Echo(step_s=0.1)
    async with ThreadEngine(front_end) as engine:
        slot = await engine.open(SessionConfig())
        outputs = engine.outputs(slot)
        engine.submit(slot, frame(0.5))
        await asyncio.sleep(0.03)
    assert outputs.closed
    assert front_end.is_shut_down
    with pytest.raises(EngineError, match="shut down"):
        await engine.open(SessionConfig())
