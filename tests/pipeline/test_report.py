from dataclasses import replace

from pipeline.audio.jitter import JitterStats
from pipeline.events import Overload
from pipeline.report import PathReport

CLEAN = JitterStats(
    received=50,
    lost=0,
    recovered_fec=0,
    late=0,
    duplicates=0,
    undecodable=0,
    samples=24_000,
    concealed=0,
    dropped=0,
    lateness_p95_s=0.004,
)


def test_concealment_is_told_of_the_last_second_not_of_the_whole_call() -> None:
    report = PathReport()
    bad = replace(CLEAN, concealed=6_000)
    good = replace(bad, samples=48_000)
    shares = [report.latency(stats, 0.03, False).concealed for stats in (bad, good)]
    assert shares == [0.25, 0.0]


def test_the_servers_own_time_is_the_median_of_what_lately_left() -> None:
    report = PathReport()
    for after_s in (0.5, *[0.002] * 10):
        report.answered(after_s)
    assert report.latency(CLEAN, None, None).server_s == 0.002


def test_a_drop_is_told_once() -> None:
    report = PathReport()
    assert report.overloads(stt=3, playout=0) == [Overload("stt", 3)]
    assert report.overloads(stt=3, playout=2) == [Overload("playout", 2)]
    assert report.overloads(stt=3, playout=2) == []
