"""When a turn starts, pauses and ends: windows and words in, SpeechEvents out.

    idle ──speech──▶ speaking ──quiet──▶ paused ──long enough──▶ idle
                        ▲                  │
                        └──── goes on ─────┘

How long is long enough is predicted from the words so far (endpoint.py).

A reply may begin while an utterance is still open: to something typed, or because noise holds it
open. Who then speaks over it is told of as a start, like any other.
"""

from collections.abc import Callable

from pipeline.hearing.endpoint import Endpoint, is_backchannel, is_interjection
from pipeline.hearing.speech import Onset, Window
from pipeline.types import SpeechEvent, SpeechKind, Transcript

QUIET_WINDOWS = 3
"""Quiet windows that make a pause: 96 ms; the closure of a "t" is shorter."""
QUIET_DB = 30.0
"""This far below the utterance's level is quiet, whatever the slower VAD says."""
REPLY_HEARD_S = 0.7
"""A listener may still hear, or react to, what was played this long ago."""
REPLY_GAP_S = 0.1
"""A reply that makes so short a pause is still audible."""
LEVEL_FALL = 0.02
"""How fast the utterance's level falls towards that of later windows, share a window."""


class Turn:
    """One microphone's turns. Utterance numbers come from `next_utterance`."""

    def __init__(self, next_utterance: Callable[[], int], endpoint: Endpoint) -> None:
        self._next_utterance, self._endpoint = next_utterance, endpoint
        self._onset, self._again = Onset(), _resumption()
        self._over = Onset()
        """Of speech over a reply, while an utterance is open."""
        self._utterance = 0
        self._now_s = 0.0
        self._open = False
        """An utterance has started and its turn has not ended."""
        self._began_s = 0.0
        self._stopped_s: float | None = None
        """End of speech, while paused."""
        self._quiet = 0
        self._last_loud_s = 0.0
        self._level_db = 0.0
        self._words: Transcript | None = None
        self._during_reply = False

    def heard(self, window: Window, since_reply_s: float) -> list[SpeechEvent]:
        """`since_reply_s`: how long ago something audible was played last."""
        self._now_s = window.end_s
        if not self._open:
            return self._idle(window, since_reply_s < REPLY_HEARD_S)
        if self._stopped_s is None:
            over = self._over_reply(window, since_reply_s < REPLY_GAP_S)
            return over + self._speaking(window)
        return self._paused(window)

    def understood(self, words: Transcript) -> list[SpeechEvent]:
        """The newest transcript of an utterance, partial or final."""
        if words.utterance != self._utterance:
            return []
        if not self._open:
            nothing = words.final and self._nothing_to_answer(words)
            return [self._event(SpeechKind.RETRACTED, words.end_s)] if nothing else []
        self._words = words
        return self._maybe_ended()

    def _idle(self, window: Window, during_reply: bool) -> list[SpeechEvent]:
        began_s = self._onset.push(window)
        if began_s is None:
            return []
        self._utterance, self._open, self._words = self._next_utterance(), True, None
        self._began_s, self._during_reply = began_s, during_reply
        self._resume(window)
        return [self._event(SpeechKind.STARTED, began_s)]

    def _resume(self, window: Window) -> None:
        self._stopped_s, self._quiet = None, 0
        self._last_loud_s, self._level_db = window.end_s, window.level_db
        self._over = _persistence()

    def _over_reply(self, window: Window, reply: bool) -> list[SpeechEvent]:
        """Does what goes on go on over a reply, as speech?"""
        if not reply:
            self._over = Onset()
            return []
        began_s = self._over.push(window)
        if began_s is None:
            return []
        self._over = _persistence()
        return [self._event(SpeechKind.STARTED, began_s)]

    def _speaking(self, window: Window) -> list[SpeechEvent]:
        if window.likely and window.level_db > self._level_db - QUIET_DB:
            self._quiet, self._last_loud_s = 0, window.end_s
            fallen_db = self._level_db + LEVEL_FALL * (window.level_db - self._level_db)
            self._level_db = max(window.level_db, fallen_db)
            return []
        self._quiet += 1
        if self._quiet < QUIET_WINDOWS:
            return []
        self._stopped_s = self._last_loud_s
        self._again = _resumption()
        return [self._event(SpeechKind.STOPPED, self._stopped_s)]

    def _paused(self, window: Window) -> list[SpeechEvent]:
        began_s = self._again.push(window)
        if began_s is not None:
            self._resume(window)
            return [self._event(SpeechKind.STARTED, began_s)]
        return self._maybe_ended()

    def _maybe_ended(self) -> list[SpeechEvent]:
        stopped_s, words = self._stopped_s, self._words
        if stopped_s is None or self._again.trying:
            return []
        covered = words is not None and words.end_s >= stopped_s
        wait_s = self._endpoint.wait_s(None)
        if words is not None and covered:
            wait_s = max(self._endpoint.wait_s(words.text, words.ends), self._hold_s(words))
        if self._now_s - stopped_s < wait_s:
            return []
        self._open = False
        nothing = words is not None and covered and self._nothing_to_answer(words)
        kind = SpeechKind.RETRACTED if nothing else SpeechKind.TURN_ENDED
        return [self._event(kind, stopped_s)]

    def _hold_s(self, words: Transcript) -> float:
        """ "Stop." is a turn of its own, but over a reply seldom all: who has just been silenced
        must not fall into "… How many legs does a spider have?"."""
        interjected = self._during_reply and is_interjection(words.text)
        return self._endpoint.wait_s(None) if interjected else 0.0

    def _nothing_to_answer(self, words: Transcript) -> bool:
        return not words.text or (self._during_reply and is_backchannel(words.text))

    def _event(self, kind: SpeechKind, at_s: float) -> SpeechEvent:
        return SpeechEvent(kind, self._utterance, at_s)


def _resumption() -> Onset:
    """Who has been heard to speak needs less to be believed."""
    return Onset(need=2, need_articulate=1)


def _persistence() -> Onset:
    """What was told is told again if after 0.3 s a reply still does not yield, or is another."""
    return Onset(need=10)
