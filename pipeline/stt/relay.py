"""Which audio goes to which stream, and which words belong to which utterance.

The pure half of an STT that streams to somebody else's recogniser. Each utterance has its own
stream, opened at its onset with the audio from just before, and told to finish when the turn
ends. So the final comes when *our* hearing says that the turn is over, words belong to the
utterance on whose stream they came, and in silence there is no stream that could be aborted
or charged for.
"""

import itertools
from collections import deque

from pipeline.stt.face import Listened
from pipeline.stt.streamed import Streamed
from pipeline.stt.streams import Doing, Done, Heard, Lost, Over, Times
from pipeline.types import AudioFrame, SpeechEvent, SpeechKind, Transcript

Learnt = Listened | Heard | Lost | Over


class Relay:
    """One conversation's; a TimedCore."""

    def __init__(self, rate_hz: int, times: Times | None = None) -> None:
        self._rate_hz, self._times = rate_hz, times or Times()
        self._streams = itertools.count(1)
        self._recent: deque[AudioFrame] = deque()
        self._turns: deque[Streamed] = deque()
        """Those that lack their final; the last may still go on."""
        self._open: Streamed | None = None
        """The one that is being spoken."""
        self._taken = 0
        """Position up to which audio belongs to turns that are over."""
        self._over = False

    def push(self, item: Learnt, now: float) -> list[Doing]:
        match item:
            case AudioFrame():
                made = self._listen(item, now)
            case SpeechEvent():
                made = self._note(item, now)
            case Heard():
                turn = self._owner(item.stream)
                made = turn.heard(item, now) if turn else []
            case Lost():
                turn = self._owner(item.stream)
                made = turn.lost(item, now) if turn else []
            case Over():
                made, self._over = [], True
        return made + self._finals()

    def deadline(self) -> float | None:
        return min((at_s for t in self._turns if (at_s := t.deadline()) is not None), default=None)

    def poll(self, now: float) -> list[Doing]:
        return [each for turn in self._turns for each in turn.poll(now)] + self._finals()

    def forget_streams(self) -> None:
        """All are gone; the audio is not."""
        for turn in self._turns:
            turn.forget_streams()

    def reopen(self, now: float) -> list[Doing]:
        """After `forget_streams`: go on where the words were settled."""
        return [each for turn in self._turns for each in turn.reopen(now)] + self._finals()

    def _listen(self, frame: AudioFrame, now: float) -> list[Doing]:
        assert frame.rate_hz == self._rate_hz
        self._recent.append(frame)
        oldest = frame.pts - 2 * self._times.preroll * self._rate_hz
        while self._recent[0].pts < oldest:
            self._recent.popleft()
        return self._open.listen(frame, now) if self._open else []

    def _note(self, event: SpeechEvent, now: float) -> list[Doing]:
        at = round(event.at_s * self._rate_hz)
        known = self._open if self._open and self._open.number == event.utterance else None
        if event.kind is SpeechKind.STARTED:
            return self._started(known, event, now)
        if known is None:
            return self._unheard(event)
        if event.kind is SpeechKind.STOPPED:
            return known.stop(at, now)
        self._open = None
        self._taken = at
        if event.kind is SpeechKind.TURN_ENDED:
            return known.end(at, now)
        self._turns.remove(known)
        return known.give_up()

    def _started(self, known: Streamed | None, event: SpeechEvent, now: float) -> list[Doing]:
        if known is not None:
            known.resume(now)
            return []
        from_ = max(self._taken, (event.at_s - self._times.preroll) * self._rate_hz)
        before = [frame for frame in self._recent if frame.pts >= from_]
        start = before[0].pts if before else round(event.at_s * self._rate_hz)
        turn = Streamed(
            event.utterance, start, self._rate_hz, self._times, lambda: next(self._streams)
        )
        self._turns.append(turn)
        self._open = turn
        return turn.begin(before, now)

    def _unheard(self, event: SpeechEvent) -> list[Doing]:
        """It began before we listened: its turn still gets a final, though an empty one."""
        if event.kind is not SpeechKind.TURN_ENDED:
            return []
        return [Transcript("", event.at_s, event.at_s, True, event.utterance)]

    def _owner(self, stream: int) -> Streamed | None:
        return next((turn for turn in self._turns if turn.owns(stream)), None)

    def _finals(self) -> list[Doing]:
        made: list[Doing] = []
        while self._turns and self._turns[0].complete:
            made.append(self._turns.popleft().transcript(final=True))
        if self._over and all(turn is self._open for turn in self._turns):
            made.append(Done())
        return made
