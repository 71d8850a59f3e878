"""Reads a histogram from a server's /metrics: Prometheus's text format. Pure."""

import re
from collections.abc import Mapping

Counts = Mapping[float, float]
"""How many values were not above each bound."""


def read_counts(exposition: str, name: str) -> Counts:
    """Of the histogram `name` without labels."""
    pattern = rf'^{name}_bucket{{le="([^"]+)"}} (\S+)$'
    return {
        float(bound): float(count)
        for bound, count in re.findall(pattern, exposition, flags=re.MULTILINE)
    }


def quantile(q: float, before: Counts, after: Counts) -> float:
    """Upper end of the bucket in which the share `q` of the values in between was reached."""
    counts = {bound: after[bound] - before.get(bound, 0.0) for bound in sorted(after)}
    total = max(counts.values(), default=0.0)
    return next((bound for bound, count in counts.items() if count >= q * total), 0.0)
