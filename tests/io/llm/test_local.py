import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from pipeline.errors import ConfigError, ServiceError
from pipeline.llm.llama_server import LlamaConfig
from pipeline.llm.local import LocalLlm
from pipeline.llm.openai import OpenAIModel, list_models
from pipeline.oracle.prompt import opening
from pipeline.settings import LlmSettings
from pipeline.types import Message, SessionConfig
from server.weights import Weights

OPENING = opening(SessionConfig())


@asynccontextmanager
async def running(path: Path) -> AsyncIterator[LocalLlm]:
    llm = LocalLlm(path, slots=2, settings=LlmSettings(), warm=OPENING)
    async with asyncio.TaskGroup() as tasks:
        run = tasks.create_task(llm.run())
        async with asyncio.timeout(30):
            await llm.ready()
        yield llm
        run.cancel()


async def ask(llm: LocalLlm, question: str, before: Sequence[Message] = OPENING) -> str:
    messages = [*before, Message("user", question)]
    return "".join([piece async for piece in llm.stream(messages)])


def command_line(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_text()


async def answer_when_back(llm: LocalLlm, question: str) -> str:
    async with asyncio.timeout(20):
        while True:
            with suppress(ServiceError):
                return await ask(llm, question)
            await asyncio.sleep(0.05)


async def test_it_knows_the_capital_of_france_survives_being_killed_and_ends_with_its_owner(
    weights: Weights,
) -> None:
    async with running(weights.path("llm")) as llm:
        answers = await asyncio.gather(
            ask(llm, "What is the capital of France?"),
            ask(llm, "What is the capital of Japan?"),
        )
        assert "Paris" in answers[0] and "Tokyo" in answers[1]
        paused = await llm.score("What's the tallest building?")
        assert paused < 0.2 < 0.5 < await llm.score("What's the tallest building in Dubai?")
        first = llm.pid
        assert first is not None
        os.kill(first, signal.SIGKILL)
        assert "Rome" in await answer_when_back(llm, "What is the capital of Italy?")
        second = llm.pid
        assert second is not None and second != first
    with pytest.raises(ProcessLookupError):
        os.kill(second, 0)
    with pytest.raises(ServiceError, match="starting"):
        await ask(llm, "Are you there?")


async def test_one_question_after_another_is_answered_without_a_broken_connection(
    weights: Weights,
) -> None:
    settings = LlmSettings(answer_tokens=2)
    llm = LocalLlm(weights.path("llm"), slots=1, settings=settings)
    async with asyncio.TaskGroup() as tasks:
        run = tasks.create_task(llm.run())
        await llm.ready()
        for _ in range(60):
            assert await ask(llm, "Hello", ())
        run.cancel()


async def test_a_broken_file_ends_the_start_with_a_clear_error(tmp_path: Path) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF, but not really")
    llm = LocalLlm(broken, slots=1, settings=LlmSettings())
    with pytest.raises(ConfigError, match="cannot start"):
        await llm.run()


async def test_the_child_listens_on_loopback_only_wants_its_key_and_dies_with_its_parent(
    weights: Weights,
) -> None:
    config = LlamaConfig(str(weights.path("llm")), "smol", "the-key", 1, 512, 1)
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "pipeline.llm.llama_server",
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert child.stdin is not None and child.stdout is not None
    child.stdin.write(config.line().encode())
    line = await asyncio.wait_for(child.stdout.readline(), 30)
    port = int(line.decode().partition(":")[2].strip(" }\n"))
    url = f"http://127.0.0.1:{port}/v1"
    stranger = OpenAIModel("smol", api_key="guess", base_url=url)
    with pytest.raises(ServiceError, match="refuses the key"):
        _ = [piece async for piece in stranger.stream([Message("user", "Hi")])]
    await stranger.close()
    assert await list_models(url, api_key="the-key", timeout_s=5.0) == ["smol"]
    assert "the-key" not in command_line(child.pid)
    child.stdin.close()
    assert await asyncio.wait_for(child.wait(), 10) == 0
