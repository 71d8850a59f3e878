from pathlib import Path

import pytest

from pipeline.audio.rtpdump import read_rtpdump, write_rtpdump
from pipeline.errors import InputError
from pipeline.types import OpusPacket

SENT = [OpusPacket(bytes([n] * 20), 65_534 + n, 2**32 - 960 + 960 * n, n / 50) for n in range(5)]


def test_a_recording_is_read_as_it_was_written_across_the_wrap(tmp_path: Path) -> None:
    path = tmp_path / "call.rtpdump"
    write_rtpdump(path, SENT)
    assert list(read_rtpdump(path)) == SENT


def test_rtcp_in_a_recording_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "call.rtpdump"
    write_rtpdump(path, SENT)
    rtcp = bytes([0, 16, 0, 0, 0, 0, 0, 0]) + b"\x80\xc8" + b"\0" * 6
    path.write_bytes(path.read_bytes() + rtcp)
    assert list(read_rtpdump(path)) == SENT


def test_a_recording_that_is_cut_short_is_told_wherever_it_was_cut(tmp_path: Path) -> None:
    path = tmp_path / "call.rtpdump"
    write_rtpdump(path, SENT[:1])
    whole = path.read_bytes()
    whole_header = whole.index(b"\n") + 17
    for size in set(range(len(whole))) - {whole_header}:
        path.write_bytes(whole[:size])
        with pytest.raises(InputError):
            list(read_rtpdump(path))


def test_any_other_file_is_refused_with_what_was_expected(tmp_path: Path) -> None:
    path = tmp_path / "voice.wav"
    path.write_bytes(b"RIFF" + b"\n" * 100)
    with pytest.raises(InputError, match="rtpplay"):
        list(read_rtpdump(path))
