"""What a caller gets is what upstream gives one caller, whoever else is there."""

import gc
import itertools
from collections.abc import Sequence

import numpy as np
import pytest
import torch
from sentencepiece import SentencePieceProcessor

from pipeline.errors import ConfigError, InputError
from pipeline.frontends.moshi.moshi import MoshiFrontEnd
from pipeline.settings import MoshiSettings
from pipeline.types import Mode, OracleUpdate, Sampling, SessionConfig, StepInput
from tests.fakes.moshi_callers import MoshiCaller, same, sound, step
from tests.fakes.tiny_moshi import CONTEXT, TinyCheckpoint, write
from tests.fakes.upstream_moshi import Said, Upstream, kame_formula, upstream

ALONE = SessionConfig(mode=Mode.S2S)
STEERED = SessionConfig(mode=Mode.TANDEM)
START, IDLE = 96, 3
ANSWER = "the tallest mountain in the world is mount everest"


@pytest.fixture(scope="module")
def front_end(kame: TinyCheckpoint) -> MoshiFrontEnd:
    """Three slots, used by one test after the other as by one call after the other."""
    return MoshiFrontEnd(kame.settings)


def update(epoch: int, text: str, *, final: bool = True) -> OracleUpdate:
    return OracleUpdate(epoch, text, final, 0.0, "test")


def test_callers_who_come_go_and_miss_frames_each_hear_what_upstream_says_to_one(
    kame: TinyCheckpoint, front_end: MoshiFrontEnd
) -> None:
    frames = [sound(3 * CONTEXT, seed) for seed in range(4)]
    first, second, third = (
        MoshiCaller(front_end, index, frames[index], ALONE) for index in range(3)
    )
    callers = [third]
    for count in range(2 * CONTEXT + 8):
        if count == 5:
            callers.append(first)  # its first frame beside a slot that is under way
        if count == 9:
            callers.append(second)
        if count == CONTEXT:
            front_end.close(third.index)
            callers[0] = fourth = MoshiCaller(front_end, third.index, frames[3], ALONE)
        step(front_end, *(c for c in callers if (count + 3 * c.index) % (4 + c.index)))
    for caller, heard in zip((first, second, third, fourth), frames, strict=True):
        assert len(caller.said) > CONTEXT // 2
        assert same(caller.said, upstream(kame, heard))


def test_the_first_frame_is_silent_and_leaves_no_trace(
    kame: TinyCheckpoint, front_end: MoshiFrontEnd
) -> None:
    said = []
    for seed in (1, 2):
        caller = MoshiCaller(front_end, 0, [*sound(1, seed), *sound(9, 3)], ALONE)
        for _ in range(10):
            step(front_end, caller)
        assert not caller.outputs[0].pcm.any()
        said.append(caller.said)
    assert same(*said), "what is heard in the first frame is in the past for the model"


