"""The answer to one turn of the user's: which clauses are recorded and said, and what a newer
epoch changes. Pure but for the studio it is given."""

import math
from collections import deque
from dataclasses import dataclass

from pipeline.frontends.voice.agreement import Verdict, agreement
from pipeline.frontends.voice.aloud import aloud
from pipeline.frontends.voice.answer import Answer
from pipeline.frontends.voice.clauses import LONG, SHORT
from pipeline.frontends.voice.phrases import Phrases
from pipeline.frontends.voice.studio import Clip, Studio
from pipeline.types import OracleUpdate

UNHEARD_S = 0.05
"""No word is this short: an answer that lacks no more than this has heard all."""


@dataclass(frozen=True, slots=True, eq=False)
class Clause:
    """What is said in one breath."""

    clip: Clip
    words: tuple[str, ...]
    epoch: int
    """0: not from the oracle."""


def own_words(clip: Clip) -> Clause:
    """A phrase of the voice's own."""
    return Clause(clip, tuple(clip.text.split()), epoch=0)


class Reply:
    def __init__(self, utterance: int, studio: Studio, phrases: Phrases) -> None:
        self.utterance = utterance
        self.answered = False
        """Some of the answer has been said."""
        self.ended_s = math.inf
        """When the user had said all it answers, media seconds; infinite: they still speak."""
        self._studio = studio
        self._phrases = phrases
        self._answer: Answer | None = None
        self._settled = True
        """The newest epoch has been compared with what was said."""
        self._said: list[str] = []
        """Words of the answer, up to the end of the clause being said."""
        self._saying: Clause | None = None
        self._ahead: deque[Clause] = deque()
        """Recorded, or being recorded, and to be said next."""
        self._corrections = 0

    @property
    def more(self) -> bool:
        """Something is or may be coming."""
        return bool(self._ahead) or self._answer is None or not self._answer.exhausted

    @property
    def informed(self) -> bool:
        """The answer knows all that the user said."""
        answer = self._answer
        return answer is not None and answer.heard_until_s >= self.ended_s - UNHEARD_S

    @property
    def recording(self) -> bool:
        """What is said next is being recorded."""
        return bool(self._ahead)

    def consult(self, update: OracleUpdate) -> None:
        """A piece of the oracle's answer; a newer epoch replaces what was not said yet."""
        if self._answer is None or update.epoch > self._answer.epoch:
            self._answer = Answer(update.epoch)
            self._compare_anew()
        if update.epoch == self._answer.epoch:
            self._answer.add(update)

    def prepare(self, clauses: int) -> None:
        """Have up to `clauses` recorded ahead of time."""
        if self._answer is None or not self._settle(self._answer):
            return
        while len(self._ahead) < clauses:
            waiting = not any(clause.epoch for clause in (*self._ahead, self._saying) if clause)
            text = self._answer.next_clause(SHORT if waiting else LONG)
            if text is None:
                return
            clip = self._studio.record(
                aloud(_intoned(text, self._answer.exhausted)), urgent=waiting
            )
            self._ahead.append(Clause(clip, tuple(text.split()), self._answer.epoch))

    def next(self) -> Clause | None:
        """What was being said has ended: the next clause, once it is recorded."""
        self._saying = None
        while self._ahead and self._ahead[0].clip.failed:
            self._ahead.popleft()
        if not self._ahead or not self._ahead[0].clip.ready:
            return None
        self._saying = self._ahead.popleft()
        if self._saying.epoch:
            self._said.extend(self._saying.words)
            self.answered = True
        else:
            self._said.clear()  # "Actually,": what comes now stands for itself
            self._corrections += 1
        return self._saying

    def interrupt(self) -> None:
        """The clause being said was cut off: it is the next to be said."""
        cut, self._saying = self._saying, None
        if cut is None or not cut.epoch:
            return
        del self._said[-len(cut.words) :]
        if self._answer is not None and self._answer.epoch == cut.epoch:
            self._ahead.appendleft(cut)
        else:
            self._compare_anew()

    def discard(self) -> None:
        """Nothing of it will be said any more."""
        while self._ahead:
            clause = self._ahead.popleft()
            if clause.epoch:  # the voice's own phrases belong to all
                self._studio.drop(clause.clip)

    def _compare_anew(self) -> None:
        self.discard()
        self._settled = not self._said
        if self._answer is not None:
            self._answer.at = 0

    def _settle(self, answer: Answer) -> bool:
        """Find where in a newer answer to go on; False: too little of it is there."""
        if self._settled:
            return True
        verdict = agreement(self._said, answer.text, final=answer.final)
        if verdict is Verdict.UNDECIDED:
            return False
        if verdict is Verdict.CONTRADICTS:
            clips = self._phrases.corrections
            self._ahead.append(own_words(clips[self._corrections % len(clips)]))
        else:
            answer.at = verdict
        self._settled = True
        return True


def _intoned(text: str, last: bool) -> str:
    """A clause without a mark at its end would be spoken as if broken off."""
    return text if not text[-1].isalnum() else text + ("." if last else ",")
