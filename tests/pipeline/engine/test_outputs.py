"""Sessions that do not read what their slot says."""

import numpy as np

from pipeline.engine.inline import InlineEngine
from pipeline.engine.outputs import WAITING, Outputs
from pipeline.types import SessionConfig, Slot, StepInput, StepOutput, silence
from tests.fakes.front_ends import Echo


async def test_what_a_caller_loses_by_not_reading_is_counted_for_that_caller_alone() -> None:
    engine = InlineEngine(Echo())
    reader, sleeper = [await engine.open(SessionConfig()) for _ in range(2)]
    for step in range(WAITING + 10):
        for slot in (reader, sleeper):
            engine.submit(slot, StepInput(np.full(480, step, np.float32)))
        await engine.outputs(reader).receive()
    assert (engine.dropped(reader), engine.dropped(sleeper)) == (0, 10)
    assert (await engine.outputs(sleeper).receive()).pcm[0] == 10, "the oldest went"
    await engine.close(sleeper)
    assert engine.dropped(sleeper) == 0, "a slot given back has lost nothing"


async def test_the_frame_that_cuts_a_reply_off_is_kept_whatever_else_is_dropped() -> None:
    outputs, slot = Outputs(), Slot(0, 1)
    outputs.open(slot)
    outputs.deliver({slot: StepOutput(silence(480), yielded=True)})
    for _ in range(2 * WAITING):
        outputs.deliver({slot: StepOutput(silence(480))})
    assert (await outputs.of(slot).receive()).yielded
