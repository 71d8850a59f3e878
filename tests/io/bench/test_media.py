"""The media bench for a moment: real processes, real WebRTC, sane numbers."""

import asyncio
from time import perf_counter

import pytest

from server.bench.media.caller import click_call
from server.bench.media.clicks import click_packets
from server.bench.media.crowd import grow
from server.bench.media.report import host


@pytest.mark.parametrize("stack", ["ours", "stock"])
async def test_a_click_comes_back_through_either_stack(stack: str) -> None:
    async with host(stack, 20) as url, click_call(url, click_packets()) as caller:
        since_s = perf_counter()
        async with asyncio.timeout(10):
            while len(away_s := caller.away_s(since_s)) < 2:  # noqa: ASYNC110
                await asyncio.sleep(0.1)
    assert 0 < min(away_s) < 1


async def test_a_crowd_grows_until_it_is_as_large_as_was_asked_for() -> None:
    async with host("ours", 20) as url:
        crowds = await grow(url, most=5, seconds=1.0)
    assert [crowd.peers for crowd in crowds] == [5]
    assert 0 < crowds[0].away_p95_ms < 1000
    assert crowds[0].host_lag_p99_ms > 0
