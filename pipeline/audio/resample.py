"""Sample-rate conversion by FFmpeg's swresample.

It holds 1 ms of audio where soxr's streaming interface holds 19 (LQ), and unlike soxr's QQ it
filters, so that sibilants above 8 kHz do not fold back into what the STT hears.
"""

from contextlib import suppress

import av
import numpy as np
from av.filter import Graph

from pipeline.types import AudioFrame, Pcm


class Resampler:
    """A Stage[AudioFrame, AudioFrame]; passes frames through where the rates are equal."""

    def __init__(self, from_hz: int, to_hz: int) -> None:
        self._from_hz, self._to_hz = from_hz, to_hz
        self._converter = _converter(from_hz, to_hz)
        self._taken = self._made = 0
        self._newest: AudioFrame | None = None

    def push(self, frame: AudioFrame) -> list[AudioFrame]:
        assert frame.rate_hz == self._from_hz, f"{frame.rate_hz} Hz into {self._from_hz} Hz"
        if self._from_hz == self._to_hz:
            return [frame]
        if not len(frame.pcm):
            return []
        block = av.AudioFrame.from_ndarray(frame.pcm[np.newaxis], format="flt", layout="mono")
        block.sample_rate = self._from_hz
        self._taken += len(frame.pcm)
        self._newest = frame
        self._converter.push(block)
        return self._frames()

    def _frames(self) -> list[AudioFrame]:
        made = []
        with suppress(av.BlockingIOError):
            while True:
                pcm = self._converter.pull().to_ndarray()[0]
                made += [self._frame(pcm)] if len(pcm) else []
        return made

    def _frame(self, pcm: Pcm) -> AudioFrame:
        newest = self._newest
        assert newest is not None
        # Positions follow the input's, jumps included; within a run they have no holes.
        zero = newest.pts + len(newest.pcm) - self._taken
        pts = round(zero * self._to_hz / self._from_hz) + self._made
        self._made += len(pcm)
        concealed = min(len(pcm), round(newest.concealed * self._to_hz / self._from_hz))
        return AudioFrame(pcm, self._to_hz, pts, newest.arrived_s, concealed)


def _converter(from_hz: int, to_hz: int) -> Graph:
    """av.AudioResampler would start a thread a core, for each microphone."""
    graph = Graph()
    graph.threads = 1
    source = graph.add_abuffer(sample_rate=from_hz, format="flt", layout="mono")
    convert = graph.add("aformat", f"sample_fmts=flt:channel_layouts=mono:sample_rates={to_hz}")
    graph.link_nodes(source, convert, graph.add("abuffersink")).configure()
    return graph
