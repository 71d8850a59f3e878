"""The rules of a call's life, each told by what the caller and the operator notice."""

from dataclasses import replace

import pytest

from pipeline.errors import UmigameError
from server.errors import Draining
from server.life import Life, Seen, Turn, returned
from server.settings import LimitSettings

LIMITS = LimitSettings(connect_s=10, idle_s=600, length_s=7200, grace_s=60)
CONNECTING = Seen(connected=False, closed=False, heard_at_s=0.0, replaced=False)


def heard(at_s: float) -> Seen:
    """A peer that is connected and was heard just now, in a lively conversation."""
    return replace(CONNECTING, connected=True, heard_at_s=at_s, active_s=at_s)


@pytest.fixture
def life() -> Life:
    """A call that is live since second 1."""
    life = Life(LIMITS)
    life.serves(0.0)
    life.talks(1.0)
    return life


def test_a_slow_network_may_take_all_of_connect_s() -> None:
    life = Life(LIMITS)
    life.serves(0.0)
    assert life.turn(CONNECTING, 9.9) is None
    assert life.turn(CONNECTING, 10.1) is Turn.OVER
    assert "10 s" in str(life.ended)


def test_a_live_call_is_lost_after_four_seconds_without_a_datagram(life: Life) -> None:
    assert life.turn(heard(20.0), 23.9) is None
    assert life.turn(heard(20.0), 24.1) is Turn.LOST
    assert life.ended is None


def test_a_caller_who_leaves_while_queued_is_gone_for_good() -> None:
    life = Life(LIMITS)
    life.serves(0.0)
    assert life.turn(replace(heard(5.0), closed=True), 5.0) is Turn.OVER


def test_waiting_in_the_queue_is_neither_idleness_nor_length() -> None:
    life = Life(LIMITS)
    life.serves(0.0)
    assert life.turn(replace(heard(9_000.0), active_s=0.0), 9_000.0) is None
    life.talks(9_000.0)
    assert life.turn(replace(heard(9_100.0), active_s=0.0), 9_100.0) is None


@pytest.mark.parametrize(
    ("active_s", "now", "why"), [(100.0, 701.0, "Nobody spoke"), (7_200.0, 7_202.0, "longest")]
)
def test_a_call_that_reached_a_limit_ends_with_the_reason(
    life: Life, active_s: float, now: float, why: str
) -> None:
    assert life.turn(replace(heard(now), active_s=active_s), now) is Turn.OVER
    assert why in str(life.ended)


def test_hanging_up_needs_no_reason(life: Life) -> None:
    life.hang_up()
    assert life.turn(heard(5.0), 5.0) is Turn.OVER
    assert life.ended is None


def test_another_peer_takes_over_as_soon_as_it_is_connected(life: Life) -> None:
    assert life.turn(replace(heard(5.0), replaced=True), 5.0) is Turn.REPLACED


def test_when_the_server_drains_a_reply_is_said_to_its_end(life: Life) -> None:
    life.drain()
    assert life.turn(replace(heard(5.0), speaking=True), 5.0) is None
    assert life.turn(heard(6.0), 6.0) is Turn.OVER
    assert isinstance(life.ended, Draining)


def test_a_reply_without_end_is_cut_while_the_caller_can_still_be_told_why(life: Life) -> None:
    life.drain()
    at_s = 5.0
    while life.turn(replace(heard(at_s), speaking=True), at_s) is None:
        at_s += 0.1
    assert at_s - 5.0 == pytest.approx(0.5 * LIMITS.drain_s, abs=0.2)
    assert isinstance(life.ended, Draining)


def test_what_failed_is_what_the_caller_is_told(life: Life) -> None:
    life.fail(UmigameError("The voice died."))
    assert life.turn(heard(5.0), 5.0) is Turn.OVER
    assert str(life.ended) == "The voice died."


def test_a_lost_caller_is_waited_for_as_long_as_grace_s(life: Life) -> None:
    life.lost(100.0)
    assert life.waits(159.0)
    assert not life.waits(160.1)


def test_a_server_that_drains_waits_for_nobody(life: Life) -> None:
    life.lost(100.0)
    life.drain()
    assert not life.waits(101.0)


def test_a_path_has_revived_when_something_comes_over_it() -> None:
    assert not returned(heard(20.0), 25.0)
    assert returned(heard(25.0), 25.1)
    assert not returned(replace(heard(25.0), closed=True), 25.1)
