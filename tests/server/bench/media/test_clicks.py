import numpy as np
import pytest

from pipeline.audio.opus import OpusDecoder, OpusEncoder
from server.bench.media.clicks import (
    PACKET,
    PERIOD,
    RATE_HZ,
    ClickFinder,
    away_s,
    click_packets,
)


@pytest.mark.parametrize("codecs", [1, 2])
def test_a_click_is_found_in_the_packet_that_began_with_it_even_after_two_codecs(
    codecs: int,
) -> None:
    packets = click_packets() * 4
    for _ in range(codecs - 1):
        decoder, encoder = OpusDecoder(RATE_HZ), OpusEncoder(RATE_HZ)
        packets = [encoder.encode(decoder.decode(packet)) for packet in packets]
    decoder, finder = OpusDecoder(RATE_HZ), ClickFinder()
    found = [at for at, packet in enumerate(packets) if finder.push(decoder.decode(packet))]
    assert found == [0, PERIOD, 2 * PERIOD, 3 * PERIOD]


def test_clicks_take_every_place_in_frames_of_80_ms() -> None:
    assert {at * PERIOD % 4 for at in range(4)} == {0, 1, 2, 3}


def test_one_click_in_two_packets_is_one_click() -> None:
    finder, loud, quiet = ClickFinder(), np.ones(PACKET, np.float32), np.zeros(PACKET, np.float32)
    assert [finder.push(pcm) for pcm in (quiet, loud, loud, quiet)] == [False, True, False, False]


def test_an_echo_belongs_to_the_newest_click_before_it() -> None:
    sent_s, heard_s = [1.0, 2.0, 3.0], [0.4, 1.1, 3.25]
    assert away_s(sent_s, heard_s) == pytest.approx([0.1, 0.25]), "and one without is none"
