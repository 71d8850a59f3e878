"""The contract of streaming text-to-speech, as the engine's thread sees it."""

from dataclasses import dataclass
from typing import Protocol

from pipeline.types import Pcm


@dataclass(frozen=True, slots=True, eq=False)
class Spoken:
    """A finished piece of speech."""

    job: int
    pcm: Pcm
    """At the engine's rate."""
    last: bool
    """Nothing more comes for this job."""
    failed: str = ""
    """Why there is no audio, if so."""


class Synthesizer(Protocol):
    """Never blocks: jobs go in, pieces of speech are collected later, in any order of jobs."""

    def say(self, text: str, *, urgent: bool = False) -> int:
        """Queue `text`, get the job's number. Urgent jobs (openers, first clauses) go first."""

    def cancel(self, job: int) -> None:
        """Its audio is not wanted any more."""

    def collect(self) -> list[Spoken]:
        """What was finished since the last call."""

    def shutdown(self) -> None: ...
