"""How far a stream of samples is ahead of real time: a pure core shared by both directions."""


class Pace:
    """Counts samples against seconds."""

    def __init__(self, rate_hz: int) -> None:
        self.position = 0
        """Samples so far."""
        self._rate_hz = rate_hz
        self._zero_s: float | None = None

    @property
    def started(self) -> bool:
        return self._zero_s is not None

    def start(self, now: float) -> None:
        """Real time and the stream are level at `now`; later calls change nothing."""
        if self._zero_s is None:
            self._zero_s = now

    def align(self, now: float, ahead: int) -> None:
        """From now on the stream counts as `ahead` samples ahead."""
        self._zero_s = now - (self.position - ahead) / self._rate_hz

    def advance(self, samples: int) -> None:
        self.position += samples

    def ahead(self, now: float) -> int:
        """Samples ahead of real time; negative: behind."""
        return self.position - round((now - self._zero()) * self._rate_hz)

    def when(self, ahead: int) -> float:
        """The second at which the stream, left alone, will be only `ahead` samples ahead."""
        return self._zero() + (self.position - ahead) / self._rate_hz

    def slip(self, now: float, behind: int) -> None:
        """Forget lost time beyond `behind` samples: it will not be caught up with."""
        lost = -self.ahead(now) - behind
        if lost > 0:
            self._zero_s = self._zero() + lost / self._rate_hz

    def _zero(self) -> float:
        assert self._zero_s is not None, "not started"
        return self._zero_s
