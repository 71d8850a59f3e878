import pytest

from pipeline.errors import InputError
from server.bench.histogram import quantile, read_counts
from server.bench.load import Load, carried, read_calls
from server.bench.summary import Spread
from server.metrics import Metrics


def load(calls: int, first_ms: float | None, lag_ms: float = 1.0, answered: int = 5) -> Load:
    return Load(calls, 5, answered, 0.3 * calls, 0.3, 0.1, Spread(first_ms, first_ms), lag_ms)


def test_calls_are_carried_until_the_loop_lags_or_answers_come_late_or_not_at_all() -> None:
    well = [load(1, 300), load(2, 350)]
    assert carried([*well, load(4, 500)]) == 4
    assert carried([*well, load(4, 500, lag_ms=50)]) == 2
    assert carried([*well, load(4, 900)]) == 2
    assert carried([*well, load(4, 300, answered=3)]) == 2
    assert carried([*well, load(4, None), load(8, 300)]) == 2


def test_the_lag_of_a_while_is_read_from_what_the_server_shows() -> None:
    metrics = Metrics()
    for lag_s in (0.3,) * 50:  # before the while
        metrics.loop_lag.observe(lag_s)
    before = read_counts(metrics.render().decode(), "umigame_loop_lag_seconds")
    for lag_s in (0.0004,) * 99 + (0.015,):
        metrics.loop_lag.observe(lag_s)
    after = read_counts(metrics.render().decode(), "umigame_loop_lag_seconds")
    assert quantile(0.99, before, after) == 0.0005
    assert quantile(1.0, before, after) == 0.02


def test_numbers_of_calls_are_read_or_refused() -> None:
    assert read_calls("4, 1,2") == [1, 2, 4]
    for wrong in ("", "two", "0,1"):
        with pytest.raises(InputError):
            read_calls(wrong)
