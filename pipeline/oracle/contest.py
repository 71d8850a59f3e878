"""Which of several LLMs are asked, and whose answer is taken: a timed core.

In a fallback they are asked one after the other, each when the one before it has failed; in a
hedge all at once, and an arbiter takes one of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.errors import ServiceError
from pipeline.oracle.arbiter import Answer, Arbiter, Verdict


@dataclass(frozen=True, slots=True)
class Piece:
    """Something an LLM has said."""

    entrant: int
    text: str


@dataclass(frozen=True, slots=True)
class Ended:
    """An LLM has said all, or failed."""

    entrant: int
    error: ServiceError | None = None


@dataclass(frozen=True, slots=True)
class Start:
    """Ask this one."""

    entrant: int


@dataclass(frozen=True, slots=True)
class Drop:
    """Ask this one no more."""

    entrant: int


@dataclass(frozen=True, slots=True)
class Take:
    """This one's answer is the answer."""

    entrant: int
    why: str
    over: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Say:
    """The answer goes on."""

    text: str


Came = Piece | Ended
Move = Start | Drop | Take | Say


class Contest:
    """One question."""

    def __init__(
        self,
        names: Sequence[str],
        arbiter: Arbiter,
        *,
        hedge: bool,
        barred: Sequence[ServiceError] = (),
        lately: Sequence[str] = (),
    ) -> None:
        """`names`: the entrants, best liked first; `barred`: why others are not among them;
        `lately`: why some of them come last."""
        self._answers = [Answer(name) for name in names]
        self._arbiter = arbiter
        self._hedge = hedge
        self._next = 0
        self._errors = list(barred)
        self._lately = tuple(lately)
        self._winner: int | None = None
        self.over = False
        self.error: ServiceError | None = None
        """Why there is no answer, or no more of it."""

    def begin(self) -> list[Move]:
        if not self._answers:
            return self._give_up()
        return [self._start() for _ in (self._answers if self._hedge else self._answers[:1])]

    def push(self, came: Came, now: float) -> list[Move]:
        answer = self._answers[came.entrant]
        if not answer.running:
            return []  # dropped, and this was on its way
        if isinstance(came, Ended):
            return self._ended(came, answer, now)
        if came.entrant == self._winner:
            return [Say(came.text)]
        answer.text += came.text
        if answer.began_s is None:
            answer.began_s = now
        return self._judge(now)

    def deadline(self) -> float | None:
        return None if self._winner is not None else self._arbiter.deadline(self._answers)

    def poll(self, now: float) -> list[Move]:
        return self._judge(now)

    def _start(self) -> Start:
        self._answers[self._next].running = True
        self._next += 1
        return Start(self._next - 1)

    def _ended(self, ended: Ended, answer: Answer, now: float) -> list[Move]:
        answer.running = False
        if ended.entrant == self._winner:
            self.over, self.error = True, ended.error
            return []
        if ended.error is None:
            return self._judge(now)
        answer.text, answer.began_s = "", None
        self._errors.append(ended.error)
        if self._next < len(self._answers):
            return [self._start()]
        if any(each.running or each.text for each in self._answers):
            return self._judge(now)
        return self._give_up()

    def _give_up(self) -> list[Move]:
        self.over = True
        if len(self._errors) == 1:
            self.error = self._errors[0]
        else:
            wait_s = min(error.retry_after_s for error in self._errors)
            self.error = ServiceError("llm", " ".join(map(str, self._errors)), retry_after_s=wait_s)
        return []

    def _judge(self, now: float) -> list[Move]:
        if self._winner is not None:
            return []
        verdict = self._arbiter.judge(self._answers, now)
        return [] if verdict is None else self._take(verdict)

    def _take(self, verdict: Verdict) -> list[Move]:
        winner = self._winner = verdict.winner
        others = [i for i, each in enumerate(self._answers) if i != winner]
        beaten = [i for i in others if self._answers[i].running or self._answers[i].text]
        running = [i for i in others if self._answers[i].running]
        for i in running:
            self._answers[i].running = False
        why = " ".join((*self._lately, *map(str, self._errors), verdict.why))
        over = tuple(self._answers[i].name for i in beaten)
        self.over = not self._answers[winner].running
        said = Say(self._answers[winner].text)
        return [*map(Drop, running), Take(winner, why, over), said]
