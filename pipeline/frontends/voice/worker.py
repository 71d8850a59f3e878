"""The TTS worker: a process of its own around Piper, which is GPL-3 and holds the GIL for long.

    python -m pipeline.frontends.voice.worker MODEL.onnx THREADS

Jobs come on stdin, audio goes to stdout (see wire.py). It ends when stdin does.
"""

import json
import os
import signal
import sys
import threading
from collections.abc import Iterator
from heapq import heappop, heappush
from pathlib import Path
from typing import IO, TYPE_CHECKING

import numpy as np
import soxr

from pipeline.frontends.voice.wire import Kind, Message, read_message
from pipeline.types import Pcm, silence

if TYPE_CHECKING:
    from piper import PiperVoice

RATE_HZ = 24_000

LOUD = 0.005
"""About −46 dBFS; Piper's silence is below 0.0001."""

LEAD_S = 0.01
"""Kept before the first loud sample; Piper puts 10 to 75 ms there."""

PAUSE_S = 0.25
"""Kept at the most after the last one; Piper puts 150 to 290 ms there."""

COMMA_S = 0.12
"""The same where the sentence goes on."""

OPENER_S = 0.04
"""The same after a single word ("Well,"): people hardly pause there."""


class Jobs:
    """Filled by the thread that reads, emptied by the one that speaks; urgent jobs first."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._heap: list[tuple[bool, int, str]] = []
        self._ended = False

    def read(self, stream: IO[bytes]) -> None:
        """Take messages until the stream ends."""
        while (message := read_message(stream)) is not None:
            with self._changed:
                self._take(message)
                self._changed.notify()
        with self._changed:
            self._ended = True
            self._changed.notify()

    def next(self) -> tuple[int, str] | None:
        """Waits for a job; None: there will be none."""
        with self._changed:
            self._changed.wait_for(lambda: self._heap or self._ended)
            if self._ended:
                return None
            _, job, text = heappop(self._heap)
            return job, text

    def _take(self, message: Message) -> None:
        if message.kind is Kind.CANCEL:
            self._heap = sorted(entry for entry in self._heap if entry[1] != message.job)
        else:
            urgent = message.kind is Kind.SAY_FIRST
            heappush(self._heap, (not urgent, message.job, message.text))


def load(model: Path, threads: int) -> "PiperVoice":
    import onnxruntime
    from piper import PiperConfig, PiperVoice

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # Spinning threads would take the cores that STT and LLM need between two clauses.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    session = onnxruntime.InferenceSession(
        str(model), sess_options=options, providers=["CPUExecutionProvider"]
    )
    config = json.loads(Path(f"{model}.json").read_text(encoding="utf-8"))
    return PiperVoice(session=session, config=PiperConfig.from_dict(config))


def speak(voice: "PiperVoice", text: str) -> Iterator[Pcm]:
    """`text` a sentence at a time, at RATE_HZ, with its pauses but without a silent start."""
    from piper import SynthesisConfig

    # Scaling each clip to full range, Piper's default, makes short ones twice as loud.
    plain = SynthesisConfig(normalize_audio=False)
    for chunk in voice.synthesize(text, plain):
        pcm = soxr.resample(chunk.audio_float_array, chunk.sample_rate, RATE_HZ)
        yield trimmed(pcm.astype(np.float32), pause_after_s(text))


def pause_after_s(text: str) -> float:
    if not text.endswith(","):
        return PAUSE_S
    return COMMA_S if " " in text else OPENER_S


def trimmed(pcm: Pcm, pause_s: float) -> Pcm:
    """Without the silence before speech, and with no more than a pause after it."""
    loud = np.flatnonzero(np.abs(pcm) > LOUD)
    if not len(loud):
        return silence(0)
    start = max(0, int(loud[0]) - int(LEAD_S * RATE_HZ))
    return pcm[start : int(loud[-1]) + int(pause_s * RATE_HZ)]


def serve(voice: "PiperVoice", jobs: Jobs, out: IO[bytes]) -> None:
    while (job := jobs.next()) is not None:
        number, text = job
        try:
            for pcm in speak(voice, text):
                _send(out, Message(Kind.PIECE, number, pcm.tobytes()))
            _send(out, Message(Kind.LAST, number))
        except Exception as error:  # one text that cannot be spoken is no reason to end
            # Its message may quote the text, and what is said is never logged.
            _send(out, Message(Kind.FAILED, number, type(error).__name__.encode()))


def _send(out: IO[bytes], message: Message) -> None:
    out.write(message.packed())
    out.flush()


def main(model: str, threads: str) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):  # the server's affair: it needs a voice to drain
        signal.signal(number, signal.SIG_IGN)
    out = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what libraries print is not audio
    try:
        voice = load(Path(model), int(threads))
        list(speak(voice, "Ready."))  # the first run allocates
    except Exception as error:
        _send(out, Message(Kind.FAILED, 0, str(error).encode()))
        return
    _send(out, Message(Kind.READY))
    jobs = Jobs()
    threading.Thread(target=jobs.read, args=(sys.stdin.buffer,), name="jobs", daemon=True).start()
    serve(voice, jobs, out)


if __name__ == "__main__":
    main(*sys.argv[1:])
