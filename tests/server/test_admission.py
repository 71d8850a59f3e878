import pytest

from server.admission import Admission, Place, State
from server.errors import Draining, TooBusy, UnknownCall


def enter(admission: Admission, *call_ids: str, now: float = 0.0) -> list[int]:
    """Callers, each from an address of their own, who connect at once."""
    for each in call_ids:
        admission.enter(each, f"ip of {each}")
        admission.connected(each, now)
    return [admission.place(each).position for each in call_ids]


def test_callers_talk_at_once_then_queue_then_are_turned_away() -> None:
    admission = Admission(calls=2, queue=2)
    assert enter(admission, "a", "b", "c", "d") == [0, 0, 1, 2]
    with pytest.raises(TooBusy) as caught:
        enter(admission, "e")
    assert caught.value.retry_after_s > 0
    assert admission.count(State.LIVE) == 2


def test_the_next_in_the_queue_talks_when_one_hangs_up() -> None:
    admission = Admission(calls=1, queue=2)
    enter(admission, "a", "b", "c")
    admission.leave("a", now=10)
    assert admission.place("b").position == 0
    assert admission.place("c").position == 1


def test_one_who_stops_waiting_moves_the_rest_up() -> None:
    admission = Admission(calls=1, queue=2)
    enter(admission, "a", "b", "c")
    admission.leave("b", now=1)
    assert admission.place("c").position == 1


def test_the_wait_is_told_from_how_long_calls_last() -> None:
    admission = Admission(calls=2, queue=3)
    for each in range(50):
        enter(admission, f"short {each}", now=each * 30.0)
        admission.leave(f"short {each}", now=(each + 1) * 30.0)
    enter(admission, "a", "b", "c", "d", now=1500)
    assert admission.place("c").eta_s == pytest.approx(15, rel=0.01)
    assert admission.place("d").eta_s == pytest.approx(30, rel=0.01)


def test_one_address_cannot_take_every_line() -> None:
    admission = Admission(calls=4, queue=4, per_ip=2)
    for call_id in ("a", "b"):
        admission.enter(call_id, "192.0.2.1")
    admission.connected("b", 0)
    admission.lose("b", 1)
    with pytest.raises(TooBusy, match="address"):
        admission.enter("c", "192.0.2.1")
    admission.enter("d", "192.0.2.2")
    admission.leave("a", 3)
    admission.enter("e", "192.0.2.1")


def test_offers_that_never_connect_hold_no_line_but_room_in_all() -> None:
    admission = Admission(calls=1, queue=1)
    admission.enter("stranger", "192.0.2.1")
    assert enter(admission, "a") == [0]
    with pytest.raises(TooBusy):
        admission.enter("b", "192.0.2.2")
    admission.leave("stranger", 10)
    assert enter(admission, "b") == [1]


def test_a_caller_who_connects_again_keeps_the_place() -> None:
    admission = Admission(calls=1, queue=2)
    enter(admission, "a", "b", "c")
    admission.connected("b", 1)
    assert [admission.place(each).position for each in "abc"] == [0, 1, 2]


def test_a_lost_call_frees_its_line_and_comes_back_before_all_who_wait() -> None:
    admission = Admission(calls=2, queue=4)
    enter(admission, "a", "b", "c", "d", "e")
    admission.lose("a", 5)
    admission.lose("b", 5)
    assert admission.place("c") == admission.place("d") == Place(0, 0.0)
    assert admission.resume("a", 6).position == 1
    assert admission.resume("b", 6).position == 2
    assert admission.place("e").position == 3
    admission.leave("c", 7)
    assert [admission.place(each).position for each in "abe"] == [0, 1, 2]


def test_a_lost_call_talks_at_once_if_a_line_is_free() -> None:
    admission = Admission(calls=1, queue=0)
    enter(admission, "a")
    admission.lose("a", 1)
    assert admission.resume("a", 2) == Place(0, 0.0)
    assert admission.resume("a", 3) == Place(0, 0.0)


def test_lost_calls_count_towards_the_total() -> None:
    admission = Admission(calls=1, queue=1)
    enter(admission, "a")
    admission.lose("a", 1)
    enter(admission, "b")
    with pytest.raises(TooBusy):
        enter(admission, "c")
    admission.leave("a", 60)
    assert enter(admission, "c") == [1]


def test_a_call_that_is_over_cannot_be_asked_for() -> None:
    admission = Admission(calls=1, queue=1)
    enter(admission, "a")
    admission.leave("a", 1)
    admission.leave("a", 2)
    for ask in (lambda: admission.place("a"), lambda: admission.resume("a", 3)):
        with pytest.raises(UnknownCall):
            ask()


def test_a_server_that_stops_lets_nobody_in() -> None:
    admission = Admission(calls=2, queue=2)
    enter(admission, "a", "b", "c", "d")
    admission.lose("b", 1)
    admission.close()
    with pytest.raises(Draining):
        enter(admission, "e")
    with pytest.raises(Draining):
        admission.resume("b", 2)
    admission.leave("a", 3)
    assert admission.place("d").position == 1


def test_a_free_place_is_given_only_when_the_engine_has_room() -> None:
    room = False
    admission = Admission(calls=2, queue=2, fits=lambda: room)
    assert enter(admission, "a", "b") == [1, 2]
    assert not admission.admit(1)
    room = True
    assert admission.admit(2)
    assert [admission.place(each).position for each in "ab"] == [0, 0]
    assert not admission.admit(3)
