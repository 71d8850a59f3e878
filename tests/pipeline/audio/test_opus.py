import av
import numpy as np
import pytest

from pipeline.audio.opus import OpusDecoder, OpusEncoder, OpusError, has_fec, packet_samples
from pipeline.errors import ConfigError
from pipeline.types import Pcm
from tests.fakes.sender import RATE_HZ, packets, pitch_hz, sine, snr_db, speech


def decoded(payloads: list[bytes]) -> Pcm:
    decoder = OpusDecoder()
    return np.concatenate([decoder.decode(payload) for payload in payloads])


def level_db(pcm: Pcm) -> float:
    return 20 * float(np.log10(np.sqrt(np.mean(pcm**2)) + 1e-9))


def stereo_48k(left: Pcm, right: Pcm) -> list[bytes]:
    codec = av.CodecContext.create("libopus", "w")
    codec.sample_rate, codec.layout, codec.format = 48_000, "stereo", "flt"
    payloads = []
    for start in range(0, len(left) - 959, 960):
        both = np.stack([left, right], axis=1)[start : start + 960].reshape(1, -1)
        frame = av.AudioFrame.from_ndarray(both, format="flt", layout="stereo")
        frame.sample_rate, frame.pts = 48_000, start
        payloads += [bytes(packet) for packet in codec.encode(frame)]
    return payloads


def test_a_tone_keeps_its_pitch_and_its_level() -> None:
    tone = sine(440, 1.0)
    heard = decoded([packet.payload for packet in packets(tone)])[4800:]
    assert pitch_hz(heard, RATE_HZ) == pytest.approx(440, abs=1)
    assert level_db(heard) == pytest.approx(level_db(tone), abs=1)


def test_a_stereo_sender_is_heard_from_both_sides() -> None:
    left, right = sine(440, 1.0, 48_000), sine(1_000, 1.0, 48_000)
    for quiet in (left * 0, right):
        heard = decoded(stereo_48k(left, quiet))
        assert len(heard) == pytest.approx(RATE_HZ, rel=0.05)
        for hz in (440, 1_000) if quiet.any() else (440,):
            at_s = np.arange(len(heard)) / RATE_HZ
            assert abs(np.mean(heard * np.exp(-2j * np.pi * hz * at_s))) > 0.05


def test_fec_brings_a_lost_packet_of_speech_back_and_concealment_does_not() -> None:
    sent = [packet.payload for packet in packets(speech(6.0))]
    gains_db = []
    for index in range(30, len(sent) - 1, 10):
        with_fec, with_plc, whole = OpusDecoder(), OpusDecoder(), OpusDecoder()
        for payload in sent[:index]:
            with_fec.decode(payload)
            with_plc.decode(payload)
            whole.decode(payload)
        meant = whole.decode(sent[index])
        if level_db(meant) > -40 and has_fec(sent[index + 1]):
            recovered = snr_db(with_fec.decode_fec(sent[index + 1], len(meant)), meant)
            gains_db.append(recovered - snr_db(with_plc.conceal(len(meant)), meant))
    assert len(gains_db) > 8
    assert np.median(gains_db) > 3


def test_concealment_of_any_length_goes_on_with_the_tone_and_fades() -> None:
    decoder = OpusDecoder()
    for packet in packets(sine(440, 0.4)):
        decoder.decode(packet.payload)
    first, later = decoder.conceal(500), [decoder.conceal(480) for _ in range(10)]
    assert len(first) == 500
    assert pitch_hz(first, RATE_HZ) == pytest.approx(440, abs=20)
    assert level_db(first) > -25 > level_db(later[-1])


@pytest.mark.parametrize("milliseconds", [10, 20, 40, 60])
def test_a_packet_tells_how_long_it_lasts(milliseconds: int) -> None:
    payload = packets(sine(440, 0.2), milliseconds / 1000)[0].payload
    assert packet_samples(payload, 48_000) == 48 * milliseconds
    assert len(OpusDecoder().decode(payload)) == 24 * milliseconds


@pytest.mark.parametrize("junk", [b"", b"\xff\xff\xff", b"\x03"])
def test_junk_is_an_error_and_the_next_packet_decodes(junk: bytes) -> None:
    decoder = OpusDecoder()
    with pytest.raises(OpusError):
        decoder.decode(junk)
    assert len(decoder.decode(packets(sine(440, 0.1))[0].payload)) == 480


def test_a_rate_that_opus_does_not_know_is_told_with_those_it_does() -> None:
    for codec in (OpusDecoder, OpusEncoder):
        with pytest.raises(ConfigError, match="24"):
            codec(22_050)


def test_speech_is_sent_at_the_bit_rate_asked_for_and_with_fec() -> None:
    sent = [packet.payload for packet in packets(speech(6.0))]
    assert sum(map(len, sent)) * 8 / 6.0 == pytest.approx(32_000, rel=0.2)
    assert sum(map(has_fec, sent)) > len(sent) / 2
