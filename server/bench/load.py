"""`umigame bench load`: what calls cost, and how many this machine carries.

Callers ask in turns: each speaks a question, hears its answer out, thinks for a moment and asks
the next. The callers themselves run on the same machine and take CPU too; theirs is told apart.
"""

import asyncio
import os
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle
from urllib.parse import urljoin

import aiohttp

from pipeline.clock import now
from pipeline.errors import InputError
from server.bench.asking import SETTLE_S, Asked, ask_in
from server.bench.cpu import cpu_s
from server.bench.histogram import Counts, quantile, read_counts
from server.bench.judge import judge
from server.bench.process import OwnServer, own_server
from server.bench.progress import progress
from server.bench.questions import SpokenQuestion, read_questions, speak_all
from server.bench.summary import Spread, spread
from server.rtc.client import dial

THINK_S = 1.0
"""Between an answer and the next question."""
LAG_LIMIT_S = 0.02
"""A loop that is often later than this is heard."""
SLOWER = 2.0
"""First audio this many times later than with the fewest calls is degraded."""


@dataclass(frozen=True, slots=True)
class Load:
    calls: int
    questions: int
    """Asked in all."""
    answered: int
    """Those that were answered with anything."""
    cores: float
    """CPU time of the server and its workers, seconds a second."""
    cores_per_call: float
    callers_cores: float
    """The same of this process, which plays the callers."""
    first_audio_ms: Spread
    loop_lag_p99_ms: float
    """Of the server's loop: upper end of the histogram's bucket."""


@dataclass(frozen=True, slots=True)
class Report:
    cores: int
    """What this machine has."""
    idle_cores: float
    """What the server takes when nobody calls."""
    loads: list[Load]
    carried: int
    """Most calls with the loop in time and first audio not degraded."""


def read_calls(text: str) -> list[int]:
    """Raises InputError unless they are numbers of calls."""
    try:
        counts = sorted({int(part) for part in text.split(",")})
    except ValueError:
        counts = [0]
    if counts[0] < 1:
        raise InputError(f'"{text}" is no list of numbers of calls.', hint="For example: 1,2,4")
    return counts


async def measure(counts: Sequence[int], seconds: float) -> Report:
    """Raises ConfigError, ServiceError, CallFailed."""
    plain = [question for question in read_questions() if not question.pause_s]
    spoken = await speak_all(plain)
    with progress() as bar:
        async with own_server({"VOICE__SLOTS": max(counts)}) as server:
            idle = await _idle_cores(server)
            loads = [
                await _load(server, spoken, calls, seconds)
                for calls in bar.track(counts, description="calls at once")
            ]
    return Report(os.cpu_count() or 1, round(idle, 3), loads, carried(loads))


def carried(loads: Sequence[Load]) -> int:
    """The last of `loads`, fewest calls first, up to which all is well."""
    usual_ms = loads[0].first_audio_ms.p50
    most = 0
    for load in loads:
        first_ms = load.first_audio_ms.p50
        late = load.loop_lag_p99_ms > 1000 * LAG_LIMIT_S or load.answered < load.questions
        if late or first_ms is None or usual_ms is None or first_ms > SLOWER * usual_ms:
            break
        most = load.calls
    return most


async def _idle_cores(server: OwnServer, seconds: float = 2.0) -> float:
    began_s, before_s = now(), cpu_s(server.pid)
    await asyncio.sleep(seconds)
    return (cpu_s(server.pid) - before_s) / (now() - began_s)


async def _load(
    server: OwnServer, spoken: Sequence[SpokenQuestion], calls: int, seconds: float
) -> Load:
    asked: list[Asked] = []
    began_s, ours_s, theirs_s = now(), _own_cpu_s(), cpu_s(server.pid)
    lag = await _loop_lag(server)
    async with asyncio.TaskGroup() as tasks:
        for number in range(calls):
            turned = [*spoken[number % len(spoken) :], *spoken[: number % len(spoken)]]
            work = _converse(server.url, turned, number / calls, seconds, asked)
            tasks.create_task(work, name=f"caller {number}")
    took_s = now() - began_s
    cores = (cpu_s(server.pid) - theirs_s) / took_s
    first_audio_s = [judge(each).first_audio_s for each in asked]
    return Load(
        calls=calls,
        questions=len(asked),
        answered=sum(each is not None for each in first_audio_s),
        cores=round(cores, 3),
        cores_per_call=round(cores / calls, 3),
        callers_cores=round((_own_cpu_s() - ours_s) / took_s, 3),
        first_audio_ms=spread(first_audio_s),
        loop_lag_p99_ms=1000 * quantile(0.99, lag, await _loop_lag(server)),
    )


async def _converse(
    url: str,
    spoken: Sequence[SpokenQuestion],
    wait_s: float,
    seconds: float,
    asked: list[Asked],
) -> None:
    """Ask question after question for so long; the last is heard out."""
    await asyncio.sleep(wait_s)  # or all would speak at once
    until_s = now() + seconds
    async with dial(url) as call:
        await call.wait_for("session.created")
        await asyncio.sleep(SETTLE_S)
        for question in cycle(spoken):
            if now() >= until_s:
                return
            asked.append(await ask_in(call, question))
            await asyncio.sleep(THINK_S)


def _own_cpu_s() -> float:
    times = os.times()
    return times.user + times.system


async def _loop_lag(server: OwnServer) -> Counts:
    async with aiohttp.ClientSession() as http, http.get(urljoin(server.url, "metrics")) as got:
        return read_counts(await got.text(), "umigame_loop_lag_seconds")
