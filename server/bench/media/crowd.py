"""More and more callers of one host, until it is too many."""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from time import perf_counter

import aiohttp
import numpy as np

from server.bench.media.caller import ClickCaller, click_call
from server.bench.media.clicks import click_packets
from server.bench.media.lag import Lag

LAG_LIMIT_MS = 20.0
AWAY_LIMIT_MS = 30.0
STEP = 5
SETTLE_S = 2.0


@dataclass(frozen=True, slots=True)
class Crowd:
    """How it was with so many at once."""

    peers: int
    away_p95_ms: float
    host_lag_p99_ms: float
    callers_lag_p99_ms: float

    @property
    def carried(self) -> bool:
        return self.host_lag_p99_ms <= LAG_LIMIT_MS and self.away_p95_ms <= AWAY_LIMIT_MS


async def grow(url: str, most: int, seconds: float) -> list[Crowd]:
    """Add STEP callers at a time, until one crowd is not carried or there are `most`."""
    packets, crowds, lag = click_packets(), list[Crowd](), Lag()
    measuring = asyncio.create_task(lag.run(), name="callers' loop lag")
    async with AsyncExitStack() as calls, aiohttp.ClientSession() as http:
        callers: list[ClickCaller] = []
        while len(callers) < most and all(crowd.carried for crowd in crowds):
            for _ in range(STEP):
                callers.append(await calls.enter_async_context(click_call(url, packets)))
            crowds.append(await _measure(http, url, callers, lag, seconds))
    measuring.cancel()
    return crowds


def carried(crowds: Sequence[Crowd]) -> int:
    """The most."""
    return max((crowd.peers for crowd in crowds if crowd.carried), default=0)


async def _measure(
    http: aiohttp.ClientSession,
    url: str,
    callers: Sequence[ClickCaller],
    lag: Lag,
    seconds: float,
) -> Crowd:
    await asyncio.sleep(SETTLE_S)
    since_s = perf_counter()
    lag.take_p99_ms()
    await _host_lag_ms(http, url)
    await asyncio.sleep(seconds)
    away_s = [each for caller in callers for each in caller.away_s(since_s)]
    return Crowd(
        peers=len(callers),
        away_p95_ms=1000 * float(np.percentile(away_s or [np.inf], 95)),
        host_lag_p99_ms=await _host_lag_ms(http, url),
        callers_lag_p99_ms=lag.take_p99_ms(),
    )


async def _host_lag_ms(http: aiohttp.ClientSession, url: str) -> float:
    """Since it was asked last."""
    async with http.get(url + "lag") as response:
        return float(await response.json())
