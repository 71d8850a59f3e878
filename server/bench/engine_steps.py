"""Times of steps as the engine's process tells them, and what they come to. Pure."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Percentiles:
    """Milliseconds; None: nothing to measure."""

    p50: float | None
    p95: float | None
    p99: float | None


def percentiles(times_ms: Sequence[float]) -> Percentiles:
    if not times_ms:
        return Percentiles(None, None, None)
    return Percentiles(*(round(float(np.percentile(times_ms, q)), 2) for q in (50, 95, 99)))


def read_steps(told: bytes, from_s: float = 0.0, until_s: float = float("inf")) -> list[float]:
    """Milliseconds of the steps that began in between.

    `told`: a line of JSON each (rehearsal.py), or a list of milliseconds (bare.py).
    """
    if told.startswith(b"["):
        return [float(each) for each in json.loads(told)]
    steps = [json.loads(line) for line in told.splitlines()]
    return [1000 * step["took_s"] for step in steps if from_s <= step["began_s"] < until_s]
