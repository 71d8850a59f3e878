"""The process's life: start, serve, drain."""

import asyncio
import contextlib
import os
import signal
import socket
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field

import pytest
from aiohttp import ClientSession

from pipeline.errors import ConfigError, EngineError
from server.app import Choice, Start, bind, serve
from server.metrics import Metrics
from server.settings import LimitSettings, ServerSettings, Settings
from tests.fakes.phone import FakePhone

LIMIT_S = 5.0


@dataclass
class Run:
    """A server under test; `stop` is what SIGTERM does."""

    phone: FakePhone
    url: asyncio.Future[str]
    task: "asyncio.Task[None]"
    ended: list[str] = field(default_factory=list)

    def stop(self) -> None:
        os.kill(os.getpid(), signal.SIGTERM)


def start_with(phone: FakePhone, ended: list[str], hang_s: float) -> Start:
    """A service whose calls take `hang_s` to end."""

    @contextlib.asynccontextmanager
    async def start(settings: Settings, metrics: Metrics) -> AsyncGenerator[FakePhone, None]:
        metrics.watch(phone.admission, phone.load)
        async with asyncio.TaskGroup():
            yield phone
            try:
                await asyncio.sleep(hang_s)
                ended.append("by itself")
            except asyncio.CancelledError:
                ended.append("cut off")
                raise
        if not phone.failed.done():  # as an engine does that has ended
            phone.failed.set_exception(EngineError("the engine was shut down"))
            phone.failed.exception()

    return start


@contextlib.asynccontextmanager
async def running(hang_s: float = 0, drain_s: float = LIMIT_S) -> AsyncGenerator[Run, None]:
    url: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    ended: list[str] = []

    def started(at: str, choices: Sequence[Choice]) -> None:
        url.set_result(at)

    settings = Settings(
        server=ServerSettings(port=0), limits=LimitSettings(drain_s=drain_s, calls=1)
    )
    phone = FakePhone()
    task = asyncio.create_task(serve(settings, start_with(phone, ended, hang_s), started))
    async with asyncio.timeout(LIMIT_S):
        await url
        yield Run(phone, url, task, ended)
        await task


async def test_it_ends_with_the_cause_when_no_call_can_be_taken_any_more() -> None:
    with pytest.raises(EngineError, match="out of memory"):
        async with running() as run:
            run.phone.failed.set_exception(EngineError("out of memory"))
    assert run.phone.drained


async def test_it_serves_until_it_is_told_to_stop_and_lets_calls_end() -> None:
    async with running(hang_s=0.05) as run, ClientSession() as http:
        async with http.get(run.url.result() + "readyz") as response:
            assert response.status == 200
        run.stop()
    assert run.phone.drained
    assert run.ended == ["by itself"]


async def test_calls_that_do_not_end_are_cut_off(caplog: pytest.LogCaptureFixture) -> None:
    async with running(hang_s=60, drain_s=0.05) as run:
        run.stop()
    assert run.ended == ["cut off"]
    assert "cut off" in caplog.text


async def test_the_loops_lag_is_watched_while_it_serves() -> None:
    async with running() as run, ClientSession() as http:
        await asyncio.sleep(0.25)
        async with http.get(run.url.result() + "metrics") as response:
            text = await response.text()
        run.stop()
    count = next(line for line in text.splitlines() if "loop_lag_seconds_count" in line)
    assert float(count.split()[-1]) >= 1


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
def test_a_taken_port_is_told_before_anything_is_loaded(family: int) -> None:
    host = "127.0.0.1" if family == socket.AF_INET else "::1"
    with bind(ServerSettings(host=host, port=0)) as first:
        first.listen()
        port = first.getsockname()[1]
        with pytest.raises(ConfigError, match=f"port {port}.*--port"):
            bind(ServerSettings(host=host, port=port))


def test_an_address_that_is_not_ours_is_told() -> None:
    with pytest.raises(ConfigError, match="--host"):
        bind(ServerSettings(host="no.such.host.invalid", port=0, secret="s" * 16))
