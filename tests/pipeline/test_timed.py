import asyncio

from pipeline.channel import Channel
from pipeline.probe import NoProbe
from pipeline.stage import Tap, run_stage
from pipeline.timed import run_timed


class Metronome:
    """Says when it was polled, once a second, and echoes what it gets."""

    def __init__(self) -> None:
        self.next_s = 1.0

    def push(self, item: str, now: float) -> list[tuple[str, float]]:
        return [(item, now)]

    def deadline(self) -> float:
        return self.next_s

    def poll(self, now: float) -> list[tuple[str, float]]:
        self.next_s += 1
        return [("tick", now)]


async def test_a_timed_core_is_polled_at_its_deadlines_and_fed_in_between() -> None:
    inbox, outbox = Channel[str]("in", 8), Channel[tuple[str, float]]("out", 8)
    running = asyncio.create_task(run_timed(Metronome(), inbox, outbox, NoProbe()))
    await asyncio.sleep(1.5)
    await inbox.send("item")
    await asyncio.sleep(1)
    inbox.close()
    await running
    outbox.close()
    assert [each async for each in outbox] == [("tick", 1.0), ("item", 1.5), ("tick", 2.0)]


class Pairs:
    def __init__(self) -> None:
        self.held: list[int] = []

    def push(self, item: int) -> list[tuple[int, ...]]:
        self.held.append(item)
        return self.flush() if len(self.held) == 2 else []

    def flush(self) -> list[tuple[int, ...]]:
        held, self.held = tuple(self.held), []
        return [held] if held else []


async def test_a_stage_is_flushed_when_its_inbox_ends() -> None:
    inbox, outbox = Channel[int]("in", 8), Channel[tuple[int, ...]]("out", 8)
    for each in (1, 2, 3):
        await inbox.send(each)
    inbox.close()
    await run_stage(Pairs(), inbox, outbox, NoProbe())
    outbox.close()
    assert [each async for each in outbox] == [(1, 2), (3,)]


async def test_a_full_branch_of_a_tap_drops_alone() -> None:
    narrow, wide = Channel[int]("narrow", 1), Channel[int]("wide", 3)
    tap = Tap[int](narrow, wide)
    for each in (1, 2, 3):
        await tap.send(each)
    assert (narrow.depth, narrow.dropped, wide.depth, wide.dropped) == (1, 2, 3, 0)
