"""Runs coturn, which reads its secret from a file that only we can read."""

import asyncio
import contextlib
import logging
import os
import shutil
import socket
import tempfile
from asyncio.subprocess import DEVNULL, PIPE, STDOUT, Process
from collections import deque
from collections.abc import AsyncIterator
from pathlib import Path

from turn.coturn import Coturn, render
from turn.log import read_line

log = logging.getLogger("coturn")

START_S = 10.0
STOP_S = 3.0


class CoturnFailed(Exception):
    """It could not be started, or ended by itself."""


@contextlib.asynccontextmanager
async def coturn(config: Coturn) -> AsyncIterator["asyncio.Future[str]"]:
    """Relays while inside. The future gets its last words should it end by itself.

    Raises CoturnFailed if it does not come up.
    """
    program = shutil.which("turnserver")
    if program is None:
        raise CoturnFailed("coturn is not installed: apt install coturn")
    _claim(config)
    with tempfile.TemporaryDirectory(prefix="umigame-coturn-") as folder:
        file = _write(config, Path(folder))
        process = await asyncio.create_subprocess_exec(
            *_dying_with_us(), program, "-c", str(file), stdin=DEVNULL, stdout=PIPE, stderr=STDOUT
        )
        ended = asyncio.create_task(_follow(process), name="coturn log")
        try:
            await _up(config, ended)
            yield ended
        finally:
            await _stop(process)
            await ended


def _dying_with_us() -> list[str]:
    """Even if we are killed: else it would hold its ports."""
    setpriv = shutil.which("setpriv")  # util-linux; not on every system
    return [setpriv, "--pdeathsig", "TERM"] if setpriv else []


def _write(config: Coturn, folder: Path) -> Path:
    file = folder / "turnserver.conf"
    with open(os.open(file, os.O_WRONLY | os.O_CREAT, 0o600), "w") as conf:
        conf.write(render(config, folder))
    return file


def _claim(config: Coturn) -> None:
    """coturn tries for a minute, and says little, when its port is taken."""
    for port in filter(None, (config.port, config.tls_port)):
        for address in config.listen or ("0.0.0.0",):  # noqa: S104 (what coturn does)
            family = socket.AF_INET6 if ":" in address else socket.AF_INET
            for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM):
                with socket.socket(family, kind) as probe:
                    if kind is socket.SOCK_STREAM:
                        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                    try:
                        probe.bind((address, port))
                    except OSError as error:
                        why = error.strerror
                        raise CoturnFailed(f"{address} port {port}: {why}.") from error


async def _follow(process: Process) -> str:
    """Pass on what is worth knowing; gives the last lines once it has ended."""
    assert process.stdout is not None
    last: deque[str] = deque(maxlen=3)
    async for raw in process.stdout:
        line = raw.decode(errors="replace").rstrip()
        if said := read_line(line):
            log.log(*said)
            last.append(said[1])
    await process.wait()
    return "; ".join(last) or f"exit code {process.returncode}"


async def _up(config: Coturn, ended: "asyncio.Task[str]") -> None:
    address = config.listen[0] if config.listen else "127.0.0.1"
    try:
        async with asyncio.timeout(START_S):
            while not ended.done():
                with contextlib.suppress(OSError):
                    _, writer = await asyncio.open_connection(address, config.port)
                    writer.close()
                    return
                await asyncio.sleep(0.05)
    except TimeoutError:
        raise CoturnFailed(f"coturn does not answer on {address} port {config.port}.") from None
    raise CoturnFailed(f"coturn ended at once: {ended.result()}")


async def _stop(process: Process) -> None:
    if process.returncode is None:
        process.terminate()
    try:
        async with asyncio.timeout(STOP_S):
            await process.wait()
    except TimeoutError:
        process.kill()
