"""One utterance, as streams of a recogniser hear it: what is sent to which, and what was said.

As long as all goes well that is one stream, from just before the onset to the end of the turn.
If it breaks off, the next one begins where the words are settled and hears the rest again; what
the broken one had not settled is forgotten. Where that would be too much, or where a stream has
to be renewed because it is old, the next begins a little before the end of the last, and the two
are joined by their words (seam.py).
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from pipeline.errors import ServiceError
from pipeline.stt.parts import Part, folded, said
from pipeline.stt.streams import Doing, Drop, Finish, Heard, Lost, Open, Send, Times
from pipeline.stt.tape import Tape
from pipeline.types import AudioFrame, Transcript


@dataclass(slots=True, eq=False)
class Streamed:
    """`now` is loop time; positions count samples at `rate_hz`."""

    number: int
    start: int
    rate_hz: int
    times: Times
    new_stream: Callable[[], int]
    complete: bool = False
    """Its final can be told."""
    _tape: Tape = field(init=False)
    _parts: list[Part] = field(default_factory=list)
    _text: str = ""
    """As told last."""
    _reached: int = 0
    """Up to where whoever listens has heard."""
    _stopped: int | None = None
    _ended_s: float | None = None
    _settle_at_s: float | None = None
    _all_heard: bool = False
    """Nothing was spoken after the last words, up to the stop."""
    _lively_s: float = 0.0
    """Since when somebody speaks without a pause."""
    _doubted: bool = False
    """A stream heard nothing: perhaps there is nothing to hear."""

    def __post_init__(self) -> None:
        self._tape = Tape(self._samples(self.times.replay), self.start, self.start)
        self._reached = self.start

    def begin(self, before: Iterable[AudioFrame], now: float) -> list[Doing]:
        for frame in before:
            self._tape.append(frame)
        self._lively_s = now
        return self._open(self.start, now)

    def listen(self, frame: AudioFrame, now: float) -> list[Doing]:
        self._tape.append(frame)
        last = self._parts[-1]
        due = last.live and self._tape.end - last.sent >= self._samples(self.times.chunk)
        return [*(self._send(last) if due else []), *self.poll(now)]

    def stop(self, at: int, now: float) -> list[Doing]:
        self._stopped, self._settle_at_s = at, now + self.times.settle
        return self._send(self._parts[-1]) if self._parts[-1].live else []

    def resume(self, now: float) -> None:
        self._stopped, self._settle_at_s = None, None
        self._all_heard, self._lively_s = False, now

    def end(self, at: int, now: float) -> list[Doing]:
        """The turn is over: a final is owed."""
        self._stopped, self._ended_s, self._settle_at_s = at, now, None
        return self._finish(self._parts[-1], now) if self._parts[-1].live else []

    def owns(self, stream: int) -> bool:
        return any(part.stream == stream and not part.over for part in self._parts)

    def heard(self, news: Heard, now: float) -> list[Doing]:
        part = self._part(news.stream)
        part.hear(news, self.rate_hz, now)
        if self._settle_at_s is not None:
            self._settle_at_s = now + self.times.settle
        told = self._tell()
        old = part.live and now - part.opened_s >= self.times.renew
        return [*told, *(self._replace(part, now) if news.settled and old else [])]

    def lost(self, loss: Lost, now: float) -> list[Doing]:
        part = self._part(loss.stream)
        part.over = True
        part.whole = loss.error is None and part.finish_by_s is not None
        if part.whole:
            self._note_complete()
            return []
        error = loss.error or ServiceError("stt", "The STT ends its streams at once.")
        return self._broke_off(part, error, now)

    def forget_streams(self) -> None:
        """They are gone, whatever became of them."""
        for part in self._parts:
            part.over = True
        self._note_complete()

    def reopen(self, now: float) -> list[Doing]:
        """Let a new stream hear what the last one has not settled."""
        last = self._parts[-1]
        if self.complete:
            return []
        if self._ended_s is not None and now - self._ended_s >= self.times.stale:
            return self.give_up()
        if self._tape.start <= last.settled_until:
            made = self._open_after(last, now)
        else:
            overlap = last.until - self._samples(self.times.overlap)
            made = self._open(max(overlap, self._tape.start), now, overlaps=True)
        return made if self._ended_s is None else made + self._finish(self._parts[-1], now)

    def give_up(self) -> list[Doing]:
        """What is known is all there will be."""
        open_ = [part for part in self._parts if not part.over]
        self.forget_streams()
        self.complete = True
        return [Drop(part.stream) for part in open_]

    def transcript(self, final: bool) -> Transcript:
        until = max(part.until for part in self._parts)
        # A stream that hears some of it again must come as far first.
        text = said(self._parts) if until >= self._reached else self._text
        until = max(until, self._reached)
        end = until
        if self._stopped is not None and (final or self._all_heard):
            end = max(until, self._stopped)
        self._text, self._reached = text, until
        rate = self.rate_hz
        return Transcript(text, self.start / rate, end / rate, final, self.number)

    def deadline(self) -> float | None:
        return min((at_s for at_s, _ in self._due()), default=None)

    def poll(self, now: float) -> list[Doing]:
        made: list[Doing] = []
        while due := [do for at_s, do in self._due() if at_s <= now]:
            made += due[0](now)
        return made

    def _due(self) -> list[tuple[float, Callable[[float], list[Doing]]]]:
        due: list[tuple[float, Callable[[float], list[Doing]]]] = []
        if self._settle_at_s is not None and self._text:
            due.append((self._settle_at_s, self._settle))
        late = [part.finish_by_s for part in self._parts if not part.over and part.finish_by_s]
        if late:
            due.append((min(late), self._stop_waiting))
        last = self._parts[-1]
        if last.live:
            due.append((last.opened_s + self.times.limit, self._renew))
            if self._stopped is None and not (self._doubted and last.heard_s is None):
                lively_s = max(last.opened_s, last.heard_s or last.opened_s, self._lively_s)
                due.append((lively_s + self.times.silent, self._doubt))
        return due

    def _settle(self, now: float) -> list[Doing]:
        self._settle_at_s, self._all_heard = None, True
        return self._tell()

    def _stop_waiting(self, now: float) -> list[Doing]:
        late = next(p for p in self._parts if not p.over and p.finish_by_s and p.finish_by_s <= now)
        if late is self._parts[-1]:
            deaf = late.heard_s is None and not self._doubted
            return self._doubt(now) if deaf else self.give_up()
        late.over = True
        error = ServiceError("stt", "The STT does not finish its streams.")
        return [Drop(late.stream), *self._broke_off(late, error, now)]

    def _broke_off(self, part: Part, error: ServiceError, now: float) -> list[Doing]:
        """It has not settled all that it was sent."""
        at = self._parts.index(part)
        later = self._parts[at + 1 :]
        if later and part.until >= later[0].start:  # the next one has heard what is missing
            self._note_complete()
            return []
        self._parts = self._parts[: at + 1]
        made: list[Doing] = [Drop(each.stream) for each in later if not each.over]
        lived = now - part.opened_s >= self.times.proven
        silent = part.heard_s is None and self._stopped is None
        if not part.settled and (silent or not lived):
            return [*made, error]
        return [*made, *self.reopen(now)]

    def _renew(self, now: float) -> list[Doing]:
        last, overlaps = self._parts[-1], self._stopped is None
        start = self._tape.end - self._samples(self.times.overlap)
        if self._stopped is not None:  # in a pause there is nothing to cut
            start = (self._stopped + self._tape.end) // 2
        if start <= last.settled_until:
            return self._replace(last, now)
        return [*self._finish(last, now), *self._open(start, now, overlaps)]

    def _doubt(self, now: float) -> list[Doing]:
        last = self._parts[-1]
        last.over = True
        if last.heard_s is not None:
            return [Drop(last.stream), *self.reopen(now)]
        self._doubted = True
        error = ServiceError("stt", "The STT takes in speech but gives no results.")
        return [Drop(last.stream), error]

    def _replace(self, part: Part, now: float) -> list[Doing]:
        part.over = True
        return [Drop(part.stream), *self._open_after(part, now)]

    def _open_after(self, part: Part, now: float) -> list[Doing]:
        """Where its words are settled."""
        part.forget_open()
        return self._open(part.settled_until, now, part.overlaps and not part.settled)

    def _open(self, start: int, now: float, overlaps: bool = False) -> list[Doing]:
        part = Part(self.new_stream(), start, now, overlaps)
        self._parts = [*folded(self._parts), part]
        return [Open(part.stream), *self._send(part)]

    def _send(self, part: Part) -> list[Doing]:
        pcm = self._tape.since(part.sent)
        part.sent = max(part.sent, self._tape.end)
        return [Send(part.stream, pcm)] if len(pcm) else []

    def _finish(self, part: Part, now: float) -> list[Doing]:
        made = self._send(part)
        part.finish_by_s = now + self.times.final
        return [*made, Finish(part.stream)]

    def _note_complete(self) -> None:
        over = self._ended_s is not None and all(part.over for part in self._parts)
        self.complete = self.complete or (over and self._parts[-1].whole)

    def _tell(self) -> list[Doing]:
        """Unless whoever listens has heard further already."""
        if max(part.until for part in self._parts) < self._reached:
            return []
        return [self.transcript(final=False)]

    def _part(self, stream: int) -> Part:
        return next(part for part in self._parts if part.stream == stream)

    def _samples(self, seconds: float) -> int:
        return round(seconds * self.rate_hz)
