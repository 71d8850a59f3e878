"""The real server as users run it: a process of its own, on a free port."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from urllib.request import Request, urlopen

STOP_S = 20.0
UMIGAME = Path(sys.executable).with_name("umigame")


class ServerProcess:
    """Started, and ready for calls, once made. `settings` are by variable, as LIMITS__CALLS."""

    def __init__(self, folder: Path, *, secret: str = "", **settings: object) -> None:
        self._log = folder / "server.log"
        self._secret = secret
        ours = {"LLM__PROVIDER": "local", **({"SERVER__SECRET": secret} if secret else {})}
        with self._log.open("w") as log:
            self._process = subprocess.Popen(
                [UMIGAME, "serve", "--port", "0", "--json"],
                cwd=folder,
                env=_environment({**ours, **settings}),
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )
        assert self._process.stdout is not None
        with self._process.stdout as out:
            started = out.readline()
        assert started, self.log
        self.url: str = json.loads(started)["url"]

    @property
    def log(self) -> str:
        """What it wrote to stderr so far."""
        return self._log.read_text()

    # Its process, as an operator would look at it.

    def children(self) -> dict[str, int]:
        """Process ids by module."""
        pid = self._process.pid
        found = Path(f"/proc/{pid}/task").glob("*/children")
        pids = [int(each) for path in found for each in path.read_text().split()]
        return {_module(each): each for each in pids if _module(each)}

    def footprint(self) -> "dict[str, int]":
        """Open files and sockets, threads, and resident memory in KiB."""
        proc = Path(f"/proc/{self._process.pid}")
        status = dict(re.findall(r"(\w+):\s+(\d+)", (proc / "status").read_text()))
        files = len(list((proc / "fd").iterdir()))
        return {"files": files, "threads": int(status["Threads"]), "kib": int(status["VmRSS"])}

    async def metric(self, name: str) -> float:
        """Of /metrics, by its name and labels there."""
        text = await asyncio.to_thread(self._metrics)
        found = re.search(rf"^{re.escape(name)} (\S+)$", text, re.MULTILINE)
        assert found, f"there is no {name}"
        return float(found[1])

    async def until(self, name: str, value: float, within_s: float) -> float:
        """Wait until a metric has a value; gives the seconds it took."""
        began_s = time.monotonic()
        while (now := await self.metric(name)) != value:
            took_s = time.monotonic() - began_s
            assert took_s < within_s, f"{name} is {now} after {took_s:.1f} s"
            await asyncio.sleep(0.05)
        return time.monotonic() - began_s

    async def deserted(self) -> None:
        """Wait until nobody calls; who is lost and may come back is no longer here."""
        for state in ("connecting", "queued", "live"):
            await self.until(f'umigame_calls{{state="{state}"}}', 0, within_s=10)
        await self.until("umigame_engine_slots", 0, within_s=10)

    def stop(self, kill: Callable[[int, int], None] = os.kill) -> int:
        """End it as an init system does; gives its exit code."""
        if self._process.poll() is None:
            kill(self._process.pid, signal.SIGTERM)
        try:
            return self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            raise

    def _metrics(self) -> str:
        headers = {"Authorization": f"Bearer {self._secret}"}
        with urlopen(Request(f"{self.url}metrics", headers=headers), timeout=5) as response:
            text: str = response.read().decode()
        return text


def alive(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False


def _environment(settings: dict[str, object]) -> dict[str, str]:
    """No setting but these, and numpy's complaints are errors."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("OPENAI_")}
    kept = {key: value for key, value in kept.items() if not key.startswith("UMIGAME_")}
    ours = {f"UMIGAME_{key}": str(value) for key, value in settings.items()}
    return kept | ours | {"PYTHONWARNINGS": "error::RuntimeWarning"}


def _module(pid: int) -> str:
    """What `python -m` was given; "" if the process is another or gone."""
    try:
        arguments = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except FileNotFoundError:
        return ""
    return arguments[2].decode() if arguments[1:2] == [b"-m"] else ""
