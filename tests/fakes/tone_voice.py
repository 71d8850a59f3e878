"""A synthesizer whose every word is a tone, and a caller who talks with it, frame by frame."""

import math
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from pipeline.events import ReplyEnded
from pipeline.frontends.voice.face import Spoken
from pipeline.frontends.voice.voice import FRAME_SAMPLES, RATE_HZ, VoiceFrontEnd
from pipeline.replies import Replies
from pipeline.settings import VoiceSettings
from pipeline.types import (
    Command,
    Mode,
    OracleUpdate,
    Pcm,
    SessionConfig,
    SpeechEvent,
    SpeechKind,
    StepInput,
    StepOutput,
    silence,
)

WORD_S = 0.2
TONE_HZ = 190
LOUDNESS = 0.5
FRAME_S = FRAME_SAMPLES / RATE_HZ


class ToneVoice:
    """Implements Synthesizer: WORD_S of tone a word, ready after `delay_s` of collects."""

    def __init__(self, delay_s: float = 0.0, pause_s: float = 0.0) -> None:
        self.delay_s = delay_s
        self.pause_s = pause_s
        """Of silence after each clause."""
        self.asked: list[str] = []
        self.cancelled: list[str] = []
        self.failing = 0
        """So many of the next jobs fail."""
        self.unspeakable: str | None = None
        self._jobs: dict[int, tuple[float, str]] = {}
        self._now_s = 0.0

    def say(self, text: str, *, urgent: bool = False) -> int:
        self.asked.append(text)
        self._jobs[len(self.asked)] = (self._now_s + self.delay_s, text)
        return len(self.asked)

    def cancel(self, job: int) -> None:
        self.cancelled.append(self._jobs.pop(job)[1])

    def collect(self) -> list[Spoken]:
        self._now_s += FRAME_S
        due = [job for job, (ready_s, _) in self._jobs.items() if ready_s < self._now_s]
        return [self._finished(job, self._jobs.pop(job)[1]) for job in due]

    def shutdown(self) -> None:
        self._jobs.clear()

    def _finished(self, job: int, text: str) -> Spoken:
        if self.failing or text == self.unspeakable:
            self.failing = max(0, self.failing - 1)
            return Spoken(job, silence(0), True, "the worker was killed")
        speech = tone(WORD_S * len(text.split()))
        return Spoken(job, np.concatenate([speech, silence(int(self.pause_s * RATE_HZ))]), True)


def tone(seconds: float) -> Pcm:
    at = np.arange(int(seconds * RATE_HZ))
    return (LOUDNESS * np.sin(2 * np.pi * TONE_HZ * at / RATE_HZ)).astype(np.float32)


class Caller:
    """Slot 0 of a voice front-end: says when they speak, hears what is said."""

    def __init__(
        self,
        mode: Mode = Mode.TANDEM,
        voice: ToneVoice | None = None,
        settings: VoiceSettings | None = None,
    ) -> None:
        self.voice = voice or ToneVoice()
        self.front_end = VoiceFrontEnd(settings or VoiceSettings(), self.voice)
        for _ in range(10):
            self.front_end.step({})
        self.own_phrases = len(self.voice.asked)
        self.front_end.open(0, SessionConfig(mode=mode))
        self.outputs: list[StepOutput] = []
        self.ended: list[ReplyEnded] = []
        self._replies = Replies(RATE_HZ)
        self._epoch = 0
        self._waiting: dict[str, list[object]] = {"speech": [], "oracle": [], "commands": []}

    # What happens to it; all of it rides on the next frame.

    def started(self, utterance: int) -> None:
        self._event(SpeechKind.STARTED, utterance)

    def stopped(self, utterance: int) -> None:
        self._event(SpeechKind.STOPPED, utterance)

    def turn_ended(self, utterance: int) -> None:
        self._event(SpeechKind.TURN_ENDED, utterance)

    def retracted(self, utterance: int) -> None:
        self._event(SpeechKind.RETRACTED, utterance)

    def answer(
        self,
        text: str,
        utterance: int,
        *,
        epoch: int,
        final: bool = True,
        heard_until_s: float = math.inf,
    ) -> None:
        update = OracleUpdate(epoch, text, final, heard_until_s, "fake", utterance)
        self._waiting["oracle"].append(update)

    def confirm(self, utterance: int, *, epoch: int) -> None:
        """All said so far has been heard, and the answer stands."""
        self.answer("", utterance, epoch=epoch, final=False, heard_until_s=self.now_s)

    def stop(self) -> None:
        self._waiting["commands"].append(Command.STOP)

    def _event(self, kind: SpeechKind, utterance: int) -> None:
        self._waiting["speech"].append(SpeechEvent(kind, utterance, self.now_s))

    # Time.

    @property
    def now_s(self) -> float:
        return len(self.outputs) * FRAME_S

    def run(self, seconds: float) -> list[StepOutput]:
        return [self.step() for _ in range(round(seconds / FRAME_S))]

    def step(self) -> StepOutput:
        riding = {name: tuple(items) for name, items in self._waiting.items()}
        self._waiting = {name: [] for name in riding}
        frame = StepInput(silence(FRAME_SAMPLES), **riding)  # type: ignore[arg-type]
        position = len(self.outputs) * FRAME_SAMPLES
        output = replace(self.front_end.step({0: frame})[0], start_sample=position)
        self.outputs.append(output)
        events = self._replies.cut(position) if output.yielded else []
        self._replies.spoke(output)
        events += self._replies.sent(position + FRAME_SAMPLES, 0)
        self.ended.extend(event for event in events if isinstance(event, ReplyEnded))
        return output

    def ask(self, utterance: int) -> None:
        """Half a second of speech whose turn ends with the next frame."""
        self.started(utterance)
        self.run(0.5)
        self.stopped(utterance)
        self.turn_ended(utterance)

    # What it heard.

    @property
    def said(self) -> str:
        """All words so far, replies apart by a bar."""
        return "|".join(reply.text for reply in self.ended)

    @property
    def pcm(self) -> Pcm:
        return np.concatenate([output.pcm for output in self.outputs])


def words(outputs: Iterable[StepOutput]) -> str:
    return "".join(word.text for output in outputs for word in output.words)


def sounding(output: StepOutput) -> bool:
    return bool(np.abs(output.pcm).max() > 0.01)
