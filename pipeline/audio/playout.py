"""The engine's blocks in, frames of 20 ms to be encoded out, in real time.

A block leaves at once, all its packets together: the listener's jitter buffer spreads them
better than we could. But the stream is never further ahead of real time than one block, so
that a burst after a stall does not become a delay over there.
"""

from collections import deque
from dataclasses import dataclass

import numpy as np

from pipeline.audio.pace import Pace
from pipeline.types import AudioFrame, silence

SLACK_S = 0.04
"""How late a block may be before silence takes its place."""

BACKLOG_S = 0.4
"""Beyond this even speech is dropped."""

SILENT = 0.003
"""Peak (−50 dBFS) up to which a frame may be dropped unheard."""


@dataclass(frozen=True, slots=True)
class PlayoutStats:
    """Frames of 20 ms since it began."""

    played: int
    """Of the engine's audio."""
    filled: int
    """Silence, for want of it."""
    dropped_silent: int
    dropped_speech: int


class Playout:
    """A TimedCore[AudioFrame, AudioFrame]. A block's `pts` is its place in the slot's output."""

    def __init__(self, frame_samples: int, rate_hz: int = 24_000) -> None:
        self._packet = rate_hz // 50
        assert frame_samples % self._packet == 0, "a block is whole packets"
        self._block = frame_samples
        self._rate_hz = rate_hz
        self._slack = int(SLACK_S * rate_hz)
        self._hard = max(int(BACKLOG_S * rate_hz), 2 * frame_samples)
        self._queue: deque[AudioFrame] = deque()
        self._pace = Pace(rate_hz)
        self._dry = True
        self._sent_pts = 0
        self._played = self._filled = self._dropped_silent = self._dropped_speech = 0

    @property
    def stats(self) -> PlayoutStats:
        return PlayoutStats(self._played, self._filled, self._dropped_silent, self._dropped_speech)

    def push(self, block: AudioFrame, now: float) -> list[AudioFrame]:
        self._begin(now)
        self._queue.extend(self._packets(block))
        self._shed(now)
        return self._send(now)

    def deadline(self) -> float:
        if not self._pace.started:
            return 0.0
        return self._pace.when(self._block - self._packet if self._queue else self._floor())

    def poll(self, now: float) -> list[AudioFrame]:
        self._begin(now)
        if self._queue:
            return self._send(now)
        if self._pace.ahead(now) > self._floor():
            return []
        # The time waited for the block is lost: a burst to catch up would only fill the
        # listener's buffer.
        self._pace.slip(now, self._packet)
        self._pace.advance(self._packet)
        self._dry = True
        self._filled += 1
        pcm = silence(self._packet)
        return [AudioFrame(pcm, self._rate_hz, self._sent_pts, now, concealed=len(pcm))]

    def flush(self) -> int:
        """Barge-in: drop what waits. Returns where in the slot's output playing stopped."""
        self._queue.clear()
        return self._sent_pts

    def _begin(self, now: float) -> None:
        self._pace.start(now - self._packet / self._rate_hz)
        self._pace.slip(now, self._slack)

    def _floor(self) -> int:
        """How far behind real time silence is due: no slack for a block that is late already."""
        return -self._packet if self._dry else -self._slack

    def _packets(self, block: AudioFrame) -> list[AudioFrame]:
        size = self._packet
        return [
            AudioFrame(
                block.pcm[start : start + size],
                self._rate_hz,
                block.pts + start,
                block.arrived_s,
                min(block.concealed, size),
            )
            for start in range(0, len(block.pcm), size)
        ]

    def _send(self, now: float) -> list[AudioFrame]:
        sent = []
        while self._queue and self._pace.ahead(now) + self._packet <= self._block:
            frame = self._queue.popleft()
            self._pace.advance(self._packet)
            self._sent_pts = frame.pts + self._packet
            self._played += 1
            self._dry = False
            sent.append(frame)
        return sent

    def _shed(self, now: float) -> None:
        """Catch up: drop silence beyond a block and a packet, anything beyond the hard limit."""
        surplus = self._surplus(now, self._block + self._packet)
        if surplus <= 0:
            return
        kept: deque[AudioFrame] = deque()
        for frame in self._queue:
            if surplus > 0 and np.abs(frame.pcm).max() <= SILENT:
                self._dropped_silent += 1
                surplus -= self._packet
            else:
                kept.append(frame)
        self._queue = kept
        while self._surplus(now, self._hard) > 0:
            self._queue.popleft()
            self._dropped_speech += 1

    def _surplus(self, now: float, allowed: int) -> int:
        return self._pace.ahead(now) + len(self._queue) * self._packet - allowed
