"""Runs the media bench: each stack at each frame size, in turn, so many times."""

import asyncio
import os
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from statistics import median
from time import perf_counter

import numpy as np
from rich.progress import Progress

from pipeline.errors import ConfigError
from server.bench.media.browser import loop_ms
from server.bench.media.caller import click_call
from server.bench.media.clicks import click_packets
from server.bench.media.crowd import Crowd, carried, grow
from server.bench.process import started
from server.bench.progress import progress

Setup = tuple[str, int]
"""Stack, and frame in milliseconds."""
SETUPS = (("ours", 20), ("ours", 80), ("stock", 20), ("stock", 80))
SETTLE_S = 4.0
"""The jitter buffer may still be finding the sender's phase."""


@dataclass(frozen=True, slots=True)
class Times:
    """Milliseconds from a packet's way out to the way in of the one that brings it back.

    Seen by the caller. At frames of 80 ms it holds the 0 to 60 that a packet waits for the rest.
    """

    p50: float
    p95: float


@dataclass(frozen=True, slots=True)
class Echoed:
    rtp_in_to_out_ms: Times


@dataclass(frozen=True, slots=True)
class Report:
    ours: dict[str, Echoed]
    """By frame in milliseconds; medians over the runs."""
    stock: dict[str, Echoed]
    chromium_loop_ms: dict[str, float] | None
    """By stack and frame: medians over the runs of each run's median."""
    chromium_missing: str
    """Why it was not measured."""
    peers_per_core: int
    crowds: list[Crowd]


async def measure(runs: int, seconds: float, most_peers: int) -> Report:
    """Raises ServiceError if a host does not start or answer."""
    with progress() as bar:
        echoes: dict[Setup, list[Times]] = {setup: [] for setup in SETUPS}
        for setup in bar.track(SETUPS * runs, description="echo"):
            async with host(*setup) as url:
                echoes[setup].append(await _echo(url, seconds))
        loops, missing = await _loops(bar, runs, seconds)
        async with host("ours", 20) as url:
            with on_core(0):
                crowds = await grow(url, most_peers, seconds)
    return Report(
        ours=_by_frame("ours", echoes),
        stock=_by_frame("stock", echoes),
        chromium_loop_ms=loops,
        chromium_missing=missing,
        peers_per_core=carried(crowds),
        crowds=crowds,
    )


@asynccontextmanager
async def host(stack: str, frame_ms: int) -> AsyncGenerator[str, None]:
    """The url of a host, on the last core alone."""
    core = sorted(os.sched_getaffinity(0))[-1]
    async with started("server.bench.media.host", stack, str(frame_ms), str(core)) as process:
        yield process.url


@contextmanager
def on_core(index: int) -> Generator[None, None, None]:
    """This process on one of its cores alone."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {sorted(before)[index]})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


async def _echo(url: str, seconds: float) -> Times:
    with on_core(0):
        async with click_call(url, click_packets()) as caller:
            await asyncio.sleep(SETTLE_S)
            since_s = perf_counter()
            await asyncio.sleep(seconds)
            away_ms = [1000 * each for each in caller.away_s(since_s)]
    return Times(*np.percentile(away_ms, (50, 95)))


async def _loops(bar: Progress, runs: int, seconds: float) -> tuple[dict[str, float] | None, str]:
    loops: dict[str, list[float]] = {f"{stack}_{frame_ms}": [] for stack, frame_ms in SETUPS}
    for stack, frame_ms in bar.track(SETUPS * runs, description="Chromium"):
        try:
            async with host(stack, frame_ms) as url:
                loops[f"{stack}_{frame_ms}"].append(await loop_ms(url, seconds))
        except ConfigError as error:
            return None, str(error)
    return {name: round(median(each), 1) for name, each in loops.items()}, ""


def _by_frame(stack: str, echoes: dict[Setup, list[Times]]) -> dict[str, Echoed]:
    return {
        str(frame_ms): Echoed(medians(times))
        for (of, frame_ms), times in echoes.items()
        if of == stack
    }


def medians(runs: Sequence[Times]) -> Times:
    return Times(
        round(median(run.p50 for run in runs), 1), round(median(run.p95 for run in runs), 1)
    )
