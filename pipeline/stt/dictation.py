"""What to decode when: the pure half of an STT that decodes whole pieces of audio.

The utterance so far is decoded over and over: cheap for the seconds people speak at a time, and
each partial profits from all that came before. A long turn is cut at its quietest spot, and
the text before the cut stays as it is, so that no piece grows beyond LONGEST_S.
"""

from collections import deque
from dataclasses import dataclass, field

import numpy as np

from pipeline.stt.clean import clean
from pipeline.stt.face import Listened
from pipeline.types import AudioFrame, Pcm, SpeechEvent, SpeechKind, Transcript, silence

PREROLL_S = 0.5
"""Audio decoded from before the onset: VADs are late, and soft consonants come first."""
EVERY_S = 0.5
"""New speech that is worth another partial."""
LULL_S = 0.06
"""A gap that is worth one at once: it may be the end, and then every millisecond counts."""
AGAIN_S = 0.25
"""A pause so long is worth another look: models miss a word that ends where their audio does."""
LULL_DB = 25.0
"""How far below the loudest frame of late a gap is."""
FADE = 0.99
"""How fast that loudness is forgotten, a frame."""
LOAD = 2.0
"""Partials take at most this part of the time: one in so many decode times."""
LONGEST_S = 8.0
KEEP_S = 2.0
"""What a cut leaves at the end, so that the words just spoken can still change."""
QUIET_S = 0.15
"""Length of the quiet spot that is looked for."""
NEAR_SILENCE = 2e-3
"""RMS that the loudest 20 ms must reach (−54 dB); below it models invent words."""


@dataclass(frozen=True, slots=True, eq=False)
class Job:
    """Audio to decode."""

    pcm: Pcm
    utterance: int
    until: int
    """Position just after its last sample, samples."""
    keeps: bool
    """The text is settled: what follows is decoded apart from it."""


@dataclass(slots=True, eq=False)
class _Utterance:
    number: int
    start: int
    """Position of its first sample."""
    from_: int
    """Position of the first sample that is still open to change."""
    audio: list[AudioFrame] = field(default_factory=list)
    settled: str = ""
    text: str = ""
    """Of what lies after `from_`."""
    until: int = 0
    """What `text` covers."""
    stopped: int | None = None
    ended: bool = False
    loud: float = 0.0
    """Peak mean square of late."""
    spoken: int = 0
    """Position just after the last frame that was not a gap."""
    told: bool = True
    """Whoever listens knows `until`."""

    def listen(self, frame: AudioFrame) -> None:
        self.audio.append(frame)
        power = float(np.mean(frame.pcm**2))
        self.loud = max(power, FADE * self.loud)
        if power > self.loud * 10 ** (-LULL_DB / 10):
            self.spoken = frame.pts + len(frame.pcm)

    def settle(self, lull: int) -> None:
        """Once `lull` samples of a gap are decoded, the rest of it up to the stop holds nothing."""
        if self.stopped is not None and self.spoken + lull <= self.until < self.stopped:
            self.until, self.told = self.stopped, False

    def said(self) -> str:
        return " ".join(filter(None, (self.settled, self.text)))


