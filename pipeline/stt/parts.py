"""What each of an utterance's streams heard, and the text this comes to."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.stt.seam import follow, join
from pipeline.stt.streams import Heard


@dataclass(slots=True, eq=False)
class Part:
    """One stream's. Positions count samples."""

    stream: int
    start: int
    """Of the first sample it was sent."""
    opened_s: float
    overlaps: bool
    """The part before it heard its beginning too."""
    sent: int = 0
    """Position just after what it was sent."""
    settled_until: int = 0
    until: int = 0
    heard_s: float | None = None
    """When the last result came."""
    settled: str = ""
    open: str = ""
    finish_by_s: float | None = None
    """It was told to finish, and is waited for until then."""
    over: bool = False
    whole: bool = False
    """It ended as it was told to."""

    def __post_init__(self) -> None:
        self.sent = self.settled_until = self.until = self.start

    @property
    def live(self) -> bool:
        """It is sent audio."""
        return not self.over and self.finish_by_s is None

    def hear(self, news: Heard, rate_hz: int, now: float) -> None:
        self.heard_s = now
        if news.settled:
            self.settled = follow(self.settled, news.settled)
            self.settled_until = self.start + round(news.settled_s * rate_hz)
        self.open = news.open
        self.until = max(self.settled_until, self.start + round(news.until_s * rate_hz))

    def forget_open(self) -> None:
        """The next one hears that again."""
        self.open, self.until = "", self.settled_until


def folded(parts: list[Part]) -> list[Part]:
    """The same with those in front that are over written as one."""
    over = list(itertools.takewhile(lambda part: part.over, parts))
    if len(over) < 2:
        return parts
    first = over[0]
    one = Part(first.stream, first.start, first.opened_s, first.overlaps, over=True)
    one.settled, one.until = said(over), max(part.until for part in over)
    return [one, *parts[len(over) :]]


def said(parts: Sequence[Part]) -> str:
    text = ""
    for part in parts:
        write = join if part.overlaps else follow
        text = write(text, follow(part.settled, part.open))
    return text
