"""What is asked of the streams of a recogniser, and what comes from them.

Streams are numbered. All waits are in `Times`, so that a test can have an hour in a second.
"""

from dataclasses import dataclass

from pipeline.errors import ServiceError
from pipeline.types import Pcm, Transcript


@dataclass(frozen=True, slots=True)
class Times:
    """How long what may take; seconds."""

    preroll: float = 0.5
    """Audio sent from before the onset: VADs are late, and soft consonants come first."""
    chunk: float = 0.1
    """Audio sent at once: what Google recommends."""
    renew: float = 240.0
    """Age from which a stream is renewed at its next settled result, where nothing overlaps."""
    limit: float = 285.0
    """Age at which it is renewed anyhow: Google ends it at 300 (v2) or 305 (v1)."""
    overlap: float = 2.0
    replay: float = 30.0
    """Most audio that is kept to be heard again."""
    proven: float = 2.0
    """A stream that gave results and lived so long, or settled some, is replaced without ado."""
    silent: float = 6.0
    """Speech without a single result: the stream is dead, or it was no speech."""
    settle: float = 0.3
    """No news for so long after a stop: the words there are, are all."""
    final: float = 3.0
    """Longest wait for the last result of a stream that was told to finish."""
    stale: float = 30.0
    """Nobody waits for the words of a turn that ended so long ago."""


@dataclass(frozen=True, slots=True)
class Open:
    stream: int


@dataclass(frozen=True, slots=True, eq=False)
class Send:
    stream: int
    pcm: Pcm


@dataclass(frozen=True, slots=True)
class Finish:
    """No more audio comes: the stream shall settle what it has, and end."""

    stream: int


@dataclass(frozen=True, slots=True)
class Drop:
    """Nobody listens to the stream any more."""

    stream: int


@dataclass(frozen=True, slots=True)
class Heard:
    """A result. Times count seconds of the audio that the stream was sent."""

    stream: int
    settled: str
    """Words that will not change any more, since the last such ones."""
    settled_s: float
    """Where they end; of use only with them."""
    open: str
    """Words after those, which may change."""
    until_s: float
    """Where all of them end."""


@dataclass(frozen=True, slots=True)
class Lost:
    """A stream ended."""

    stream: int
    error: ServiceError | None = None
    """None: the other side thinks that all is well."""


class Unexplained(ServiceError):
    """A stream broke, and why was not to be learnt from it."""


@dataclass(frozen=True, slots=True)
class Over:
    """No more audio comes from whoever speaks."""


@dataclass(frozen=True, slots=True)
class Done:
    """Nor does anybody wait for words."""


Doing = Open | Send | Finish | Drop | Done | Transcript | ServiceError
"""What a core wants done; an error: it cannot go on by itself."""
