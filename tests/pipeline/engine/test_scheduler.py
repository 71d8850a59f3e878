import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.engine.scheduler import GRACE, MOST_BACKLOG_S, Scheduler
from pipeline.types import (
    Command,
    OracleUpdate,
    Pcm,
    SpeechEvent,
    SpeechKind,
    StepInput,
    Ticks,
    silence,
)

FRAME_S = 0.08
TICKS = Ticks(0.0, FRAME_S)
GRACE_S = GRACE * FRAME_S
MOST = int(MOST_BACKLOG_S / FRAME_S)
LOUD: Pcm = np.full(16, 0.1, dtype=np.float32)
QUIET: Pcm = silence(16)


def frame(number: int, pcm: Pcm = LOUD) -> StepInput:
    """A frame that carries its number in an event, a command and a piece of oracle text."""
    return StepInput(
        pcm,
        speech=(SpeechEvent(SpeechKind.STOPPED, number, 0.0),),
        oracle=(OracleUpdate(1, f"{number} ", False, 0.0, "fake"),),
        commands=(Command.STOP,),
        concealed=number,
    )


def test_a_step_waits_for_every_slot_but_not_for_longer_than_the_oldest_may_wait() -> None:
    scheduler = Scheduler(FRAME_S, max_wait_s=0.01)
    scheduler.open(0)
    scheduler.open(1)
    assert scheduler.deadline() is None
    scheduler.submit(0, frame(1), 5.0)
    assert scheduler.deadline() == pytest.approx(5.01)
    assert scheduler.take(5.005) == {}
    scheduler.submit(1, frame(2), 5.006)
    assert set(scheduler.take(5.006)) == {0, 1}
    scheduler.submit(0, frame(3), 6.0)
    assert set(scheduler.take(6.011)) == {0}


def test_a_slot_that_closes_is_not_waited_for() -> None:
    scheduler = Scheduler(FRAME_S, max_wait_s=1.0)
    scheduler.open(0)
    scheduler.open(1)
    scheduler.submit(0, frame(1), 0.0)
    scheduler.close(1)
    assert set(scheduler.take(0.0)) == {0}


def test_bursts_are_worked_off_whole() -> None:
    scheduler = Scheduler(FRAME_S, max_wait_s=0.0)
    scheduler.open(0)
    for now in (0.0, 10.0):
        for number in range(MOST):
            scheduler.submit(0, frame(number, QUIET), now)
        taken = [scheduler.take(now)[0].concealed for _ in range(MOST)]
        assert taken == list(range(MOST))
    assert scheduler.shed == 0


@pytest.mark.parametrize("quiet_every", [3, 0])
def test_a_front_end_that_takes_90_ms_for_80_ms_frames_stays_bounded(quiet_every: int) -> None:
    """kyutai-labs/moshi#229: it lagged 11 s behind after 1m42."""
    scheduler = Scheduler(FRAME_S, max_wait_s=0.0)
    scheduler.open(0)
    submitted = taken = 0
    events: list[int] = []
    for tick in range(1, 30 * 60 * 100):  # 10 ms each
        if tick % 8 == 0:
            quiet = quiet_every and submitted % quiet_every == 0
            scheduler.submit(0, frame(submitted, QUIET if quiet else LOUD), tick / 100)
            submitted += 1
        if tick % 9 == 0:
            for step in scheduler.take(tick / 100).values():
                events.extend(event.utterance for event in step.speech)
                taken += 1
        assert scheduler.waiting(0) <= (3 if quiet_every else MOST)
    assert scheduler.shed == submitted - taken - scheduler.waiting(0)
    assert scheduler.shed / submitted == pytest.approx(1 / 9, abs=0.01)
    assert events == list(range(len(events)))


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(["loud", "quiet", "take"]), st.integers(0, 2), st.floats(0, 0.3))
    )
)
def test_no_frame_is_lost_uncounted_or_reordered_and_what_rode_on_it_arrives(
    script: list[tuple[str, int, float]],
) -> None:
    scheduler = Scheduler(FRAME_S, max_wait_s=0.01)
    taken: dict[int, list[StepInput]] = {slot: [] for slot in range(3)}
    sent = dict.fromkeys(taken, 0)
    now = 0.0
    for slot in taken:
        scheduler.open(slot)

    def take() -> bool:
        batch = scheduler.take(now)
        for slot, step in batch.items():
            taken[slot].append(step)
        return bool(batch)

    for what, slot, pause_s in script:
        now += pause_s
        if what == "take":
            take()
            continue
        scheduler.submit(slot, frame(sent[slot], LOUD if what == "loud" else QUIET), now)
        sent[slot] += 1
        assert scheduler.waiting(slot) <= MOST
    now += 1.0
    while take():
        pass

    assert scheduler.shed == sum(sent.values()) - sum(map(len, taken.values()))
    for slot, steps in taken.items():
        numbers = [step.concealed for step in steps]
        assert numbers == sorted(set(numbers))
        everything = list(range(sent[slot]))
        assert [event.utterance for step in steps for event in step.speech] == everything
        assert sum(len(step.commands) for step in steps) == sent[slot]
        text = "".join(update.text for step in steps for update in step.oracle)
        assert text.split() == [str(number) for number in everything]


def test_loud_frames_are_shed_only_when_no_quiet_one_is_there() -> None:
    scheduler = Scheduler(FRAME_S, max_wait_s=0.0)
    scheduler.open(0)
    for number, pcm in enumerate([LOUD, LOUD, QUIET, LOUD, LOUD, LOUD, LOUD]):
        scheduler.submit(0, frame(number, pcm), 0.0)
    assert scheduler.take(0.0)[0].concealed == 1
    assert scheduler.take(0.0)[0].concealed == 3


