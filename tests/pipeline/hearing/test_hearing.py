from itertools import count

import numpy as np

from pipeline.channel import Channel
from pipeline.hearing.hearing import Hearing, Hears, Played, run_hearing
from pipeline.probe import NoProbe
from pipeline.stage import Into
from pipeline.stt.face import Listened
from pipeline.types import AudioFrame, Pcm, SpeechEvent, SpeechKind, Transcript
from tests.fakes.inline_thread import InlineThread
from tests.fakes.sounds import frames, scene, syllables


def loud(window: Pcm) -> float:
    """A VAD that takes whatever is loud for speech."""
    return float(np.mean(window**2) > 1e-5)


def hearing() -> Hearing:
    numbers = count(7)
    return Hearing(loud, lambda: next(numbers))


def kinds(items: list[Listened]) -> list[SpeechKind]:
    return [item.kind for item in items if isinstance(item, SpeechEvent)]


def test_every_frame_is_passed_on_in_order_with_the_events_between_them() -> None:
    microphone = frames(scene(3.0, (0.5, syllables(1, 1.0))))
    hears, out = hearing(), list[Listened]()
    for frame in microphone:
        out += hears.push(frame)
    assert [item for item in out if isinstance(item, AudioFrame)] == list(microphone)
    assert kinds(out) == [SpeechKind.STARTED, SpeechKind.STOPPED, SpeechKind.TURN_ENDED]
    for at, item in enumerate(out):
        if isinstance(item, SpeechEvent):
            before = out[at - 1]
            assert isinstance(before, AudioFrame) and item.at_s < before.end_s
            assert item.utterance == 7


def test_the_assistants_own_voice_on_the_speakers_starts_nothing() -> None:
    reply = scene(3.0, (0.3, syllables(4, 2.2)))
    late = np.concatenate([np.zeros(2_400, np.float32), reply])[: len(reply)]
    hears, out = hearing(), list[Listened]()
    for heard, sent in zip(frames(scene(3.0) + 0.1 * late), frames(reply), strict=True):
        hears.push(Played(sent, sent.pts / 16_000))
        out += hears.push(heard)
    assert loud(reply[8_000:8_512]) and kinds(out) == []


def test_the_user_is_heard_over_the_assistants_voice_within_200_ms() -> None:
    reply = scene(3.0, (0.3, syllables(4, 2.2)))
    late = np.concatenate([np.zeros(2_400, np.float32), reply])[: len(reply)]
    microphone = scene(3.0, (1.0, syllables(9, 1.0, pitch_hz=205))) + 0.1 * late
    hears, told_s = hearing(), []
    for heard, sent in zip(frames(microphone), frames(reply), strict=True):
        hears.push(Played(sent, sent.pts / 16_000))
        told_s += [heard.end_s for kind in kinds(hears.push(heard)) if kind is SpeechKind.STARTED]
    assert 1.0 < told_s[0] <= 1.2


async def test_what_waits_goes_to_the_thread_in_one_batch_and_nothing_is_lost() -> None:
    inbox, out, thread = Channel[Hears]("hears", 100), list[Listened](), InlineThread()
    sent = frames(scene(1.0))
    for frame in sent:
        inbox.offer(frame)
    inbox.offer(Transcript("", 0, 0, False, 1))
    inbox.close()
    await run_hearing(hearing(), inbox, Into(out.append), thread, NoProbe())
    assert out == list(sent)
    assert thread.calls == 1
