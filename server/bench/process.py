"""A server of the bench's own, in a process of its own, as users run it."""

import asyncio
import json
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from pipeline.errors import ServiceError
from server.settings import PREFIX

START_S = 120.0
"""With weights to be read from a cold disk."""
STOP_S = 15.0


@dataclass(frozen=True, slots=True)
class OwnServer:
    url: str
    pid: int


@asynccontextmanager
async def own_server(settings: Mapping[str, object]) -> AsyncGenerator[OwnServer, None]:
    """Ready while inside. `settings`: environment variables without PREFIX, such as "VOICE__SLOTS".

    Raises ServiceError if it does not come up.
    """
    variables = [f"{PREFIX}{name}={value}" for name, value in settings.items()]
    async with started("server", "serve", "--port", "0", "--json", variables=variables) as server:
        yield server


@asynccontextmanager
async def started(
    module: str, *arguments: str, variables: Sequence[str] = ()
) -> AsyncGenerator[OwnServer, None]:
    """A Python module in a process of its own, which first prints a line of JSON with its url.

    Raises ServiceError if it does not come up.
    """
    command = ["/usr/bin/env", *variables, sys.executable, "-m", module, *arguments]
    process = await asyncio.create_subprocess_exec(*command, stdout=PIPE)
    assert process.stdout is not None
    try:
        async with asyncio.timeout(START_S):
            line = await process.stdout.readline()
        if not line:
            raise ServiceError("server", "The server to be measured did not start.")
        yield OwnServer(json.loads(line)["url"], process.pid)
    finally:
        if process.returncode is None:
            process.terminate()
        try:
            async with asyncio.timeout(STOP_S):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()
