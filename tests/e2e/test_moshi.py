"""Calls to a server whose voice is Moshi: the same command and the same engine process as with 7B,
but random weights of a few kilobytes. What comes back is noise, and is asked to be no more."""

import asyncio
import json
import os
import signal
import subprocess
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import numpy as np
import pytest

from server.rtc.client import Caller
from tests.e2e.conftest import StartServer
from tests.fakes.guest import calling
from tests.fakes.sender import speech
from tests.fakes.server_process import UMIGAME, ServerProcess, alive
from tests.fakes.tiny_moshi import write

ENGINE = "pipeline.engine.worker"
RESTARTS = "umigame_engine_restarts_total"
GAP_S = 1.0
"""A busy machine holds packets up for less; a voice that stopped is gone for longer."""


@pytest.fixture(scope="module")
def moshi(start_server: StartServer, tmp_path_factory: pytest.TempPathFactory) -> ServerProcess:
    """A KAME checkpoint on the CPU, which speaks alone: no STT, no LLM."""
    folder: Path = tmp_path_factory.mktemp("kame")
    write(folder, kame=True)
    return start_server(
        SERVER__FRONT_END="moshi",
        MOSHI__CONFIG_PATH=folder / "config.json",
        MOSHI__HF_REPO="",
        MOSHI__DEVICE="cpu",
        MOSHI__DTYPE="fp32",
        MOSHI__MAX_SLOTS=3,
        SESSION__STT="none",
        LIMITS__DRAIN_S=5,  # noise never comes to an end by itself
    )


@asynccontextmanager
async def two_callers(url: str) -> AsyncIterator[list[Caller]]:
    """Together, before a busy machine has shown how slow it is and lets one of them wait."""
    async with AsyncExitStack() as stack:
        entering = (stack.enter_async_context(calling(url)) for _ in range(2))
        yield list(await asyncio.gather(*entering))


async def listened(call: Caller, seconds: float) -> list[float]:
    """Speak for so long; when each packet came meanwhile."""
    frames = len(call.heard)
    await call.say(speech(seconds))
    return [frame.arrived_s for frame in call.heard[frames:]]


def readiness(server: ServerProcess) -> tuple[int, str]:
    try:
        with urlopen(f"{server.url}readyz", timeout=5) as response:
            return response.status, ""
    except HTTPError as error:
        with error:
            return error.code, json.loads(error.read())["reason"]


async def test_two_callers_at_once_hear_sound_in_real_time_and_each_their_own(
    moshi: ServerProcess,
) -> None:
    async with two_callers(moshi.url) as calls:
        for arrived_s in await asyncio.gather(*(listened(call, 4.0) for call in calls)):
            assert len(arrived_s) == pytest.approx(200, abs=30)
            assert np.diff(arrived_s).max() < GAP_S
        ours, theirs = (call.sound()[-48_000:] for call in calls)
        for sound in (ours, theirs):
            assert np.abs(sound).max() > 0.001, "there is sound"
        assert np.abs(ours - theirs).max() > 0.001
        created = await calls[0].wait_for("session.created")
        assert created.event["session"]["umigame"]["mode"] == "s2s"


async def test_when_its_process_is_killed_callers_are_told_why_and_the_next_one_is_served(
    moshi: ServerProcess,
) -> None:
    before = await moshi.metric(RESTARTS)
    pid = moshi.children()[ENGINE]
    async with two_callers(moshi.url) as calls:
        for call in calls:
            await listened(call, 0.5)
        os.kill(pid, signal.SIGKILL)
        async with asyncio.timeout(20):
            for call in calls:
                told = await call.wait_for("error")
                assert "killed by signal 9" in told.event["error"]["message"]
                await call.closed
    status, reason = await asyncio.to_thread(readiness, moshi)
    assert status == 200 or (status == 503 and "started anew" in reason)
    await moshi.until(RESTARTS, before + 1, within_s=30)
    assert (await asyncio.to_thread(readiness, moshi))[0] == 200
    assert not alive(pid)
    async with calling(moshi.url) as call:
        assert len(await listened(call, 2.0)) == pytest.approx(100, abs=20)


async def test_a_signal_to_all_of_its_processes_lets_the_call_end_and_leaves_nothing(
    moshi: ServerProcess,
) -> None:
    pid = moshi.children()[ENGINE]
    async with calling(moshi.url) as call:
        await listened(call, 0.5)
        assert await asyncio.to_thread(moshi.stop, os.killpg) == 0
        told = await call.wait_for("error")
        assert told.event["error"]["code"] == "shutting_down"
    assert not alive(pid)


def test_what_is_wrong_with_a_checkpoint_is_told_at_start_with_a_hint_and_no_traceback(
    tmp_path: Path,
) -> None:
    write(tmp_path, kame=True)
    weights = tmp_path / "lm.safetensors"
    weights.write_bytes(weights.read_bytes()[:1_000])
    flags = ("--front-end", "moshi", "--config-path", str(tmp_path / "config.json"))
    more = ("--hf-repo", "", "--device", "cpu", "--stt", "none", "--port", "0")
    command = [UMIGAME, "serve", *flags, *more]
    told = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert told.returncode == 2
    assert "lm.safetensors is truncated" in told.stderr and "Fetch it again" in told.stderr
    assert "Traceback" not in told.stderr and not told.stdout
