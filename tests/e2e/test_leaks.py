"""Nothing is kept of a call that is over."""

import asyncio

from tests.fakes.guest import calling
from tests.fakes.server_process import ServerProcess

CYCLES = 100
WARM = 20
AT_ONCE = 4
SLACK = 3
"""Of HTTP connections kept alive, and the like."""
SLOTS = "umigame_engine_slots"
TASKS = "umigame_tasks"


async def come_and_go(server: ServerProcess, times: int) -> None:
    for _ in range(times // AT_ONCE):
        await asyncio.gather(*(one_call(server) for _ in range(AT_ONCE)))
        await server.until(SLOTS, 0, within_s=5)


async def one_call(server: ServerProcess) -> None:
    async with calling(server.url):
        pass


async def settled(server: ServerProcess) -> dict[str, float]:
    """What the server holds, once that has not changed for a second."""
    held: dict[str, float] = {}
    while True:
        before, held = held, {"tasks": await server.metric(TASKS), **server.footprint()}
        if before.get("tasks") == held["tasks"] and before["files"] == held["files"]:
            return held
        await asyncio.sleep(1)


async def test_a_hundred_calls_leave_nothing_behind(server: ServerProcess) -> None:
    await come_and_go(server, WARM)
    before = await settled(server)
    await come_and_go(server, CYCLES)
    after = await settled(server)
    for what in ("tasks", "files", "threads"):
        assert after[what] <= before[what] + SLACK, what
    assert after["kib"] - before["kib"] < 200 * CYCLES