def test_a_newer_epoch_that_rides_on_a_shed_frame_still_replaces_the_older() -> None:
    scheduler = Scheduler(FRAME_S, max_wait_s=0.0)
    scheduler.open(0)
    updates = [OracleUpdate(epoch, f"e{epoch} ", False, 0.0, "fake") for epoch in (1, 2, 2)]
    for number in range(MOST + 3):
        riding = tuple(updates[number : number + 1])
        scheduler.submit(0, StepInput(LOUD, oracle=riding), 0.0)
    (update,) = scheduler.take(0.0)[0].oracle
    assert (update.epoch, update.text) == (2, "e2 e2 ")


def test_a_frame_tells_whether_the_engine_has_to_look_again() -> None:
    scheduler = Scheduler(0.02, 0.002)
    for slot in range(3):
        scheduler.open(slot)
    nearer = [scheduler.submit(slot, frame(slot), 0.0) for slot in (0, 1, 1, 2)]
    assert nearer == [True, False, False, True], "the first one, and the last of all slots"
    assert set(scheduler.take(0.0)) == {0, 1, 2}
    assert scheduler.deadline() == 0.002, "slot 1 has another"


def test_on_ticks_all_that_are_in_step_and_who_comes_late_goes_with_the_next() -> None:
    scheduler = Scheduler(FRAME_S, 0.0, TICKS)
    for slot in range(3):
        scheduler.open(slot)
        scheduler.submit(slot, frame(0), 0.01)
    assert set(scheduler.take(0.01)) == {0, 1, 2}, "all are in: nobody has to wait for the tick"
    scheduler.stepped(0.05)
    scheduler.step_s = 0.06
    scheduler.submit(0, frame(1), 0.14)
    scheduler.submit(1, frame(1), 0.15)
    assert scheduler.deadline() == pytest.approx(0.16 + GRACE_S)
    assert set(scheduler.take(0.173)) == {0, 1}
    scheduler.submit(2, frame(1), 0.175)
    scheduler.stepped(0.233)
    assert scheduler.deadline() == pytest.approx(0.24 + GRACE_S), "a step would hold up the others"
    scheduler.submit(0, frame(2), 0.234)
    assert set(scheduler.take(0.253)) == {0, 2}


def test_who_misses_the_tick_by_a_hair_is_waited_for_and_then_nobody_waits_longer() -> None:
    scheduler = Scheduler(FRAME_S, 0.0, TICKS)
    for slot in range(2):
        scheduler.open(slot)
        scheduler.submit(slot, frame(0), 0.0)
    scheduler.take(0.0)
    scheduler.submit(0, frame(1), 0.075)
    assert scheduler.take(0.08) == {}
    assert scheduler.submit(1, frame(1), 0.083), "the one that was missing"
    assert set(scheduler.take(0.083)) == {0, 1}


def test_on_ticks_nobody_waits_for_a_caller_who_has_yet_to_begin() -> None:
    scheduler = Scheduler(FRAME_S, 0.0, TICKS)
    for slot in range(2):
        scheduler.open(slot)
    assert scheduler.submit(0, frame(0), 0.075)
    assert set(scheduler.take(0.075)) == {0}


def test_a_caller_whose_first_frame_comes_after_the_step_makes_nobody_else_miss_a_tick() -> None:
    scheduler = Scheduler(FRAME_S, 0.0, TICKS)
    scheduler.step_s = 0.05
    for slot in range(3):
        scheduler.open(slot)
    for slot in range(2):
        scheduler.submit(slot, frame(0), 0.073)
    assert set(scheduler.take(0.073)) == {0, 1}
    scheduler.submit(2, frame(0), 0.076)
    scheduler.stepped(0.123)
    assert scheduler.take(0.123) == {}, "a step for it alone would last into the next"
    for slot in range(3):
        scheduler.submit(slot, frame(1), 0.153)
    assert set(scheduler.take(0.153)) == {0, 1, 2}


def test_who_missed_the_tick_is_stepped_alone_if_that_ends_before_the_next() -> None:
    scheduler = Scheduler(FRAME_S, 0.0, TICKS)
    scheduler.step_s = 0.02
    for slot in range(3):
        scheduler.open(slot)
        scheduler.submit(slot, frame(0), 0.07)
    scheduler.take(0.07)
    scheduler.submit(0, frame(1), 0.15)
    scheduler.take(0.173)
    scheduler.submit(1, frame(1), 0.18)
    scheduler.stepped(0.19)
    scheduler.submit(0, frame(2), 0.191)
    assert set(scheduler.take(0.191)) == {1}, "slot 0 is early for its own tick"
    scheduler.stepped(0.21)
    assert scheduler.deadline() == pytest.approx(0.24 + GRACE_S)


def test_a_slot_that_stays_a_frame_behind_gives_up_its_next_silence() -> None:
    """No step can be spared for it: what it waits for is a pause."""
    scheduler = Scheduler(FRAME_S, 0.0, TICKS)
    scheduler.step_s = 0.07
    scheduler.open(0)
    scheduler.open(1)  # never has a frame: the tick has to come
    for number in range(40):
        if number != 10:
            scheduler.take(number * FRAME_S + 1.01 * GRACE_S)
            scheduler.stepped(number * FRAME_S + 0.07)
        pcm = QUIET if number > 20 else LOUD
        scheduler.submit(0, frame(number, pcm), number * FRAME_S + 0.075)
        assert scheduler.waiting(0) <= 2
    assert (scheduler.shed, scheduler.waiting(0)) == (1, 1)
