import asyncio

import numpy as np
import pytest

from pipeline.engine.inline import InlineEngine
from pipeline.errors import EngineError, EngineFull
from pipeline.types import SessionConfig, StepInput
from tests.fakes.front_ends import Echo


def frame(value: float) -> StepInput:
    return StepInput(np.full(480, value, dtype=np.float32))


async def test_two_callers_hear_themselves_and_not_each_other() -> None:
    front_end = Echo()
    engine = InlineEngine(front_end)
    slots = [await engine.open(SessionConfig()) for _ in range(2)]
    for step in range(10):
        for slot in slots:
            engine.submit(slot, frame(slot.index + step / 10))
        for slot in slots:
            heard = await engine.outputs(slot).receive()
            assert heard.pcm[0] == pytest.approx(slot.index + step / 10)
    assert front_end.batches == [2] * 10


async def test_a_caller_whose_neighbour_is_late_waits_a_tenth_of_a_frame() -> None:
    engine = InlineEngine(Echo())
    slot, _ = [await engine.open(SessionConfig()) for _ in range(2)]
    loop = asyncio.get_running_loop()
    for _ in range(100):
        began_s = loop.time()
        engine.submit(slot, frame(0.5))
        await engine.outputs(slot).receive()
        assert loop.time() - began_s == pytest.approx(0.002)
        await asyncio.sleep(0.018)


async def test_the_slot_of_a_caller_who_left_is_free_and_their_late_frames_are_ignored() -> None:
    engine = InlineEngine(Echo(slots=1))
    gone = await engine.open(SessionConfig())
    outputs = engine.outputs(gone)
    with pytest.raises(EngineFull):
        await engine.open(SessionConfig())
    await engine.close(gone)
    assert outputs.closed
    caller = await engine.open(SessionConfig())
    engine.submit(gone, frame(0.1))
    engine.submit(caller, frame(0.2))
    await engine.close(gone)
    assert (await engine.outputs(caller).receive()).pcm[0] == pytest.approx(0.2)
    assert engine.load().live == 1


async def test_a_front_end_that_raises_ends_every_session_with_the_cause() -> None:
    front_end = Echo()
    front_end.poison = 0.75
    engine = InlineEngine(front_end)
    slots = [await engine.open(SessionConfig()) for _ in range(2)]
    for slot in slots:
        engine.submit(slot, frame(0.75))
    with pytest.raises(EngineError, match="echo front-end failed: out of memory") as caught:
        await engine.failed
    assert isinstance(caught.value.__cause__, RuntimeError)
    assert all(engine.outputs(slot).closed for slot in slots)
    with pytest.raises(EngineError, match="out of memory"):
        await engine.open(SessionConfig())


async def test_a_caller_the_front_end_refuses_takes_no_slot() -> None:
    engine = InlineEngine(Echo(slots=1))
    with pytest.raises(ValueError, match="no such language"):
        await engine.open(SessionConfig(language="xx"))
    await engine.open(SessionConfig())
