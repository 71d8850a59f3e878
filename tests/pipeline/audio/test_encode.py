import itertools

import numpy as np
import pytest

from pipeline.audio.encode import Encode
from pipeline.audio.opus import OpusDecoder, OpusEncoder
from pipeline.audio.playout import Playout
from pipeline.types import AudioFrame
from tests.fakes.drive import drive
from tests.fakes.sender import RATE_HZ, pitch_hz, sine


def test_packets_of_an_engine_that_stalls_step_by_960_and_the_tone_is_heard() -> None:
    tone = sine(440, 4.0)
    blocks = [
        (
            at / RATE_HZ + (0.5 if at > 2 * RATE_HZ else 0),
            AudioFrame(tone[at : at + 1_920], RATE_HZ, at, 0.0),
        )
        for at in range(0, len(tone), 1_920)
    ]
    encode, decoder = Encode(OpusEncoder()), OpusDecoder()
    sent = [p for _, frame in drive(Playout(1_920), blocks, 4.5) for p in encode.push(frame)]
    assert {b.timestamp - a.timestamp for a, b in itertools.pairwise(sent)} == {960}
    assert {b.sequence - a.sequence for a, b in itertools.pairwise(sent)} == {1}
    heard = np.concatenate([decoder.decode(packet.payload) for packet in sent])
    assert pitch_hz(heard[RATE_HZ // 2 : RATE_HZ], RATE_HZ) == pytest.approx(440, abs=2)
