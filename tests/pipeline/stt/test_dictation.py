"""What is decoded when; the decoder here reads the audio's own level as a word."""

import numpy as np

from pipeline.stt.dictation import AGAIN_S, EVERY_S, PREROLL_S, Dictation, Job
from pipeline.types import AudioFrame, SpeechEvent, SpeechKind, Transcript

RATE_HZ = 16_000
FRAME = 320


class Desk:
    """Drives a Dictation frame by frame; every job is decoded at once."""

    def __init__(self, took_s: float = 0.0) -> None:
        self.core, self.now, self.took_s = Dictation(RATE_HZ), 0, took_s
        self.jobs: list[tuple[float, Job]] = []
        self.told: list[Transcript] = []

    @property
    def now_s(self) -> float:
        return self.now / RATE_HZ

    def hear(self, seconds: float, level: float) -> "Desk":
        for _ in range(round(seconds * RATE_HZ / FRAME)):
            pcm = np.full(FRAME, level, np.float32)
            self.core.push(AudioFrame(pcm, RATE_HZ, self.now, 0.0))
            self.now += FRAME
            self.work()
        return self

    def tell(self, kind: SpeechKind, utterance: int = 1, at_s: float | None = None) -> "Desk":
        self.core.push(SpeechEvent(kind, utterance, self.now_s if at_s is None else at_s))
        self.work()
        return self

    def work(self) -> None:
        while job := self.core.next_job():
            self.jobs.append((self.now_s, job))
            text = f"word{len(self.jobs)}"
            self.told += self.core.decoded(job, text, self.took_s)
        self.told += self.core.known()


def test_audio_before_the_onset_is_decoded_too() -> None:
    desk = Desk().hear(2.0, 0.0).hear(0.2, 0.1).tell(SpeechKind.STARTED, at_s=2.0).hear(1.0, 0.1)
    assert desk.told[0].start_s == 2.0 - PREROLL_S
    _, job = desk.jobs[0]
    assert np.count_nonzero(job.pcm == 0) == PREROLL_S * RATE_HZ


def test_partials_come_at_a_steady_pace_and_one_at_once_in_a_lull() -> None:
    desk = Desk().tell(SpeechKind.STARTED).hear(2.1, 0.1)
    assert len(desk.jobs) == 2.0 / EVERY_S
    desk.hear(0.1, 0.0)
    assert len(desk.jobs) == 2.0 / EVERY_S + 1
    assert desk.jobs[-1][0] - 2.1 < 0.08


def test_a_slow_machine_makes_fewer_partials() -> None:
    fast = Desk(took_s=0.05).tell(SpeechKind.STARTED).hear(6.0, 0.1)
    slow = Desk(took_s=0.5).tell(SpeechKind.STARTED).hear(6.0, 0.1)
    assert len(slow.jobs) <= len(fast.jobs) / 1.8


def test_nothing_is_decoded_in_silence() -> None:
    desk = Desk().tell(SpeechKind.STARTED).hear(1.0, 0.1).tell(SpeechKind.STOPPED)
    before = len(desk.jobs)
    desk.hear(2.0, 0.0)
    assert len(desk.jobs) <= before + 1


def test_the_final_is_the_last_partial_if_nobody_spoke_since() -> None:
    desk = Desk().tell(SpeechKind.STARTED).hear(1.0, 0.1).hear(0.1, 0.0)
    desk.tell(SpeechKind.STOPPED, at_s=1.0)
    jobs = len(desk.jobs)
    desk.hear(0.1, 0.0).tell(SpeechKind.TURN_ENDED, at_s=1.0)
    assert len(desk.jobs) == jobs
    assert desk.told[-1].final and desk.told[-1].text == desk.told[-2].text
    assert desk.told[-1].end_s >= 1.0


def test_a_pause_that_lasts_is_used_to_look_at_its_last_word_once_more() -> None:
    desk = Desk().tell(SpeechKind.STARTED).hear(1.0, 0.1).hear(0.1, 0.0)
    desk.tell(SpeechKind.STOPPED, at_s=1.0)
    jobs = len(desk.jobs)
    desk.hear(1.0, 0.0)
    assert [round(at_s - 1.0, 2) for at_s, _ in desk.jobs[jobs:]] == [AGAIN_S + 0.01]
    assert desk.told[-1].text == f"word{jobs + 1}" and not desk.told[-1].final


