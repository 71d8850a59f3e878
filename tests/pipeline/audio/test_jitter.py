from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.audio.impair import impaired
from pipeline.audio.jitter import HEAD_S, JitterBuffer, Nack
from pipeline.audio.opus import OpusDecoder, has_fec
from pipeline.types import AudioFrame
from tests.fakes.drive import drive
from tests.fakes.listening import AHEAD_S, IN_PLACE, delay_s, hear, spoken
from tests.fakes.sender import (
    RATE_HZ,
    delayed,
    joined,
    lost,
    packets,
    pitch_hz,
    sine,
    speech,
)

LATE_S = 0.3


def test_packets_in_order_come_out_as_they_arrive_and_none_is_touched() -> None:
    sent, jitter = spoken(), JitterBuffer(OpusDecoder())
    heard = hear(sent, jitter)
    frames = [(at_s, frame) for at_s, frame in heard if not frame.concealed]
    assert [at_s for at_s, _ in frames] == [packet.arrived_s for packet in sent]
    stats = jitter.stats
    assert (stats.lost, stats.late, stats.dropped, stats.received) == (0, 0, 0, len(sent))


def test_a_tone_keeps_its_pitch() -> None:
    pcm = joined(frame for _, frame in hear(packets(sine(440, 3.0))))
    assert pitch_hz(pcm[RATE_HZ : 2 * RATE_HZ], RATE_HZ) == pytest.approx(440, abs=1)


@pytest.mark.parametrize("gone", [[100], [100, 101], list(range(100, 150)), list(range(100, 180))])
def test_after_lost_packets_the_delay_is_what_it_was(gone: list[int]) -> None:
    heard = hear(lost(spoken(), *gone))
    before_s, after_s = (delay_s(heard, speech(6.0), at_s) for at_s in (0.9, 4.5))
    assert after_s == pytest.approx(before_s, abs=0.021)
    last_s = heard[-1][0]
    assert last_s == spoken()[-1].arrived_s


def test_a_lost_packet_is_recovered_from_the_next_ones_fec_after_a_short_wait() -> None:
    jitter = JitterBuffer(OpusDecoder())
    index = next(n for n, packet in enumerate(spoken()) if n > 100 and has_fec(packet.payload))
    heard = hear(lost(spoken(), index - 1), jitter)
    assert (jitter.stats.lost, jitter.stats.recovered_fec) == (1, 1)
    assert not any(frame.concealed for at_s, frame in heard if at_s > 0.1)
    waits = np.diff([at_s for at_s, _ in heard])
    assert waits.max() == pytest.approx(0.02 + 0.02 + 0.03, abs=0.0001)


def test_packets_in_the_wrong_order_are_put_right_and_nothing_is_invented() -> None:
    straight = joined(frame for _, frame in hear(spoken()))
    sent = list(spoken())
    for index in range(50, 250, 7):
        sent[index] = delayed(sent[index], 0.045)
    jitter = JitterBuffer(OpusDecoder())
    heard = hear(sent, jitter)
    assert (joined(frame for _, frame in heard) == straight).all()
    assert jitter.stats.lost == jitter.stats.late == 0


def test_fifty_milliseconds_of_jitter_conceal_nothing() -> None:
    sent, jitter = impaired(spoken(), seed=3, jitter_s=0.05), JitterBuffer(OpusDecoder())
    heard = hear(sent, jitter)
    assert not any(frame.concealed for at_s, frame in heard if at_s > 0.1)
    assert jitter.stats.lateness_p95_s == pytest.approx(0.0475, abs=0.004)


def test_duplicates_and_late_packets_are_counted_and_not_heard() -> None:
    straight = joined(frame for _, frame in hear(spoken()))
    jitter = JitterBuffer(OpusDecoder())
    doubled = [delayed(packet, 0.001) for packet in spoken()[:100]]
    assert (joined(f for _, f in hear([*spoken(), *doubled], jitter)) == straight).all()
    assert (jitter.stats.duplicates, jitter.stats.late) == (100, 0)

    jitter, sent = JitterBuffer(OpusDecoder()), list(spoken())
    sent[100] = delayed(sent[100], 0.3)
    hear(sent, jitter)
    assert (jitter.stats.duplicates, jitter.stats.late, jitter.stats.lost) == (0, 1, 1)


