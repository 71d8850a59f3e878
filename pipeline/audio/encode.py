"""PCM in, Opus packets out."""

from pipeline.audio.opus import OpusEncoder
from pipeline.types import AudioFrame, OpusPacket

PACKET_TICKS = 960
"""20 ms at RTP's 48 kHz (RFC 7587 section 4.1)."""


class Encode:
    """A Stage[AudioFrame, OpusPacket]: each frame of 20 ms is a packet, numbered from zero."""

    def __init__(self, encoder: OpusEncoder) -> None:
        self._encoder = encoder
        self._sent = 0

    def push(self, frame: AudioFrame) -> list[OpusPacket]:
        payload = self._encoder.encode(frame.pcm)
        packet = OpusPacket(payload, self._sent, self._sent * PACKET_TICKS, frame.arrived_s)
        self._sent += 1
        return [packet]