@dataclass(slots=True)
class Dictation:
    """One conversation's audio and words. Positions count samples at `rate_hz`."""

    rate_hz: int
    _recent: deque[AudioFrame] = field(default_factory=deque)
    _utterances: deque[_Utterance] = field(default_factory=deque)
    """Those that lack their final; the last may still go on."""
    _now: int = 0
    _pause: float = EVERY_S

    def push(self, item: Listened) -> None:
        if isinstance(item, AudioFrame):
            self._listen(item)
        else:
            self._note(item)

    def next_job(self) -> Job | None:
        """What should be decoded now, if anything."""
        for utterance in self._utterances:
            if self._due(utterance):
                return self._job(utterance)
        return None

    def known(self) -> list[Transcript]:
        """Transcripts that need no decoding any more: finals of turns that are over, and the words
        there are of who has just stopped. Told once."""
        made = []
        for utterance in self._utterances:
            if not (utterance.told or utterance.ended):
                made.append(self._transcript(utterance, final=False))
            utterance.told = True
        while self._utterances and self._settled(self._utterances[0]):
            made.append(self._transcript(self._utterances.popleft(), final=True))
        return made

    def decoded(self, job: Job, text: str, took_s: float) -> list[Transcript]:
        """`job` came to `text`; it took `took_s`, waiting for its turn included."""
        self._pause = max(EVERY_S, LOAD * took_s)
        for utterance in self._utterances:
            if utterance.number == job.utterance:
                return self._learnt(utterance, job, clean(text))
        return []

    @property
    def _lull(self) -> int:
        return round(LULL_S * self.rate_hz)

    def _learnt(self, utterance: _Utterance, job: Job, text: str) -> list[Transcript]:
        utterance.until = job.until
        if job.keeps:
            utterance.settled = " ".join(filter(None, (utterance.settled, text)))
            utterance.from_, utterance.text = job.until, ""
            return []
        utterance.text = text
        utterance.settle(self._lull)
        utterance.told = True
        return [] if self._settled(utterance) else [self._transcript(utterance, final=False)]

    def _listen(self, frame: AudioFrame) -> None:
        assert frame.rate_hz == self.rate_hz
        self._now = frame.pts + len(frame.pcm)
        self._recent.append(frame)
        while self._recent[0].pts < self._now - 2 * PREROLL_S * self.rate_hz:
            self._recent.popleft()
        if self._utterances and not self._utterances[-1].ended:
            self._utterances[-1].listen(frame)

    def _note(self, event: SpeechEvent) -> None:
        last = self._utterances[-1] if self._utterances else None
        known = last if last is not None and last.number == event.utterance else None
        if event.kind is SpeechKind.STARTED:
            self._started(known, event)
        elif known is None:
            self._unheard(event)
        elif event.kind is SpeechKind.RETRACTED:
            self._utterances.remove(known)
        else:
            known.stopped = round(event.at_s * self.rate_hz)
            known.ended = event.kind is SpeechKind.TURN_ENDED
            known.settle(self._lull)

    def _started(self, known: _Utterance | None, event: SpeechEvent) -> None:
        if known is not None:
            known.stopped = None
            return
        start = round((event.at_s - PREROLL_S) * self.rate_hz)
        audio = [frame for frame in self._recent if frame.pts >= start]
        begin = audio[0].pts if audio else self._now
        utterance = _Utterance(event.utterance, begin, begin)
        for frame in audio:
            utterance.listen(frame)
        self._utterances.append(utterance)

    def _unheard(self, event: SpeechEvent) -> None:
        """It began before a restart: its turn still gets a final, though an empty one."""
        if event.kind is SpeechKind.TURN_ENDED:
            at = round(event.at_s * self.rate_hz)
            self._utterances.append(
                _Utterance(event.utterance, at, at, until=at, stopped=at, ended=True)
            )

    def _due(self, utterance: _Utterance) -> bool:
        if utterance.stopped is not None:
            again = utterance.stopped + round(AGAIN_S * self.rate_hz)
            waits = not utterance.ended and utterance.until < again <= self._now
            return utterance.until < utterance.stopped or waits
        begun = max(utterance.until, utterance.start)
        if utterance.until < utterance.spoken + self._lull <= self._now:
            return True
        return self._now - begun >= self._pause * self.rate_hz

    def _settled(self, utterance: _Utterance) -> bool:
        return utterance.ended and not self._due(utterance)

    def _job(self, utterance: _Utterance) -> Job:
        frames = [frame for frame in utterance.audio if frame.pts >= utterance.from_]
        utterance.audio = frames
        pcm = _joined(frames)
        keeps = len(pcm) > LONGEST_S * self.rate_hz
        if keeps:
            cut = frames[0].pts + self._quietest(pcm)
            frames = [frame for frame in frames if frame.pts < cut]
            pcm = _joined(frames)
        # Not the sum of their lengths: audio may have been dropped between them.
        end = frames[-1].pts + len(frames[-1].pcm) if frames else utterance.from_
        if not keeps:
            end = max(end, utterance.stopped or 0)
        return Job(pcm, utterance.number, end, keeps)

    def _quietest(self, pcm: Pcm) -> int:
        """Where to cut: the middle of the quietest spot of its second half."""
        first = len(pcm) // 2
        part = pcm[first : len(pcm) - int(KEEP_S * self.rate_hz)]
        span = int(QUIET_S * self.rate_hz)
        energy = np.convolve(part**2, np.ones(span, np.float32), "valid")
        return first + int(np.argmin(energy)) + span // 2

    def _transcript(self, utterance: _Utterance, *, final: bool) -> Transcript:
        start_s, end_s = utterance.start / self.rate_hz, utterance.until / self.rate_hz
        return Transcript(utterance.said(), start_s, end_s, final, utterance.number)


def _joined(frames: list[AudioFrame]) -> Pcm:
    return np.concatenate([silence(0), *(frame.pcm for frame in frames)])


def near_silence(pcm: Pcm) -> bool:
    """Is there nothing in these samples (16 kHz) that could be words?"""
    pieces = pcm[: len(pcm) // 320 * 320].reshape(-1, 320)
    return not len(pieces) or float(np.mean(pieces**2, axis=1).max()) < NEAR_SILENCE**2
