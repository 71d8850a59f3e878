"""What rides on a frame outlives it: when a frame has to go, the next one carries on."""

from dataclasses import replace
from functools import reduce

from pipeline.types import OracleUpdate, StepInput

MOST_EVENTS = 64
"""Speech events and commands a frame can carry: minutes of talk, should steps never come."""


def carried(shed: StepInput, heir: StepInput) -> StepInput:
    """`heir` with what rode on `shed`, in the order it came."""
    return replace(
        heir,
        speech=(*shed.speech, *heir.speech)[-MOST_EVENTS:],
        commands=(*shed.commands, *heir.commands)[-MOST_EVENTS:],
        oracle=_joined((*shed.oracle, *heir.oracle)),
    )


def _joined(updates: tuple[OracleUpdate, ...]) -> tuple[OracleUpdate, ...]:
    """The newest epoch's text in one piece: however much is shed, one update is carried."""
    newest = max((update.epoch for update in updates), default=0)
    pieces = [update for update in updates if update.epoch == newest]
    return (reduce(OracleUpdate.joined, pieces),) if pieces else ()
