import asyncio

from pipeline.channel import Channel
from pipeline.probe import NoProbe
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