@pytest.mark.parametrize(("rtt_s", "asked"), [(None, False), (0.2, False), (0.01, True)])
def test_a_missing_packet_is_asked_for_once_and_only_where_the_answer_is_in_time(
    rtt_s: float | None, asked: bool
) -> None:
    jitter = JitterBuffer(OpusDecoder())
    jitter.rtt_s = rtt_s
    sent = lost(spoken(), 100, 101)
    out = drive(jitter, [(packet.arrived_s, packet) for packet in sent], 4.0)
    nacks = [(at_s, item.sequences) for at_s, item in out if isinstance(item, Nack)]
    missing = (spoken()[100].sequence, spoken()[101].sequence)
    assert nacks == ([(spoken()[102].arrived_s, missing)] if asked else [])


@pytest.mark.parametrize("packet_s", [0.01, 0.02, 0.04, 0.06])
def test_packets_of_every_length_are_heard_whole_and_at_the_same_place(packet_s: float) -> None:
    heard = hear(spoken(6.0, packet_s))
    assert delay_s(heard, speech(6.0), 4.0) == IN_PLACE
    assert not any(frame.concealed for at_s, frame in heard if at_s > 0.1)


def test_a_packet_that_is_not_opus_is_concealed_and_counted() -> None:
    sent = list(spoken())
    for index in (100, 150, 200):
        sent[index] = replace(sent[index], payload=b"\xff\xff\xff")
    jitter = JitterBuffer(OpusDecoder())
    heard = hear(sent, jitter)
    assert jitter.stats.undecodable == 3
    assert sum(frame.concealed for at_s, frame in heard if at_s > 1) == 3 * 480
    assert delay_s(heard, speech(6.0), 4.5) == IN_PLACE


@pytest.mark.parametrize("waiting", [2, 8, 50])
def test_what_was_said_before_anybody_listened_is_heard_from_the_first_word_on(
    waiting: int,
) -> None:
    """So many packets are there when the session begins, or come at once after a hold-up."""
    sent = spoken()
    begun_s = sent[waiting - 1].arrived_s
    straight = joined(frame for _, frame in hear(sent) if not frame.concealed)
    jitter = JitterBuffer(OpusDecoder())
    items = [(max(begun_s, packet.arrived_s), packet) for packet in sent]
    out = drive(jitter, items, items[-1][0])
    frames = [(at_s, item) for at_s, item in out if isinstance(item, AudioFrame)]
    spoke = [(at_s, frame) for at_s, frame in frames if not frame.concealed]
    assert len(spoke) == len(sent) and (joined(f for _, f in spoke) == straight).all()
    assert [at_s for at_s, _ in spoke] == [at_s for at_s, _ in items]
    assert jitter.stats.dropped == 0


def test_no_more_than_a_second_is_caught_up_with() -> None:
    sent = spoken()
    jitter, begun_s = JitterBuffer(OpusDecoder()), sent[-1].arrived_s
    out = [item for packet in sent for item in jitter.push(packet, begun_s)]
    heard = joined(item for item in out if isinstance(item, AudioFrame))
    assert len(heard) / RATE_HZ == pytest.approx(HEAD_S, abs=0.03)


@given(
    fates=st.lists(
        st.tuples(
            st.sampled_from(["sent", "sent", "sent", "lost", "twice", "junk"]),
            st.floats(0, LATE_S),
        ),
        min_size=1,
        max_size=100,
    )
)
def test_whatever_a_network_does_the_stream_is_whole_and_ends_in_real_time(
    fates: list[tuple[str, float]],
) -> None:
    sent = []
    for packet, (fate, late_s) in zip(spoken(), fates, strict=False):
        late = delayed(packet, late_s)
        sent += {
            "sent": [late],
            "lost": [],
            "twice": [late, delayed(packet, late_s / 2)],
            "junk": [replace(late, payload=b"\xff\xff\xff")],
        }[fate]
    heard = hear(sent, until_s=3.0, head_s=LATE_S) if sent else []
    gaps = np.diff([0.0] + [at_s for at_s, _ in heard])
    assert all(gaps < 0.131)
    if sent:
        ahead_s = len(joined(frame for _, frame in heard)) / RATE_HZ - 3.0
        # A delay that grows by more than BEHIND_S is not made up for with more silence.
        assert -0.23 < ahead_s < AHEAD_S + LATE_S
