"""How long stages take, measured from outside them.

A stage is handed a Probe and knows nothing of metrics. The server's probe feeds Prometheus.
"""

from contextlib import AbstractContextManager, nullcontext
from typing import Protocol


class Probe(Protocol):
    def span(self) -> AbstractContextManager[None]:
        """Time what runs inside it (the stage's own work, not its waiting)."""


class NoProbe:
    """Measures nothing."""

    def span(self) -> AbstractContextManager[None]:
        return nullcontext()


class Probes(Protocol):
    """Gives each stage its probe."""

    def __call__(self, stage: str) -> Probe: ...


def no_probes(stage: str) -> Probe:
    """For tests and replays."""
    return NoProbe()
