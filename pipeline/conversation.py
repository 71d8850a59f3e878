"""One conversation: what was heard and said, and what happens next.

It outlives peers and slots. It owns the history, the utterance numbers, the oracle (and with
it the epochs), what waits for the front-end, and the one stream of events. Everything here
runs on the event loop and returns at once.
"""

import asyncio
from collections import deque
from dataclasses import dataclass
from itertools import count

from pipeline.channel import Channel, Full
from pipeline.clock import Clock
from pipeline.events import (
    Configured,
    Event,
    Heard,
    Latency,
    ReplyStarted,
    ReplyWord,
    Speech,
    Typed,
)
from pipeline.mailbox import Mailbox
from pipeline.oracle.history import History
from pipeline.oracle.ledger import Ledger
from pipeline.oracle.oracle import Oracle, OracleNews
from pipeline.oracle.policy import AnswerNow
from pipeline.replies import Replies, ReplyEvent
from pipeline.types import (
    AudioFrame,
    Command,
    OracleUpdate,
    SessionConfig,
    SpeechEvent,
    SpeechKind,
    StepInput,
    StepOutput,
    Transcript,
)

EVENTS = 1024
"""Events that may wait for the server's writer; the oldest is dropped then, and counted."""

TIMELINE = 256
"""Events kept to be looked at afterwards."""


@dataclass(frozen=True, slots=True)
class Happened:
    """An event and when it was noted."""

    at_s: float
    """Seconds since the conversation began."""
    event: Event


class Conversation:
    def __init__(
        self, call_id: str, config: SessionConfig, oracle: Oracle, history: History, clock: Clock
    ) -> None:
        self.call_id = call_id
        self.config = config
        self.oracle = oracle
        self.events = Channel[Happened]("events", EVENTS, Full.DROP_OLDEST)
        self.timeline: deque[Happened] = deque(maxlen=TIMELINE)
        self.stt_changed = asyncio.Event()
        """Set when another STT is asked for; whoever runs it clears it."""
        self._history = history
        self._clock = clock
        self._began_s = self.active_s = clock()
        self._utterances = count(1)
        self._mailbox = Mailbox()
        self._ledger = Ledger()
        self._written: Typed | None = None
        self._replies = Replies(rate_hz=1)
        self._sent_sample, self._media_zero_s = 0, 0.0
        self._asked_s: float | None = None
        self._utterance = 0

    def attach(self, rate_hz: int) -> None:
        """A slot of an engine that runs at `rate_hz` begins; media time is zero again.

        What was written before waits for it.
        """
        self._replies = Replies(rate_hz, self._replies.next_reply)
        self._sent_sample, self._media_zero_s = 0, 0.0

    def detach(self) -> None:
        """The slot is gone: what it had not played, or not even been told, will not be said."""
        self.cut(self._sent_sample)
        self._mailbox = Mailbox()
        self._asked_s, self._utterance = None, 0

    @property
    def speaking(self) -> bool:
        """The listener hears a reply."""
        return self._replies.audible

    def next_utterance(self) -> int:
        return next(self._utterances)

    def media_s(self, now: float) -> float:
        """Where the microphone's audio is at loop time `now`."""
        return now - self._media_zero_s

    # What comes in from hearing, STT, the keyboard and the oracle.

    def heard_frame(self, frame: AudioFrame) -> StepInput:
        """The microphone's next frame, with all that waited for it."""
        self._media_zero_s = frame.arrived_s - frame.end_s
        return self._mailbox.next_input(frame)

    def heard_speech(self, event: SpeechEvent) -> None:
        self._utterance = event.utterance
        if event.kind is SpeechKind.STOPPED:
            self._asked_s = event.at_s + self._media_zero_s
        elif event.kind is not SpeechKind.TURN_ENDED:
            self._asked_s = None
        self.note(Speech(event))
        if event.kind is SpeechKind.RETRACTED:
            self._history.retracted(event.utterance)
        self._mailbox.speech(event)
        self.oracle.inbox.offer(event)

    def heard_words(self, transcript: Transcript) -> None:
        if transcript.text:  # partials too: the turn's place is before a reply that begins early
            self._history.heard(transcript.utterance, transcript.text)
        self.note(Heard(transcript))
        self.oracle.inbox.offer(transcript)

    def wrote(self, text: str, item_id: str = "") -> None:
        """The user wrote `text`; it is answered when they ask for it."""
        self._written = Typed(text, self.next_utterance(), item_id)
        self._history.heard(self._written.utterance, text)
        self.note(self._written)

    def answer_now(self) -> None:
        """The user wants an answer, to what they wrote or once more to what they said.

        It interrupts what is being said, as a spoken question does.
        """
        asked, self._written = self._written, None
        self._utterance = asked.utterance if asked else self._history.newest_utterance
        self._asked_s = self._clock()
        at_s = self.media_s(self._asked_s)
        for kind in (SpeechKind.STARTED, SpeechKind.TURN_ENDED):
            self._mailbox.speech(SpeechEvent(kind, self._utterance, at_s))
        self.oracle.inbox.offer(asked or AnswerNow())

    def heard_less(self, reply: int, text: str) -> None:
        """The listener's own player stopped after `text` of a reply."""
        self._history.played(reply, text, complete=False)

    def stop(self) -> None:
        """Whatever is being said, say no more of it."""
        self._mailbox.command(Command.STOP)

    def oracle_news(self, news: OracleNews) -> None:
        if not isinstance(news, OracleUpdate):
            self.note(news)
            return
        during_reply = self._replies.audible
        self.note(*self._ledger.received(news.epoch, news.text, during_reply=during_reply))
        self._mailbox.oracle(news)

    def configure(self, config: SessionConfig, *changed: str) -> None:
        """New settings, in force from the next question on."""
        self.config = config
        if "stt" in changed:
            self.stt_changed.set()
        self.note(Configured(changed))

    # What goes out through the engine and playout.

    def spoke(self, output: StepOutput) -> None:
        """The front-end's next frame."""
        self._replies.spoke(output)

    def sent(self, until_sample: int) -> None:
        """Playout has sent everything before `until_sample`."""
        self._sent_sample = until_sample
        took_s = None if self._asked_s is None else self._clock() - self._asked_s
        self._played(self._replies.sent(until_sample, self._utterance, took_s))

    def cut(self, sent_sample: int) -> None:
        """The reply was cut off: nothing after `sent_sample` will be played."""
        self._played(self._replies.cut(sent_sample))

    def _played(self, events: list[ReplyEvent]) -> None:
        for event in events:
            self.note(event)
            if isinstance(event, ReplyStarted):
                self._asked_s = None
                self._history.played(event.reply, "", complete=False)
            elif isinstance(event, ReplyWord):
                self._ledger.spoken(event.epoch)
            else:
                self._history.played(event.reply, event.text, complete=not event.cut)
                self.note(*self._ledger.settle())

    def note(self, *events: Event) -> None:
        """Append to the stream of events; the oldest goes if nobody reads it."""
        for event in events:
            happened = Happened(self._clock() - self._began_s, event)
            if isinstance(event, Heard | Typed | ReplyWord):
                self.active_s = self._clock()
            if not isinstance(event, Latency):
                self.timeline.append(happened)
            self.events.offer(happened)
