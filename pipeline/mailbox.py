"""What waits to ride a conversation's next frame to the front-end.

An oracle of a higher epoch *is* the reset: it replaces what waited, so no two answers mix and
no reset can be lost. Pieces of the same epoch are joined, so one update waits at the most.
"""

from pipeline.types import AudioFrame, Command, OracleUpdate, SpeechEvent, StepInput

MOST_EVENTS = 64
"""Speech events and commands that can wait: minutes of talk, should an engine stand still."""


class Mailbox:
    """Filled between frames, emptied by each."""

    def __init__(self) -> None:
        self._speech: list[SpeechEvent] = []
        self._commands: list[Command] = []
        self._oracle: OracleUpdate | None = None

    def speech(self, event: SpeechEvent) -> None:
        self._speech = [*self._speech, event][-MOST_EVENTS:]

    def command(self, command: Command) -> None:
        self._commands = [*self._commands, command][-MOST_EVENTS:]

    def oracle(self, update: OracleUpdate) -> None:
        waiting = self._oracle
        if waiting is None or update.epoch > waiting.epoch:
            self._oracle = update
        elif update.epoch == waiting.epoch:
            self._oracle = waiting.joined(update)

    def next_input(self, frame: AudioFrame) -> StepInput:
        """`frame` with everything that waited."""
        step = StepInput(
            pcm=frame.pcm,
            speech=tuple(self._speech),
            oracle=(self._oracle,) if self._oracle else (),
            commands=tuple(self._commands),
            concealed=frame.concealed,
        )
        self._speech, self._commands, self._oracle = [], [], None
        return step
