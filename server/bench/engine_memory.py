"""How much memory an engine takes."""

import asyncio
import re
from pathlib import Path

from pipeline.errors import ServiceError

GIB = 2**30


async def memory_gib(device: str, pid: int) -> float:
    """In use on a GPU, by everybody; on a CPU by process `pid`. Raises ServiceError."""
    if device == "cpu":
        status = await asyncio.to_thread(Path(f"/proc/{pid}/status").read_text)
        resident = re.search(r"VmRSS:\s+(\d+) kB", status)
        return int(resident[1]) * 1024 / GIB if resident else 0.0
    index = device.partition(":")[2] or "0"
    query = ("--query-gpu=memory.used", "--format=csv,noheader,nounits", "-i", index)
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec("nvidia-smi", *query, stdout=pipe)
    out, _ = await process.communicate()
    if process.returncode:
        raise ServiceError("nvidia-smi", f"nvidia-smi ended with {process.returncode}.")
    return int(out) * 2**20 / GIB
