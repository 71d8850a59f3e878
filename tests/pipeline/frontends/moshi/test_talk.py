import numpy as np
import pytest

from pipeline.frontends.moshi.talk import Talk, Vocabulary
from pipeline.frontends.moshi.tokens import MARK
from pipeline.types import (
    Command,
    Mode,
    OracleUpdate,
    Pcm,
    SpeechEvent,
    SpeechKind,
    StepInput,
    StepOutput,
    silence,
)

FRAME = 1920
START, PAD, PAD_END, NONE_YET = 32000, 3, 0, -2
HELLO, THERE = 10, 11


class Two:
    def encode(self, text: str) -> list[int]:
        return [HELLO] if text else []

    def id_to_piece(self, token: int) -> str:
        return MARK + {HELLO: "hello", THERE: "there"}[token]


def talk(mode: Mode = Mode.TANDEM) -> Talk:
    return Talk(mode, Vocabulary(Two(), START, PAD, PAD_END), FRAME, 0.08)


def loud() -> Pcm:
    return np.full(FRAME, 0.1, dtype=np.float32)


def heard(*commands: Command, speech: tuple[SpeechKind, ...] = ()) -> StepInput:
    events = tuple(SpeechEvent(kind, 1, 0.0) for kind in speech)
    return StepInput(silence(FRAME), events, (), commands)


def frames(one: Talk, *steps: tuple[int, Pcm]) -> list[StepOutput]:
    outputs = []
    for token, pcm in steps:
        one.hear(heard())
        outputs.append(one.say(token, pcm))
    return outputs


@pytest.mark.parametrize(("mode", "idle"), [(Mode.TANDEM, PAD), (Mode.S2S, -1)])
def test_with_nothing_to_follow_tandem_feeds_padding_and_s2s_nothing_at_all(
    mode: Mode, idle: int
) -> None:
    assert talk(mode).hear(heard()) == idle


def test_s2s_takes_no_oracle() -> None:
    update = OracleUpdate(1, "hello", True, 0.0, "test")
    assert talk(Mode.TANDEM).hear(StepInput(silence(FRAME), (), (update,))) == START
    assert talk(Mode.S2S).hear(StepInput(silence(FRAME), (), (update,))) == -1


def test_words_stand_at_their_place_in_the_audio_and_carry_the_oracle_they_followed() -> None:
    one = talk()
    update = OracleUpdate(7, "hello", True, 0.0, "test")
    one.hear(StepInput(silence(FRAME), (), (update,)))
    one.say(NONE_YET, silence(FRAME))
    outputs = frames(one, (PAD, loud()), (HELLO, loud()), (THERE, loud()), (PAD, loud()))
    words = [(w.text, w.epoch, w.start_sample) for output in outputs for w in output.words]
    assert words == [(" hello", 7, 2 * FRAME), (" there", 7, 3 * FRAME)]


def test_a_reply_lasts_from_its_first_word_through_short_pauses_to_a_long_one() -> None:
    breath, word = (PAD, loud()), (HELLO, loud())
    short, long = [(PAD, silence(FRAME))] * 5, [(PAD, silence(FRAME))] * 10
    outputs = frames(talk(), breath, word, *short, word, breath, *long)
    speaking = [output.speaking for output in outputs]
    assert speaking == [False] + [True] * (1 + 5 + 2 + 7) + [False] * 3


def test_stop_silences_a_reply_at_once_until_the_model_pauses() -> None:
    one = talk()
    frames(one, (HELLO, loud()))
    one.hear(heard(Command.STOP))
    cut = one.say(THERE, loud())
    assert cut.yielded
    assert not cut.speaking
    assert not cut.pcm.any()
    (still,) = frames(one, (PAD, loud()))
    assert not still.yielded
    assert not still.pcm.any()
    frames(one, *[(PAD, silence(FRAME))] * 8)
    (again,) = frames(one, (HELLO, loud()))
    assert again.speaking
    assert again.pcm.any()


def test_after_a_stop_the_user_need_only_speak_to_hear_the_model_again() -> None:
    one = talk()
    frames(one, (HELLO, loud()))
    one.hear(heard(Command.STOP))
    one.say(HELLO, loud())
    one.hear(heard(speech=(SpeechKind.STARTED,)))
    assert one.say(HELLO, loud()).speaking


def test_stop_while_nothing_is_said_cuts_nothing() -> None:
    one = talk()
    one.hear(heard(Command.STOP))
    output = one.say(HELLO, loud())
    assert not output.yielded
    assert output.speaking
