"""How the path of a live session is, once a second: a pure core."""

from collections import deque
from statistics import median

from pipeline.audio.jitter import JitterStats
from pipeline.events import Latency, Overload

SERVER_TIMES = 100
"""Packets over which the server's own time is taken: two seconds."""


class PathReport:
    def __init__(self) -> None:
        self._server_s: deque[float] = deque(maxlen=SERVER_TIMES)
        self._before = (0, 0)
        self._dropped: dict[str, int] = {}

    def answered(self, after_s: float) -> None:
        """A packet left `after_s` after the newest one that it can answer came."""
        self._server_s.append(after_s)

    def latency(self, jitter: JitterStats, rtt_s: float | None, relayed: bool | None) -> Latency:
        samples, concealed = self._before
        self._before = jitter.samples, jitter.concealed
        fresh = jitter.samples - samples
        return Latency(
            rtt_s=rtt_s,
            jitter_s=jitter.lateness_p95_s,
            server_s=median(self._server_s) if self._server_s else 0.0,
            concealed=(jitter.concealed - concealed) / fresh if fresh else 0.0,
            relayed=relayed,
        )

    def overloads(self, **dropped: int) -> list[Overload]:
        """From frames dropped so far at each place, those that were dropped since."""
        found = [
            Overload(where, frames - self._dropped.get(where, 0))
            for where, frames in dropped.items()
            if frames > self._dropped.get(where, 0)
        ]
        self._dropped = dropped
        return found
