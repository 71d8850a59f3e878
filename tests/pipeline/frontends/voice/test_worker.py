import io
from collections.abc import Iterator
from typing import Any, cast

import numpy as np
import pytest

from pipeline.frontends.voice.wire import Kind, read_message
from pipeline.frontends.voice.worker import RATE_HZ, Jobs, pause_after_s, serve, trimmed
from pipeline.types import silence
from tests.fakes.tone_voice import tone


class Once:
    """A single job."""

    def __init__(self, text: str) -> None:
        self._jobs: list[tuple[int, str]] = [(7, text)]

    def next(self) -> tuple[int, str] | None:
        return self._jobs.pop() if self._jobs else None


class Choking:
    def synthesize(self, text: str, *settings: object) -> Iterator[Any]:
        raise ValueError(f"cannot pronounce {text!r}")


def test_a_failure_is_told_without_what_was_to_be_said() -> None:
    out = io.BytesIO()
    serve(cast(Any, Choking()), cast(Jobs, Once("My pin is 1234.")), out)
    out.seek(0)
    message = read_message(out)
    assert message is not None
    assert (message.kind, message.job, message.text) == (Kind.FAILED, 7, "ValueError")


@pytest.mark.parametrize(
    ("text", "pause_s"), [("Well,", 0.04), ("It is, as I said,", 0.12), ("It is.", 0.25)]
)
def test_the_pause_after_words_is_as_long_as_their_end_asks_for(text: str, pause_s: float) -> None:
    pcm = np.concatenate([silence(1000), tone(0.3), silence(RATE_HZ)])
    kept = trimmed(pcm, pause_after_s(text))
    assert len(kept) / RATE_HZ == pytest.approx(0.01 + 0.3 + pause_s, abs=0.002)
