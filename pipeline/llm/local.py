"""The LLM that is brought along: llama.cpp's server in a child process, kept alive."""

import asyncio
import contextlib
import json
import logging
import os
import secrets
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from pathlib import Path

from pipeline.clock import now
from pipeline.errors import ConfigError, ServiceError
from pipeline.llm.completeness import TOP, ends, prompt
from pipeline.llm.face import Usage
from pipeline.llm.llama_server import LlamaConfig
from pipeline.llm.openai import OpenAIModel
from pipeline.settings import LlmSettings
from pipeline.types import Message

log = logging.getLogger(__name__)

START_S = 60.0
"""Loading a model takes longer than this only if something is wrong."""
PAUSE_S = 0.25
LONGEST_PAUSE_S = 8.0
STEADY_S = 10.0
"""A child that lived this long is restarted at once when it dies."""


class LocalLlm:
    """A TextModel and a Completeness as long as `run` runs; while the child restarts, asking it
    is a ServiceError."""

    def __init__(
        self, weights: Path, *, slots: int, settings: LlmSettings, warm: Sequence[Message] = ()
    ) -> None:
        """`slots`: requests served at once. `warm`: what every prompt starts with."""
        self._config = LlamaConfig(
            model=str(weights),
            alias=weights.stem,
            api_key=secrets.token_urlsafe(24),
            slots=slots + 1,  # the last is for `score`
            context=settings.context_tokens,
            threads=settings.threads or _threads(),
        )
        self._max_tokens = settings.answer_tokens
        self._warm = tuple(warm)
        self._model: OpenAIModel | None = None
        self._ready = asyncio.Event()
        self.pid: int | None = None
        """The child's process id while there is one."""

    @property
    def name(self) -> str:
        return f"{self._config.alias} (local)"

    async def ready(self) -> None:
        """Returns once it can be asked."""
        await self._ready.wait()

    async def stream(self, messages: Sequence[Message]) -> AsyncGenerator[str | Usage, None]:
        if self._model is None:
            raise ServiceError("llm", f"{self.name} is starting again.")
        async with aclosing(self._model.stream(messages)) as pieces:
            async for piece in pieces:
                yield piece

    async def score(self, text: str) -> float:
        """Probability that nothing follows `text`; raises ServiceError."""
        if self._model is None:
            raise ServiceError("llm", f"{self.name} is starting again.")
        return await self._score(self._model, text)

    async def _score(self, model: OpenAIModel, text: str) -> float:
        slot = self._config.slots - 1
        return ends(await model.next_tokens(prompt(text), top=TOP, slot=slot))

    async def run(self) -> None:
        """Keep a child alive until cancelled. Raises ConfigError if the first cannot start."""
        pause_s = PAUSE_S
        while True:
            began_s = now()
            try:
                await self._serve()
            except ServiceError as error:
                if not self._ready.is_set():
                    raise ConfigError(error.message, hint=error.hint) from error
                log.warning("%s", error)
            if now() - began_s >= STEADY_S:
                pause_s = PAUSE_S
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)

    async def _serve(self) -> None:
        """One child, from start to death. Raises ServiceError when it dies."""
        child = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "pipeline.llm.llama_server",
            stdin=PIPE,
            stdout=PIPE,
            start_new_session=True,  # Ctrl-C is for the server, which ends this child itself
        )
        self.pid = child.pid
        try:
            port = await self._port(child)
            self._model = self._client(port)
            await self._warm_up(self._model)
            self._ready.set()
            await child.wait()
            raise ServiceError("llm", f"The local LLM ended ({child.returncode}).")
        finally:
            model, self._model, self.pid = self._model, None, None
            await _end(child)
            if model is not None:
                await model.close()

    async def _port(self, child: Process) -> int:
        """Configure the child and wait until it listens."""
        assert child.stdin is not None and child.stdout is not None
        try:
            async with asyncio.timeout(START_S):
                child.stdin.write(self._config.line().encode())
                await child.stdin.drain()
                told = json.loads(await child.stdout.readline())
        except (ValueError, OSError, TimeoutError) as error:
            raise ServiceError(
                "llm",
                f"The local LLM cannot start with {self._config.model}.",
                hint="Is the file whole, and is there enough memory? Its own words are above.",
            ) from error
        if "error" in told:
            raise ServiceError(
                "llm",
                f"llama.cpp cannot be loaded: {told['error']}.",
                hint="On Debian and Ubuntu: apt install libgomp1.",
            )
        return int(told["port"])

    def _client(self, port: int) -> OpenAIModel:
        return OpenAIModel(
            self._config.alias,
            api_key=self._config.api_key,
            base_url=f"http://127.0.0.1:{port}/v1",
            name=self.name,
            max_tokens=self._max_tokens,
            temperature=0.0,
            extra={"cache_prompt": True},
        )

    async def _warm_up(self, model: OpenAIModel) -> None:
        """Have every slot read the common start of all prompts, so that no caller waits for it."""
        with contextlib.suppress(ServiceError):  # a child that died is noticed by its parent
            await self._score(model, "")
        if not self._warm:
            return
        async with asyncio.TaskGroup() as tasks:
            for slot in range(self._config.slots - 1):
                tasks.create_task(_first_piece(model, self._warm), name=f"warm LLM slot {slot}")


def _threads() -> int:
    """Half the cores: llama.cpp's threads wait for each other at every step, so that one which
    shares its core with STT or TTS holds up all (on 2 cores, one busy: 7 tokens/s with two
    threads, 18 to 43 with one)."""
    return max(1, (os.cpu_count() or 1) // 2)


async def _first_piece(model: OpenAIModel, messages: Sequence[Message]) -> None:
    with contextlib.suppress(ServiceError):  # a child that died is noticed by its parent
        async with aclosing(model.stream(messages)) as pieces:
            await anext(pieces, "")


async def _end(child: Process) -> None:
    if child.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            child.kill()
        await child.wait()
