"""The engine bench's callers, against engines that are in time and late; on a virtual clock."""

import asyncio
from collections.abc import Mapping

import pytest

from pipeline.clock import now
from pipeline.engine.frontend import FrontEndInfo
from pipeline.engine.inline import InlineEngine
from pipeline.errors import InputError
from pipeline.types import StepInput, StepOutput, Ticks
from server.bench.engine import read_wanted
from server.bench.engine_callers import crowd
from server.bench.engine_steps import percentiles, read_steps
from tests.fakes.front_ends import Echo

SLOTS = 4
FRAME_S = 0.08


class Listener(Echo):
    """As Moshi's frames are; keeps what it hears."""

    def __init__(self) -> None:
        super().__init__(SLOTS)
        self.info = FrontEndInfo("listener", 24_000, 1_920, SLOTS, speaks_alone=True)
        self.heard: list[StepInput] = []

    def step(self, inputs: Mapping[int, StepInput]) -> Mapping[int, StepOutput]:
        self.heard += inputs.values()
        return super().step(inputs)


def engine(front_end: Listener) -> InlineEngine:
    return InlineEngine(front_end, Ticks(now(), FRAME_S))


async def test_callers_are_all_there_and_their_frames_come_in_time_for_the_tick() -> None:
    front_end = Listener()
    heard = await crowd(engine(front_end), SLOTS, 500, settle_s=1.0, seconds=20.0)
    assert heard.frames == pytest.approx(SLOTS * 20 / FRAME_S, rel=0.03)
    assert heard.late_rate(FRAME_S) == 0
    assert max(heard.latencies_s) < 0.025
    assert front_end.batches.count(SLOTS) > 0.9 * len(front_end.batches)


async def test_callers_come_and_go_and_leave_no_slot_behind() -> None:
    front_end = Listener()
    heard = await crowd(engine(front_end), SLOTS, 0, settle_s=1.0, seconds=120.0)
    assert heard.joins > 2
    assert front_end.opened == SLOTS + heard.joins
    assert not front_end.open_slots


async def test_callers_speak_and_pause_and_are_steered_by_an_oracle_whose_epochs_rise() -> None:
    front_end = Listener()
    await crowd(engine(front_end), 1, 0, settle_s=0.0, seconds=40.0)
    silent = sum(not frame.pcm.any() for frame in front_end.heard)
    epochs = [update.epoch for frame in front_end.heard for update in frame.oracle]
    assert 0.1 < silent / len(front_end.heard) < 0.9
    assert len(epochs) > 40
    assert epochs == sorted(epochs) and epochs[-1] > 1


async def test_an_output_that_takes_longer_than_a_frame_counts_as_late() -> None:
    front_end = Listener()
    slow = engine(front_end)
    deliver = slow._outputs.deliver
    loop = asyncio.get_running_loop()
    slow._outputs.deliver = lambda made: loop.call_later(0.09, deliver, made)  # type: ignore[assignment,method-assign]
    heard = await crowd(slow, 2, 0, settle_s=0.5, seconds=5.0)
    assert heard.late_rate(FRAME_S) == 1


def test_steps_count_that_began_while_it_was_measured() -> None:
    told = b'{"began_s": 1, "took_s": 9}\n{"began_s": 2, "took_s": 0.05}\n'
    assert read_steps(told, 1.5, 3.0) == [50.0]
    assert read_steps(b"[18.5, 19.0]") == [18.5, 19.0]
    assert percentiles([]).p50 is None
    assert percentiles([10.0] * 99 + [90.0]).p95 == 10.0


@pytest.mark.parametrize(
    ("front_end", "slots", "fill"),
    [("voice", "1", "1"), ("moshi", "0", "1"), ("moshi", "1", "1.5")],
)
def test_what_cannot_be_measured_is_refused(front_end: str, slots: str, fill: str) -> None:
    with pytest.raises(InputError):
        read_wanted(front_end, True, "tiny", "cpu", slots, fill, "int8", 1.0)