def test_longer_delays_between_codebooks_are_upstreams(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """The model then hears before it speaks: encoder and decoder begin at different frames."""
    tiny = write(tmp_path_factory.mktemp("slow"), kame=False, delays=[0, 0, 3, 3, 3, 0, 3, 3, 3])
    assert same(run(MoshiFrontEnd(tiny.settings), 1, ALONE), upstream(tiny, sound(25, 10)))


def test_the_oracle_steers_as_kames_formula_says(
    kame: TinyCheckpoint, front_end: MoshiFrontEnd
) -> None:
    frames = sound(40, 5)
    tokens = SentencePieceProcessor(model_file=str(kame.folder / "text.model")).encode(ANSWER)
    caller = MoshiCaller(front_end, 1, frames, STEERED)
    beside = MoshiCaller(front_end, 0, sound(40, 6), ALONE)
    cut = ANSWER.index("untain")  # within a word
    for count in range(40):
        pieces = {4: update(1, ANSWER[:cut], final=False), 5: update(1, ANSWER[cut:])}
        step(front_end, caller, beside, oracle=pieces.get(count))
    oracle = [IDLE] * 4 + [START, *tokens] + [IDLE] * 40
    assert same(caller.said, kame_formula(kame, frames, oracle))
    assert not same(caller.said, kame_formula(kame, frames, [IDLE] * 99)), "it makes a difference"
    assert same(beside.said, upstream(kame, sound(40, 6)))
    assert {word.epoch for output in caller.outputs for word in output.words} == {0, 1}


def test_a_newer_answer_takes_the_place_of_the_older_from_the_next_frame_on(
    kame: TinyCheckpoint, front_end: MoshiFrontEnd
) -> None:
    frames = sound(30, 7)
    encode = SentencePieceProcessor(model_file=str(kame.folder / "text.model")).encode
    caller = MoshiCaller(front_end, 0, frames, STEERED)
    for count in range(30):
        answers = {0: update(1, ANSWER), 5: update(2, "paris")}
        step(front_end, caller, oracle=answers.get(count))
    oracle = [START, *encode(ANSWER)][:5] + [START, *encode("paris")] + [IDLE] * 30
    assert same(caller.said, kame_formula(kame, frames, oracle))


def test_plain_moshi_speaks_alone_unless_asked_and_says_that_it_is_untrained(
    plain: TinyCheckpoint, kame: TinyCheckpoint, front_end: MoshiFrontEnd
) -> None:
    info = MoshiFrontEnd(plain.settings).info
    assert info.modes == (Mode.S2S, Mode.TANDEM)
    assert "nobody trained it" in info.about
    assert front_end.info.modes == (Mode.TANDEM, Mode.S2S)
    with pytest.raises(InputError, match="tandem or s2s"):
        front_end.open(0, SessionConfig(mode=Mode.CASCADE))


def test_a_call_of_half_an_hour_goes_on_as_upstreams_would(
    kame: TinyCheckpoint, front_end: MoshiFrontEnd
) -> None:
    """Two contexts in real steps, then clocks are put forward, which is all that time changes."""
    half_an_hour = 22_512  # frames; a multiple of every ring in LM and Mimi, so that none is torn
    early, late = 2 * CONTEXT, 3 * CONTEXT
    frames = sound(late, 8)
    caller = MoshiCaller(front_end, 2, frames, ALONE)
    reference = Upstream(kame, {})
    theirs: list[Said] = []
    for said in itertools.islice(reference.run(frames), late):
        theirs.append(said)
        step(front_end, caller)
        if len(theirs) == early:
            live = torch.arange(3) == caller.index
            stepper = front_end._stepper
            put_forward((stepper.lm, stepper._codec._mimi), live, half_an_hour)
            put_forward((reference.gen, reference.mimi), torch.ones(1).bool(), half_an_hour)
    assert int(front_end._stepper.lm._streaming_state.offsets[2]) == half_an_hour + late
    assert same(caller.said, theirs)
    assert all(output.pcm.any() for output in caller.outputs[1:])


def put_forward(models: Sequence[torch.nn.Module], slots: torch.Tensor, frames: int) -> None:
    """As if `slots` had already run for so many frames more."""
    for rate, model in enumerate(models, start=1):  # Mimi's transformers have two positions a frame
        for module in model.modules():
            state = getattr(module, "_streaming_state", None)
            for owner in (state, getattr(state, "kv_cache", None)):
                for name in ("offset", "offsets", "end_offset"):
                    clock = getattr(owner, name, None)
                    if isinstance(clock, torch.Tensor) and len(clock) == len(slots):
                        clock += slots * frames * rate


def test_a_long_call_leaves_nothing_behind(front_end: MoshiFrontEnd) -> None:
    (pcm,) = sound(1, 9)
    front_end.open(0, STEERED)
    held = []
    for count in range(160):
        oracle = (update(1 + count // 20, " " + ANSWER, final=False),)
        front_end.step({0: StepInput(pcm, (), oracle)})
        if count in (79, 159):
            gc.collect()
            held.append(len(gc.get_objects()))
    assert held[1] - held[0] < 20


HOT = Sampling(temperature=1.0, text_temperature=1.0, top_k=30, text_top_k=90)


def run(
    front_end: MoshiFrontEnd, index: int, config: SessionConfig, *others: MoshiCaller
) -> list[Said]:
    """What a caller hears who misses a frame now and then, beside `others` who do not."""
    caller = MoshiCaller(front_end, index, sound(25, 10), config)
    for count in range(25):
        if others and count % 5 == 3:
            step(front_end, *others)
        step(front_end, caller, *others)
    front_end.close(index)
    return caller.said


def test_a_seed_says_the_same_again_alone_or_beside_others(front_end: MoshiFrontEnd) -> None:
    seeded = SessionConfig(mode=Mode.S2S, seed=5, sampling=HOT)
    once = run(front_end, 0, seeded)
    other = MoshiCaller(
        front_end, 0, sound(30, 11), SessionConfig(mode=Mode.S2S, seed=6, sampling=HOT)
    )
    assert same(run(front_end, 2, seeded, other), once)
    assert not same(run(front_end, 2, SessionConfig(mode=Mode.S2S, seed=6, sampling=HOT)), once)
    assert not same(run(front_end, 2, SessionConfig(mode=Mode.S2S, sampling=HOT)), once)


def test_each_caller_has_its_own_temperature(
    kame: TinyCheckpoint, front_end: MoshiFrontEnd
) -> None:
    hot = MoshiCaller(
        front_end, 1, sound(30, 12), SessionConfig(mode=Mode.S2S, seed=1, sampling=HOT)
    )
    assert same(run(front_end, 0, ALONE, hot), upstream(kame, sound(25, 10)))
    assert not same(hot.said, upstream(kame, sound(30, 12)))


def test_guidance_is_upstreams(
    kame: TinyCheckpoint, tmp_path_factory: pytest.TempPathFactory
) -> None:
    guided = {"cfg_coef": 2.0, "cfg_is_no_text": True}
    tiny = write(tmp_path_factory.mktemp("guided"), kame=True, lm_gen_config=guided)
    said = run(MoshiFrontEnd(tiny.settings), 1, ALONE)
    assert same(said, upstream(tiny, sound(25, 10), **guided))
    assert not same(said, upstream(tiny, sound(25, 10)))
    with pytest.raises(ConfigError, match="nothing to guide away from"):
        MoshiFrontEnd(kame.settings.model_copy(update={"cfg_coef": 2.0}))


HIBIKI = {
    "model_type": "hibiki",
    "conditioners": {
        "description": {
            "type": "lut",
            "lut": {
                "n_bins": 4,
                "dim": 8,
                "tokenizer": "noop",
                "possible_values": ["very_bad", "very_good"],
            },
        }
    },
    "fuser": {"sum": ["description"]},
}
"""Upstream's one released model with a condition: a voice of a wanted quality."""


def test_a_models_own_condition_and_guidance_by_it_are_upstreams(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    tiny = write(tmp_path_factory.mktemp("hibiki"), kame=True, **HIBIKI)
    for cfg_coef, qualities in ((1.0, ["very_good"]), (3.0, ["very_good", "very_bad"])):
        settings = tiny.settings.model_copy(update={"cfg_coef": cfg_coef})
        said = run(MoshiFrontEnd(settings), 1, ALONE)
        reference = Upstream(tiny, {"cfg_coef": cfg_coef}, qualities)
        assert same(said, list(reference.run(sound(25, 10))))


def test_eight_bits_still_speak(kame: TinyCheckpoint) -> None:
    said = run(MoshiFrontEnd(kame.settings.model_copy(update={"kv": "int8"})), 0, ALONE)
    assert np.abs(np.concatenate([one.pcm for one in said])).max() > 0.01


def test_a_device_that_is_not_there_is_told() -> None:
    for name in ("cuda:77", "abacus"):
        with pytest.raises(ConfigError, match=f"no device {name}"):
            MoshiFrontEnd(MoshiSettings(device=name))