def test_words_decoded_in_the_lull_before_a_late_stop_are_not_decoded_again() -> None:
    desk = Desk().tell(SpeechKind.STARTED).hear(1.0, 0.1).hear(0.16, 0.0)
    jobs, partials = len(desk.jobs), len(desk.told)
    desk.tell(SpeechKind.STOPPED, at_s=1.14)
    assert len(desk.jobs) == jobs
    assert [(t.final, t.end_s) for t in desk.told[partials:]] == [(False, 1.14)]


def test_what_was_said_after_the_last_partial_is_decoded_at_the_stop() -> None:
    desk = Desk().tell(SpeechKind.STARTED).hear(1.2, 0.1)
    jobs = len(desk.jobs)
    desk.tell(SpeechKind.STOPPED, at_s=1.2)
    assert len(desk.jobs) == jobs + 1
    assert desk.told[-1].end_s >= 1.2


def test_a_turn_that_goes_on_keeps_its_first_words() -> None:
    desk = Desk().tell(SpeechKind.STARTED).hear(1.0, 0.1).tell(SpeechKind.STOPPED).hear(0.8, 0.0)
    desk.tell(SpeechKind.STARTED).hear(1.0, 0.1).tell(SpeechKind.STOPPED)
    assert len(desk.jobs[-1][1].pcm) >= 2.7 * RATE_HZ
    assert {transcript.start_s for transcript in desk.told} == {0.0}


def test_a_minute_of_talk_stays_cheap_and_loses_no_sample() -> None:
    desk = Desk().tell(SpeechKind.STARTED)
    for _ in range(20):
        desk.hear(2.8, 0.1).hear(0.2, 0.001)
    desk.tell(SpeechKind.STOPPED).tell(SpeechKind.TURN_ENDED)
    assert max(len(job.pcm) for _, job in desk.jobs) <= 10 * RATE_HZ
    kept = [job for _, job in desk.jobs if job.keeps]
    starts = [0, *(job.until for job in kept)]
    assert all(job.until - len(job.pcm) == start for job, start in zip(kept, starts, strict=False))
    assert all(abs(job.pcm[-1]) < 0.01 for job in kept), "cuts fall into gaps"
    assert desk.told[-1].final
    assert len(desk.told[-1].text.split()) == len(kept) + 1


def test_audio_that_was_dropped_on_the_way_is_not_waited_for() -> None:
    desk = Desk().tell(SpeechKind.STARTED).hear(1.0, 0.1)
    desk.now += RATE_HZ // 4
    desk.hear(0.6, 0.1).hear(0.2, 0.0)
    assert desk.told[-1].end_s == desk.jobs[-1][0]


def test_what_is_taken_back_gets_no_final() -> None:
    desk = Desk().tell(SpeechKind.STARTED).hear(0.6, 0.1).tell(SpeechKind.STOPPED)
    desk.tell(SpeechKind.RETRACTED).hear(1.0, 0.0)
    assert not any(transcript.final for transcript in desk.told)


def test_two_quick_turns_each_get_their_final_in_order() -> None:
    desk = Desk()
    for utterance in (1, 2):
        desk.core.push(SpeechEvent(SpeechKind.STARTED, utterance, desk.now_s))
        desk.core.push(AudioFrame(np.full(FRAME * 30, 0.1, np.float32), RATE_HZ, desk.now, 0.0))
        desk.now += FRAME * 30
        desk.core.push(SpeechEvent(SpeechKind.TURN_ENDED, utterance, desk.now_s))
    desk.work()
    finals = [transcript for transcript in desk.told if transcript.final]
    assert [transcript.utterance for transcript in finals] == [1, 2]
    assert all(transcript.text for transcript in finals)


def test_a_turn_begun_before_a_restart_still_gets_its_final() -> None:
    desk = Desk().hear(1.0, 0.1).tell(SpeechKind.TURN_ENDED, utterance=5)
    assert [(t.utterance, t.final, t.text) for t in desk.told] == [(5, True, "")]
