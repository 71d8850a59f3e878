"""`umigame bench engine`: how many callers one engine carries, in real time.

Each row is an engine in a process of its own, as the server runs it, with as many callers as it
has slots, whose conversations are as old from their first frame on as the row says.
"""

import asyncio
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from pipeline.engine.remote import ProcessEngine, process_engine
from pipeline.errors import EngineError, InputError
from server.bench.engine_callers import crowd
from server.bench.engine_memory import memory_gib
from server.bench.engine_steps import Percentiles, percentiles, read_steps
from server.bench.progress import progress

SETTLE_S = 3.0
"""From when all have joined; not measured."""

BARE_S = 20.0
"""Upstream's loop is measured for so long at the most: it does not vary."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be measured."""

    device: str
    size: str
    """7b or tiny."""
    slots: Sequence[int]
    fill: Sequence[float]
    """Share of the context that is remembered when a caller joins."""
    kv: Sequence[str]
    seconds: float
    """For each row."""

    @property
    def fills_permille(self) -> list[int]:
        return [round(1000 * each) for each in self.fill]


@dataclass(frozen=True, slots=True)
class Bare:
    """Upstream's loop with one caller, beside nothing."""

    step_ms: Percentiles
    frames: int


@dataclass(frozen=True, slots=True)
class Row:
    slots: int
    fill: float
    kv: str
    step_ms: Percentiles
    frame_latency_ms: Percentiles
    """From a frame's being complete to its output's being here."""
    late_rate: float
    """Share of the frames whose output took longer than a frame lasts, or never came."""
    memory_gib: float
    """In use on the device, by all; on a CPU by the engine's process."""
    frames: int
    joins: int
    """Callers that came for another who had left, after the first."""


@dataclass(frozen=True, slots=True)
class Report:
    bare: Bare
    rows: list[Row]


def read_wanted(
    front_end: str,
    random_weights: bool,
    size: str,
    device: str,
    slots: str,
    fill: str,
    kv: str,
    seconds: float,
) -> Wanted:
    """Of the command line. Raises InputError."""
    if front_end != "moshi" or not random_weights:
        raise InputError(
            "Only the front-end moshi with random weights can be measured.",
            hint="Use --front-end moshi --random-weights.",
        )
    try:
        callers = [int(each) for each in slots.split(",")]
        shares = [float(each) for each in fill.split(",")]
    except ValueError:
        callers, shares = [], []
    if not callers or min(callers) < 1 or not all(0 <= share <= 1 for share in shares):
        raise InputError(
            f'"{slots}" and "{fill}" are no numbers of callers and shares of a context.',
            hint="For example --slots 1,16 --fill 0.25,1.0",
        )
    return Wanted(device, size, callers, shares, kv.split(","), seconds)


async def measure(wanted: Wanted) -> Report:
    """Raises ConfigError, EngineError, InputError."""
    engines = list(product(wanted.kv, wanted.slots))
    with progress() as bar:
        bare = await _bare(wanted)
        rows: list[Row] = []
        for kv, slots in bar.track(engines, description="engines"):
            rows += await _rows(wanted, kv, slots)
    return Report(bare, rows)


async def _bare(wanted: Wanted) -> Bare:
    module = "pipeline.frontends.moshi.bare"
    asked = (wanted.device, wanted.size, str(min(wanted.seconds, BARE_S)))
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", module, *asked, stdout=pipe
    )
    out, _ = await process.communicate()
    if process.returncode:
        raise EngineError(f"Upstream's loop ended with {process.returncode}.")
    steps_ms = read_steps(out)
    return Bare(percentiles(steps_ms), len(steps_ms))


async def _rows(wanted: Wanted, kv: str, slots: int) -> list[Row]:
    with tempfile.NamedTemporaryFile(prefix="umigame-", suffix=".jsonl") as trace:
        order = _order(wanted, kv, slots, trace.name)
        async with process_engine("pipeline.frontends.moshi.rehearsal:rehearsal", order) as engine:
            if engine.info.slots < slots:
                raise InputError(
                    f"{slots} conversations do not fit into memory, {engine.info.slots} do.",
                    hint="Ask for fewer --slots, or another --kv.",
                )
            return [
                await _row(wanted, engine, kv, slots, permille, Path(trace.name))
                for permille in wanted.fills_permille
            ]


def _order(wanted: Wanted, kv: str, slots: int, trace: str) -> dict[str, Any]:
    moshi = {
        "device": wanted.device,
        "random_size": wanted.size,
        "dtype": "fp32" if wanted.device == "cpu" else "bf16",
        "kv": kv,
        "max_slots": slots,
    }
    return {"moshi": moshi, "trace": trace}


async def _row(
    wanted: Wanted, engine: ProcessEngine, kv: str, slots: int, permille: int, trace: Path
) -> Row:
    heard = await crowd(engine, slots, permille, SETTLE_S, wanted.seconds)
    from_s, until_s = heard.from_s, heard.until_s
    steps_ms = read_steps(await asyncio.to_thread(trace.read_bytes), from_s, until_s)
    return Row(
        slots=slots,
        fill=permille / 1000,
        kv=kv,
        step_ms=percentiles(steps_ms),
        frame_latency_ms=percentiles([1000 * each for each in heard.latencies_s]),
        late_rate=round(heard.late_rate(engine.info.frame_s), 6),
        memory_gib=round(await memory_gib(wanted.device, engine.pid), 1),
        frames=heard.frames,
        joins=heard.joins,
    )
