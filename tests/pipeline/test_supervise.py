import asyncio
from itertools import pairwise

import pytest

from pipeline.clock import now
from pipeline.errors import ServiceError
from pipeline.events import ServiceState
from pipeline.supervise import keep_trying, unless


class Flaky:
    """Fails after `lives[n]` seconds at its n-th start, then returns."""

    def __init__(self, *lives_s: float) -> None:
        self.lives_s = list(lives_s)
        self.started_s: list[float] = []

    async def run(self) -> None:
        self.started_s.append(now())
        if self.lives_s:
            await asyncio.sleep(self.lives_s.pop(0))
            raise ServiceError("stt", "the stream broke")
        await asyncio.sleep(10)


async def test_a_failing_branch_is_told_restarted_and_told_well_again() -> None:
    told: list[ServiceState] = []
    await keep_trying("stt", Flaky(5.0).run, told.append)
    assert told == [ServiceState("stt", False, "the stream broke"), ServiceState("stt", True)]


async def test_pauses_grow_while_it_keeps_failing_and_start_anew_once_it_was_steady() -> None:
    flaky = Flaky(0.0, 0.0, 0.0, 60.0, 0.0)
    await keep_trying("stt", flaky.run, lambda state: None)
    pauses = [later - sooner for sooner, later in pairwise(flaky.started_s)]
    assert pauses == pytest.approx([0.5, 1.0, 2.0, 60.5, 1.0])


async def test_a_cancelled_branch_is_not_tried_again() -> None:
    flaky = Flaky()
    task = asyncio.create_task(keep_trying("stt", flaky.run, lambda state: None))
    await asyncio.sleep(1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(flaky.started_s) == 1


async def test_work_that_is_called_off_has_ended_when_that_is_told() -> None:
    called_off, ended = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        try:
            await asyncio.sleep(10)
        finally:
            ended.set()

    asyncio.get_running_loop().call_later(1, called_off.set)
    assert not await unless(called_off, work())
    assert ended.is_set() and now() < 2


async def test_work_that_is_not_called_off_is_done_and_its_errors_are_raised() -> None:
    assert await unless(asyncio.Event(), asyncio.sleep(1))
    with pytest.raises(ServiceError):
        await unless(asyncio.Event(), Flaky(1).run())
