"""Re-cuts a stream to the front-end's frame."""

import numpy as np

from pipeline.types import AudioFrame


class Framer:
    """A Stage[AudioFrame, AudioFrame] whose frames all hold `frame_samples`."""

    def __init__(self, frame_samples: int) -> None:
        self._frame_samples = frame_samples
        self._waiting: list[AudioFrame] = []
        self._samples = 0

    def push(self, frame: AudioFrame) -> list[AudioFrame]:
        if not self._waiting and len(frame.pcm) == self._frame_samples:
            return [frame]
        self._waiting.append(frame)
        self._samples += len(frame.pcm)
        return self._cut() if self._samples >= self._frame_samples else []

    def _cut(self) -> list[AudioFrame]:
        whole = _joined(self._waiting)
        size, end = self._frame_samples, len(whole.pcm)
        rest = end % size
        self._waiting = [_part(whole, end - rest, end)] if rest else []
        self._samples = rest
        return [_part(whole, start, start + size) for start in range(0, end - rest, size)]


def _joined(frames: list[AudioFrame]) -> AudioFrame:
    last = frames[-1]
    pcm = np.concatenate([frame.pcm for frame in frames])
    concealed = sum(frame.concealed for frame in frames)
    pts = last.pts + len(last.pcm) - len(pcm)  # the newest is in its place, whatever was put before
    return AudioFrame(pcm, last.rate_hz, pts, last.arrived_s, concealed)


def _part(frame: AudioFrame, start: int, stop: int) -> AudioFrame:
    """Samples `start` to `stop`, with their share of those concealed."""
    share = frame.concealed * stop // len(frame.pcm) - frame.concealed * start // len(frame.pcm)
    pcm = frame.pcm[start:stop]
    return AudioFrame(pcm, frame.rate_hz, frame.pts + start, frame.arrived_s, share)
