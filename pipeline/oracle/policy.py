"""When the LLM is asked: a timed core.

It is asked while the user still speaks, so that the answer is there when they are done. Each
ask has an epoch of its own; epochs only rise, and a newer ask cancels the one before it.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from pipeline.events import Typed
from pipeline.hearing.grammar import can_be_all
from pipeline.oracle.words import words
from pipeline.settings import OracleSettings
from pipeline.types import Mode, SpeechEvent, SpeechKind, Transcript


@dataclass(frozen=True, slots=True)
class Ask:
    """Put this to the LLM."""

    epoch: int
    utterance: int
    text: str
    """What the user has said in this utterance so far."""
    heard_until_s: float
    """Media seconds the text knows of."""


@dataclass(frozen=True, slots=True)
class Cancel:
    """The answer of this epoch is not wanted any more."""

    epoch: int


@dataclass(frozen=True, slots=True)
class Confirm:
    """More was heard, and the answer of this epoch stands: they were the same words."""

    epoch: int
    utterance: int
    heard_until_s: float


@dataclass(frozen=True, slots=True)
class AnswerNow:
    """A client wants an answer to what there is (response.create), if need be a second one."""


@dataclass(frozen=True, slots=True)
class Answered:
    """The LLM has said all of this epoch."""

    epoch: int


@dataclass(frozen=True, slots=True)
class Failed:
    """The LLM failed in this epoch."""

    epoch: int
    retry_after_s: float = 0.0
    """What it asked for; 0: nothing."""
    at_once: bool = False
    """Another one is ready to be asked."""


PolicyInput = SpeechEvent | Transcript | Typed | AnswerNow | Answered | Failed
Action = Ask | Confirm | Cancel


@dataclass(frozen=True, slots=True)
class _Question:
    utterance: int
    text: str
    heard_until_s: float = 0.0
    """Infinite: there is no more to come."""

    def same_words(self, other: "_Question | None") -> bool:
        return (
            other is not None
            and other.utterance == self.utterance
            and words(other.text) == words(self.text)
        )


_NOTHING = _Question(0, "")


class Policy:
    """`owes` tells whether an utterance still waits for its answer to be spoken (History)."""

    def __init__(
        self,
        settings: OracleSettings,
        owes: Callable[[int], bool],
        mode: Mode = Mode.TANDEM,
        language: str = "en-US",
        next_epoch: int = 1,
    ) -> None:
        self.mode = mode
        self.language = language
        self._settings = settings
        self._owes = owes
        self._next_epoch = next_epoch
        self._heard = _NOTHING
        """The newest words, asked or not."""
        self._before = _NOTHING
        """The last words of the utterance before."""
        self._asked: _Question | None = None
        self._asked_s = float("-inf")
        """When a question was last asked, repeats included."""
        self._new_s = 0.0
        """When it was asked for the first time."""
        self._running: int | None = None
        """Epoch of the answer that is still coming."""
        self._due_s: float | None = None
        """When `_heard` is to be asked."""
        self._rest_until_s = float("-inf")
        """A failed LLM is not asked on a mere partial before this."""
        self._failures = 0
        self._silent = False
        """The user has stopped speaking, perhaps for good."""

    def push(self, item: PolicyInput, now: float) -> list[Action]:
        if self.mode is Mode.S2S:
            return []
        match item:
            case SpeechEvent():
                return self._speech(item, now)
            case Transcript():
                return self._transcript(item, now)
            case Typed():
                self._hear(_Question(item.utterance, item.text, math.inf))
                return self._ask(now)
            case AnswerNow():
                self._heard = replace(self._heard, heard_until_s=math.inf)
                return self._ask(now)
            case Answered():
                self._answered(item.epoch)
            case Failed():
                self._failed(item, now)
        return []

    def deadline(self) -> float | None:
        return self._due_s

    def poll(self, now: float) -> list[Action]:
        if self._due_s is None or now < self._due_s:
            return []
        return self._ask(now)

    def rest(self) -> None:
        """The call was lost: nothing is coming and nothing is due. Epochs go on rising."""
        self._running = self._due_s = None

    def _speech(self, event: SpeechEvent, now: float) -> list[Action]:
        if event.kind is SpeechKind.RETRACTED:
            return self._retract(event.utterance, now)
        self._silent = event.kind is not SpeechKind.STARTED
        # What was heard before a stop is worth asking at once: the turn has probably ended.
        return self._consider(now) if self._silent and self._speculates else []

    def _transcript(self, heard: Transcript, now: float) -> list[Action]:
        if not words(heard.text) or heard.utterance < self._heard.utterance:
            return []
        self._hear(_Question(heard.utterance, heard.text, heard.end_s))
        if heard.final:
            self._silent = True
        elif not self._speculates:
            return []
        return self._consider(now)

    @property
    def _speculates(self) -> bool:
        return self.mode is Mode.TANDEM

    def _hear(self, question: _Question) -> None:
        if question.utterance != self._heard.utterance:
            self._before = self._heard
        self._heard = question

    def _consider(self, now: float) -> list[Action]:
        """Ask now, later, or not at all."""
        if not self._heard.text:
            return []
        if self._asked is not None and self._heard.same_words(self._asked):
            return self._confirm(self._asked)
        if self._silent:
            return self._ask(now)
        # An answer to half a sentence is of no use, and takes the CPU from those who hear the rest.
        if not can_be_all(self._heard.text, self.language):
            if not self._has_failed:
                self._due_s = None
            return []
        if not self._has_grown():
            return []
        budget_s = self._asked_s + self._settings.partial_interval_s
        self._due_s = max(budget_s, self._rest_until_s)
        return self.poll(now)

    def _has_grown(self) -> bool:
        """There are enough new words to be worth an ask; rewording is not growth."""
        count = len(words(self._heard.text))
        asked = self._asked
        if asked is None or asked.utterance != self._heard.utterance:
            return count >= self._settings.partial_words
        return count > len(words(asked.text))

    def _ask(self, now: float) -> list[Action]:
        actions = self._cancel()
        if not self._heard.same_words(self._asked):
            self._new_s = now
        self._asked, self._asked_s, self._due_s = self._heard, now, None
        self._running = self._next_epoch
        self._next_epoch += 1
        heard = self._heard
        return [*actions, Ask(self._running, heard.utterance, heard.text, heard.heard_until_s)]

    def _confirm(self, asked: _Question) -> list[Action]:
        if self._heard.heard_until_s <= asked.heard_until_s:
            return []
        self._asked = heard = self._heard
        return [Confirm(self._next_epoch - 1, heard.utterance, heard.heard_until_s)]

    def _cancel(self) -> list[Action]:
        running, self._running = self._running, None
        return [] if running is None else [Cancel(running)]

    def _retract(self, utterance: int, now: float) -> list[Action]:
        """It was nothing: the question that it pushed aside is asked again."""
        if utterance != self._heard.utterance:
            return []
        self._heard, self._before = self._before, _NOTHING
        self._silent, self._due_s = True, None
        was_asked = self._asked is not None and self._asked.utterance == utterance
        if not was_asked and not self._has_failed:
            return []
        self._asked = None
        if self._heard.text and self._owes(self._heard.utterance):
            return self._ask(now)
        return self._cancel()

    @property
    def _has_failed(self) -> bool:
        """The last ask has, and is to be repeated."""
        return self._failures > 0 and self._running is None

    def _answered(self, epoch: int) -> None:
        if epoch == self._running:
            self._running, self._failures, self._rest_until_s = None, 0, float("-inf")

    def _failed(self, failure: Failed, now: float) -> None:
        if failure.epoch != self._running:
            return
        self._running = None
        if failure.at_once:
            self._due_s = now
            return
        wait_s = self._settings.retry_s * 2.0 ** min(self._failures, 16)
        wait_s = max(min(wait_s, self._settings.retry_cap_s), failure.retry_after_s)
        self._failures += 1
        self._rest_until_s = now + wait_s
        if self._rest_until_s < self._new_s + self._settings.give_up_s:
            self._due_s = self._rest_until_s
