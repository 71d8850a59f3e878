import pytest

from server.errors import LockedOut
from server.guesses import MOST, WINDOW_S, Guesses


def guessed(times: int, now: float = 0.0) -> Guesses:
    guesses = Guesses()
    for _ in range(times):
        guesses.check("192.0.2.1", now)
        guesses.wrong("192.0.2.1", now)
    return guesses


def test_who_guesses_too_often_waits_for_the_next_window() -> None:
    guesses = guessed(MOST, 100)
    with pytest.raises(LockedOut) as caught:
        guesses.check("192.0.2.1", 101)
    assert 101 + caught.value.retry_after_s == 100 + WINDOW_S
    guesses.check("192.0.2.1", 100 + WINDOW_S)


def test_a_few_slips_lock_nobody_out_and_nobody_pays_for_another() -> None:
    guessed(MOST - 1).check("192.0.2.1", 1)
    guessed(MOST).check("192.0.2.2", 1)


def test_a_new_window_forgets_the_last_ones_slips() -> None:
    guesses = guessed(MOST - 1)
    guesses.wrong("192.0.2.1", WINDOW_S)
    guesses.check("192.0.2.1", WINDOW_S)
