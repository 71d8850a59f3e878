"""Figures over all questions of a mode. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from server.bench.judge import Judged


@dataclass(frozen=True, slots=True)
class Spread:
    """Percentiles in milliseconds; None: nothing to measure."""

    p50: float | None
    p95: float | None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of one question."""

    judged: Judged | None
    """None: the call failed."""
    answered: bool
    """The STT found a word of the right answer in what was said."""
    paused: bool
    """The speaker paused in mid-sentence."""


@dataclass(frozen=True, slots=True)
class ModeResult:
    questions: int
    answered: int
    first_audio_ms: Spread
    first_answer_word_ms: Spread
    pause_takeover_rate: float | None
    """Share of the paused questions in which a reply began before the user had ended."""
    opener_rate: float
    false_starts: int
    """Answers begun that were taken back, or cut off as the user went on."""
    pause_split_rate: float | None
    """Share of the paused questions whose turn was taken to be over in the pause."""
    failed_calls: int
    """Never connected, or ended early: not answered, and in no other figure."""
    fixed_silence_s: float | None
    """What ends every turn; None: the words decide."""


def summary(verdicts: Sequence[Verdict], fixed_silence_s: float | None) -> ModeResult:
    """`verdicts`: one or more."""
    judged = [verdict.judged for verdict in verdicts if verdict.judged]
    paused = [verdict.judged for verdict in verdicts if verdict.judged and verdict.paused]
    return ModeResult(
        questions=len(verdicts),
        answered=sum(verdict.answered for verdict in verdicts),
        first_audio_ms=spread([each.first_audio_s for each in judged]),
        first_answer_word_ms=spread([each.first_answer_word_s for each in judged]),
        pause_takeover_rate=share([each.took_over for each in paused]),
        opener_rate=share([each.opener for each in judged]) or 0.0,
        false_starts=sum(each.false_start for each in judged),
        pause_split_rate=share([each.split for each in paused]),
        failed_calls=len(verdicts) - len(judged),
        fixed_silence_s=fixed_silence_s,
    )


def spread(times_s: Sequence[float | None]) -> Spread:
    """Of the times that there are."""
    known = [1000 * each for each in times_s if each is not None]
    if not known:
        return Spread(None, None)
    return Spread(*(round(float(np.percentile(known, q))) for q in (50, 95)))


def share(flags: Sequence[bool]) -> float | None:
    return round(sum(flags) / len(flags), 3) if flags else None
