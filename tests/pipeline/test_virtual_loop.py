import asyncio
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from pipeline.virtual_loop import Deadlock, VirtualLoop


async def test_an_hour_passes_at_once() -> None:
    began_s = asyncio.get_running_loop().time()
    await asyncio.sleep(3600)
    assert asyncio.get_running_loop().time() - began_s == pytest.approx(3600)


async def test_time_stands_still_while_a_thread_computes() -> None:
    loop = asyncio.get_running_loop()
    ticks = []

    async def tick() -> None:
        while True:
            await asyncio.sleep(0.001)
            ticks.append(loop.time())

    with ThreadPoolExecutor(1) as thread:
        ticking = asyncio.create_task(tick())
        began_s = loop.time()
        await loop.run_in_executor(thread, time.sleep, 0.02)
        assert loop.time() == began_s
        await asyncio.sleep(0.01)
        assert loop.time() == pytest.approx(began_s + 0.01)
        assert len(ticks) >= 9, "and goes on afterwards"
        ticking.cancel()


def test_a_deadlock_is_reported_instead_of_hanging() -> None:
    with asyncio.Runner(loop_factory=VirtualLoop) as runner, pytest.raises(Deadlock):
        runner.run(asyncio.Event().wait())
