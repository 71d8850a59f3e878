from server.bench.media.crowd import AWAY_LIMIT_MS, LAG_LIMIT_MS, Crowd, carried

WELL = Crowd(peers=20, away_p95_ms=4.0, host_lag_p99_ms=2.0, callers_lag_p99_ms=2.0)
SLOW = Crowd(peers=40, away_p95_ms=AWAY_LIMIT_MS + 1, host_lag_p99_ms=2.0, callers_lag_p99_ms=2.0)
LATE = Crowd(peers=40, away_p95_ms=4.0, host_lag_p99_ms=LAG_LIMIT_MS + 1, callers_lag_p99_ms=2.0)


def test_a_core_carries_the_largest_crowd_that_is_in_time() -> None:
    assert carried([WELL, SLOW]) == carried([WELL, LATE]) == 20


def test_a_core_that_is_late_from_the_start_carries_nobody() -> None:
    assert carried([LATE]) == carried([]) == 0
