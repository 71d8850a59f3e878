"""Who speaks when: the turn-taking of one slot, driven by frames alone.

While the user speaks, a *draft* collects the oracle's answer and has its first clause recorded
(in tandem). When their turn ends it becomes the *current* reply and is said, once its answer is
known to have heard all their words. The reply that it displaced is kept until the new one has
something to say: should the user's turn turn out to have been a cough, the old one goes on where
it was cut off.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from pipeline.frontends.voice.mouth import Mouth
from pipeline.frontends.voice.phrases import Phrases, next_ready
from pipeline.frontends.voice.reply import Clause, Reply, own_words
from pipeline.frontends.voice.studio import Studio
from pipeline.types import (
    Command,
    Mode,
    OracleUpdate,
    SpeechEvent,
    SpeechKind,
    StepInput,
    StepOutput,
)

PATIENCE_S = 8.0
"""An answer that has not come, or not gone on, after this time is given up."""

INFORMED_S = 3.0
"""An answer to what was heard in part is said after all if nothing more is heard for so long."""

HOLD_S = 0.1
"""An opener waits so much longer for an answer that is being recorded already: it would delay
what is about to be there."""

AHEAD = 2
"""Clauses recorded ahead: enough for no gap, few to throw away when a newer answer comes."""


@dataclass(frozen=True, slots=True)
class Pace:
    """All but the rate in samples of the slot's output."""

    rate_hz: int
    frame: int
    opener: int
    """From the user's falling silent until an opener stands in for the answer."""
    hold: int
    """So much longer if the answer is being recorded."""
    informed: int
    """From there until an answer that may not have heard all is said."""
    patience: int


class TurnTaking:
    def __init__(
        self, mode: Mode, studio: Studio, phrases: Phrases, pace: Pace, first_opener: int = 0
    ) -> None:
        self._tandem = mode is Mode.TANDEM
        self._studio, self._phrases, self._pace = studio, phrases, pace
        self._mouth = Mouth(pace.frame, pace.rate_hz)
        self._draft: Reply | None = None
        """Answers what the user is saying; None: they are silent."""
        self._current: Reply | None = None
        self._displaced: Reply | None = None
        self._idle = 0
        """Samples for which the current reply has had nothing to say."""
        self._silent = 0
        """Samples since the user fell silent."""
        self._opener = first_opener
        """Index of the one said last."""
        self._may_open = self._may_apologise = False
        self._audible = False
        """In a reply: something of it was said and more is coming."""
        self._cut = False
        """The reply was cut off in this frame."""

    def step(self, step: StepInput) -> StepOutput:
        for command in step.commands:
            if command is Command.STOP:
                self._stop()
        self._listen(step.speech)
        for update in step.oracle:
            self._consult(update)
        self._prepare()
        return self._yield() if self._cut else self._speak()

    def close(self) -> None:
        for reply in (self._draft, self._current, self._displaced):
            if reply is not None:
                reply.discard()

    # What the user does.

    def _listen(self, events: Iterable[SpeechEvent]) -> None:
        for event in events:
            match event.kind:
                case SpeechKind.STARTED:
                    self._silent = 0
                    self._started(event.utterance)
                case SpeechKind.STOPPED:
                    self._silent = 0
                case SpeechKind.TURN_ENDED:
                    self._turn_ended(event.utterance, event.at_s)
                case SpeechKind.RETRACTED:
                    self._retracted(event.utterance)

    def _started(self, utterance: int) -> None:
        self._hush()
        if self._draft is None or self._draft.utterance != utterance:
            self._draft = self._replace(self._draft, utterance)

    def _turn_ended(self, utterance: int, at_s: float) -> None:
        draft, self._draft = self._draft, None
        if draft is None or draft.utterance != utterance:
            if self._current is not None and self._current.utterance == utterance:
                return
            draft = self._replace(draft, utterance)
        self._hush()
        self._displace()
        self._current = draft
        self._current.ended_s = at_s
        self._idle = 0
        self._may_open, self._may_apologise = self._tandem, True

    def _retracted(self, utterance: int) -> None:
        if self._draft is not None and self._draft.utterance == utterance:
            self._draft.discard()
            self._draft = None
        elif (current := self._current) and current.utterance == utterance and not current.answered:
            current.discard()
            self._current, self._displaced = self._displaced, None
        self._idle = 0

    def _stop(self) -> None:
        self._hush()
        for reply in (self._current, self._displaced):
            if reply is not None:
                reply.discard()
        self._current = self._displaced = None

    def _hush(self) -> None:
        if not self._audible:
            return
        self._audible = False
        self._cut = True
        if self._current is not None and not self._mouth.rests:
            self._current.interrupt()

    def _replace(self, reply: Reply | None, utterance: int) -> Reply:
        if reply is not None:
            reply.discard()
        return Reply(utterance, self._studio, self._phrases)

    def _displace(self) -> None:
        if self._current is not None and self._current.more:
            if self._displaced is not None:
                self._displaced.discard()
            self._displaced = self._current

    # What the oracle knows.

    def _consult(self, update: OracleUpdate) -> None:
        for reply in (self._draft, self._current, self._displaced):
            if reply is not None and update.utterance in (reply.utterance, 0):
                reply.consult(update)
                return

    def _prepare(self) -> None:
        if self._draft is None and self._current is not None:
            self._current.prepare(AHEAD if self._may_answer(self._current) else 1)
        elif self._draft is not None and self._tandem:
            self._draft.prepare(1)

    # What is said.

    def _yield(self) -> StepOutput:
        self._cut = False
        return StepOutput(self._mouth.cut(), yielded=True)

    def _speak(self) -> StepOutput:
        pcm, words, sounding = self._mouth.frame(self._next_clause)
        self._idle = 0 if sounding else self._idle + self._pace.frame
        self._silent += self._pace.frame
        self._audible = sounding or (self._audible and self._goes_on())
        if not self._audible:
            self._mouth.end()
        return StepOutput(pcm, words, speaking=self._audible)

    def _goes_on(self) -> bool:
        current = self._current
        return current is not None and current.more and self._idle < self._pace.patience

    def _next_clause(self) -> Clause | None:
        if self._draft is not None or self._current is None:
            return None
        clause = self._current.next() if self._may_answer(self._current) else None
        clause = clause or self._stand_in()
        if self._current.answered and self._displaced is not None:
            self._displaced.discard()
            self._displaced = None
        return clause

    def _may_answer(self, reply: Reply) -> bool:
        return reply.answered or reply.informed or self._silent >= self._pace.informed

    def _stand_in(self) -> Clause | None:
        """An opener or an apology, for an answer that does not come."""
        assert self._current is not None
        if self._current.answered:
            return None
        if self._may_apologise and self._idle >= self._pace.patience:
            self._may_apologise = self._may_open = False
            return own_words(self._phrases.apology) if self._phrases.apology.ready else None
        if self._may_open and self._silent >= self._pace.opener + self._held(self._current):
            return self._open()
        return None

    def _held(self, reply: Reply) -> int:
        return self._pace.hold if reply.recording and self._may_answer(reply) else 0

    def _open(self) -> Clause | None:
        opener = next_ready(self._phrases.openers, self._opener)
        if opener is None:
            return None
        self._opener, self._may_open = opener, False
        return own_words(self._phrases.openers[opener])
