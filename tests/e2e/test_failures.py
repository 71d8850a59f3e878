"""What becomes of a call when something beside it dies."""

import asyncio
import os
import signal
from collections.abc import Callable

import numpy as np
import pytest

from pipeline.clock import now
from tests.e2e.conftest import StartServer
from tests.fakes.guest import PATIENCE_S, ask, calling, share_heard, speaking, write
from tests.fakes.server_process import ServerProcess, alive
from tests.fakes.speaker import Speaker

LLM = "pipeline.llm.llama_server"
TTS = "pipeline.frontends.voice.worker"
QUESTION = "What is the capital of Germany?"
MOST = 0.5
"""A busy machine loses less of a second than this; a voice that stopped loses all of it."""


async def back(server: ServerProcess, module: str, killed: int) -> None:
    """Until the child has been started anew."""
    async with asyncio.timeout(PATIENCE_S):
        while server.children().get(module) in (None, killed):  # noqa: ASYNC110
            await asyncio.sleep(0.1)


async def test_the_voice_goes_on_without_the_llm_and_answers_when_it_is_back(
    server: ServerProcess, speaker: Speaker
) -> None:
    question = speaker(QUESTION)
    async with calling(server.url) as call:
        llm = server.children()[LLM]
        os.kill(llm, signal.SIGSTOP)  # so that it dies in the middle of an answer
        asking = asyncio.create_task(ask(call, question))
        async with asyncio.timeout(PATIENCE_S):
            await call.wait_for("umigame.oracle")
            os.kill(llm, signal.SIGKILL)
            down = await call.wait_for("umigame.service")
            assert (down.event["service"], down.event["up"]) == ("llm", False)
            up = await call.wait_for("umigame.service", since_s=down.at_s + 1e-3)
            while not up.event["up"]:
                up = await call.wait_for("umigame.service", since_s=up.at_s + 1e-3)
        await asking
        assert share_heard(call, down.at_s, up.at_s) > MOST
        async with asyncio.timeout(PATIENCE_S):
            # On a busy machine its first answer comes after the voice has said that it has none.
            while "berlin" not in (await write(call, QUESTION)).said.lower():
                pass


async def test_a_dead_text_to_speech_is_replaced_within_the_call(
    server: ServerProcess, speaker: Speaker
) -> None:
    long = speaker("Tell me about the history of London.")
    async with calling(server.url) as call:
        said = await call.say(long)
        await speaking(call, said.ended_s, 0.5)
        killed = server.children()[TTS]
        os.kill(killed, signal.SIGKILL)
        killed_s = now()
        await back(server, TTS, killed)
        back_s = now()
        async with asyncio.timeout(PATIENCE_S):
            await call.wait_for("response.done")
        assert share_heard(call, killed_s, back_s) > MOST
        got = await write(call, QUESTION)
        assert "berlin" in got.said.lower()
        assert np.abs(got.sound).max() > 0.1


@pytest.mark.parametrize("kill", [os.kill, os.killpg], ids=["server alone", "process group"])
async def test_sigterm_ends_calls_and_children_and_the_exit_is_clean(
    start_server: StartServer, kill: Callable[[int, int], None]
) -> None:
    server = start_server()
    async with calling(server.url) as call:
        children = server.children()
        assert {LLM, TTS} <= set(children)
        code = await asyncio.to_thread(server.stop, kill)
        assert (code, server.log) == (0, ""), "nothing died that was not told to"
        told = await call.wait_for("error")
        assert told.event["error"]["code"] == "shutting_down"
        async with asyncio.timeout(5):
            await call.closed
    assert not [module for module, pid in children.items() if alive(pid)]
