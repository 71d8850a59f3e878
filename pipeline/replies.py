"""What the assistant really said: a pure core between the engine's output and playout.

The engine tells what it means to play, playout what left. Only the latter is told to the page
and goes into history, so a reply that is cut off ends at the last word that started to play.
"""

from collections import deque
from dataclasses import dataclass

from pipeline.events import ReplyEnded, ReplyStarted, ReplyWord
from pipeline.types import StepOutput, Word

ReplyEvent = ReplyStarted | ReplyWord | ReplyEnded


@dataclass(frozen=True, slots=True)
class _Mark:
    """Something that happens when playout reaches `sample`."""

    sample: int
    what: Word | bool
    """A word that starts, or speaking that begins (True) or ends (False)."""


class Replies:
    """Positions are samples of the slot's output, at the engine's rate."""

    def __init__(self, rate_hz: int, first_reply: int = 1) -> None:
        self._rate_hz = rate_hz
        self._next = first_reply
        self._marks: deque[_Mark] = deque()
        self._speaking = False
        self._open: _Reply | None = None

    @property
    def audible(self) -> bool:
        """True while the listener hears a reply."""
        return self._open is not None

    @property
    def next_reply(self) -> int:
        return self._next

    def spoke(self, output: StepOutput) -> None:
        """The engine made `output`."""
        if output.speaking and not self._speaking:
            self._marks.append(_Mark(output.start_sample, True))
        self._marks.extend(_Mark(word.start_sample, word) for word in output.words)
        if self._speaking and not output.speaking:
            self._marks.append(_Mark(output.start_sample, False))
        self._speaking = output.speaking

    def sent(
        self, until_sample: int, utterance: int, response_s: float | None = None
    ) -> list[ReplyEvent]:
        """Everything before `until_sample` has left for the listener.

        `utterance` is what a reply that starts here answers, `response_s` how long it took.
        """
        events: list[ReplyEvent] = []
        while self._marks and self._marks[0].sample < until_sample:
            mark = self._marks.popleft()
            events.extend(self._reached(mark, utterance, response_s))
        return events

    def cut(self, sent_sample: int) -> list[ReplyEvent]:
        """What was queued after `sent_sample` will never be played."""
        events = self.sent(sent_sample, utterance=0)
        self._marks.clear()
        self._speaking = False
        if self._open is not None:
            events.append(self._open.ended(sent_sample, self._rate_hz, cut=True))
            self._open = None
        return events

    def _reached(self, mark: _Mark, utterance: int, response_s: float | None) -> list[ReplyEvent]:
        if mark.what is True:
            self._open = _Reply(self._next, mark.sample)
            self._next += 1
            return [ReplyStarted(self._open.number, utterance, response_s)]
        if self._open is None:
            return []
        if isinstance(mark.what, Word):
            self._open.text += mark.what.text
            return [ReplyWord(self._open.number, mark.what.text, mark.what.epoch)]
        ended = self._open.ended(mark.sample, self._rate_hz, cut=False)
        self._open = None
        return [ended]


@dataclass(slots=True)
class _Reply:
    number: int
    start_sample: int
    text: str = ""

    def ended(self, at_sample: int, rate_hz: int, *, cut: bool) -> ReplyEnded:
        played_s = max(0, at_sample - self.start_sample) / rate_hz
        return ReplyEnded(self.number, self.text, cut, played_s)
