from itertools import pairwise

from server.rtc.timeline import RtpTimeline

STEP = 960


def test_numbers_go_on_through_both_wraps() -> None:
    timeline = RtpTimeline()
    placed = [
        timeline.place(
            1, (65_000 + n) % 2**16, (2**32 - 5 * STEP + n * STEP) % 2**32, b"", n * 0.02
        )
        for n in range(2000)
    ]
    assert {b.sequence - a.sequence for a, b in pairwise(placed)} == {1}
    assert {b.timestamp - a.timestamp for a, b in pairwise(placed)} == {STEP}


def test_a_late_packet_keeps_its_own_place() -> None:
    timeline = RtpTimeline()
    first, third, second = (timeline.place(1, n, n * STEP, b"", 0.0) for n in (7, 9, 8))
    assert [p.sequence - first.sequence for p in (second, third)] == [1, 2]
    assert [p.timestamp - first.timestamp for p in (second, third)] == [STEP, 2 * STEP]


def test_a_new_ssrc_goes_on_where_the_old_one_ended_as_much_later_as_it_came() -> None:
    timeline = RtpTimeline()
    before = timeline.place(1, 40_000, 5, b"", 10.0)
    after = timeline.place(2, 3, 4_000_000_000, b"", 10.5)
    assert after.sequence == before.sequence + 1
    assert after.timestamp == before.timestamp + 24_000


def test_lost_packets_are_asked_for_by_the_numbers_their_sender_knows() -> None:
    timeline = RtpTimeline()
    timeline.place(1, 500, 0, b"", 0.0)
    timeline.place(2, 65_535, 0, b"", 0.1)
    after = timeline.place(2, 2, 3 * STEP, b"", 0.2)
    lost = [after.sequence - 2, after.sequence - 1]
    assert timeline.wire(lost) == (2, [0, 1])
