"""Keeps a branch alive: the voice goes on while STT or LLM comes back by itself."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine

from pipeline.errors import ServiceError
from pipeline.events import ServiceState

FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 8.0
STEADY_S = 2.0
"""A branch that has run this long is taken to be well."""


async def keep_trying(
    service: str, run: Callable[[], Awaitable[None]], report: Callable[[ServiceState], None]
) -> None:
    """Run `run` until it returns; on ServiceError tell why, pause, and run it again.

    The pause doubles up to LONGEST_PAUSE_S and starts anew once the branch was steady.
    """
    loop = asyncio.get_running_loop()
    pause_s = FIRST_PAUSE_S
    failed = False
    while True:
        began_s = loop.time()
        well = loop.call_later(STEADY_S, report, ServiceState(service, up=True)) if failed else None
        try:
            return await run()
        except ServiceError as error:
            failed = True
            report(ServiceState(service, up=False, message=str(error)))
        finally:
            if well is not None:
                well.cancel()
        if loop.time() - began_s >= STEADY_S:
            pause_s = FIRST_PAUSE_S
        await asyncio.sleep(pause_s)
        pause_s = min(2 * pause_s, LONGEST_PAUSE_S)


async def unless(called_off: asyncio.Event, work: Coroutine[None, None, None]) -> bool:
    """Do `work`, and raise what it raises; False if it was called off before it was done."""
    waiting = asyncio.create_task(called_off.wait(), name="called off")
    working = asyncio.create_task(work, name="unless called off")
    try:
        await asyncio.wait((waiting, working), return_when=asyncio.FIRST_COMPLETED)
    finally:
        waiting.cancel()
        working.cancel()
        await asyncio.wait((waiting, working))
    if working.cancelled():
        return False
    working.result()
    return True
