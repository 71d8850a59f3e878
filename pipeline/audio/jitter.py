"""RTP in, a continuous stream of PCM in real time out.

Packets are decoded as they arrive: nothing is buffered unless one is missing. What is missing
is waited for briefly, then recovered from the next packet's FEC, else concealed; without RTP
there is silence, in real time. Whatever happened, audio that would come later than the
earliest packets do is dropped, so that no delay is ever kept. Only the burst that begins a stream
is heard in full: it held words, and nothing was invented in their place.
"""

import math
from collections import deque
from dataclasses import dataclass

import numpy as np

from pipeline.audio.opus import OpusDecoder, OpusError, has_fec, packet_samples
from pipeline.audio.pace import Pace
from pipeline.audio.reorder import Ordered, Reorder
from pipeline.audio.skew import Skew
from pipeline.types import AudioFrame, OpusPacket, Pcm, silence

WAIT_S = 0.03
"""How long a missing packet is waited for; a Nack is sent only if its answer can be in time."""

QUIET_S = 0.06
"""When the next packet is this late and nothing else has come, audio is invented."""

CONCEAL_S = 0.06
"""How much of it is a guess (PLC); silence afterwards."""

PAUSED_S = 1.0

FRAME_S = 0.02
"""Of silence; and the stream is never further ahead of real time."""

BEHIND_S = 0.2
"""When we ourselves stood still, older audio than this is not caught up with."""

HEAD_S = 1.0
"""Of what came before we listened, or was held up on its way until now, so much is heard."""

RTP_HZ = 48_000
LATENESS_PACKETS = 256


@dataclass(frozen=True, slots=True)
class Nack:
    """Ask the sender for these again (RFC 4585 section 6.2.1)."""

    sequences: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class JitterStats:
    """Since the buffer began, except for the lateness."""

    received: int
    """Packets, duplicates and late ones among them."""
    lost: int
    recovered_fec: int
    late: int
    duplicates: int
    undecodable: int
    samples: int
    """Given out."""
    concealed: int
    """Samples invented, of those."""
    dropped: int
    """Samples cut to stay in real time, but not to fall into step with a sender that begins."""
    lateness_p95_s: float
    """Behind the earliest of the last 5 s."""


class JitterBuffer:
    """A TimedCore[OpusPacket, AudioFrame | Nack]."""

    def __init__(self, decoder: OpusDecoder) -> None:
        self.rtt_s: float | None = None
        """Round trip to the sender, set by the shell; None: unknown."""
        rate_hz = self._rate_hz = decoder.rate_hz
        self._decoder = decoder
        self._frame = int(FRAME_S * rate_hz)
        self._order = Reorder(WAIT_S)
        self._pace = Pace(rate_hz)
        self._skew = Skew(self._frame)
        self._packet = self._frame
        self._expected_timestamp: int | None = None
        self._played_s = 0.0
        self._filled = int(CONCEAL_S * rate_hz)
        self._first_s = math.inf
        """When the first packet was played."""
        self._head = int(HEAD_S * rate_hz)
        """Samples that may yet show that the stream began before that."""
        self._paused = False
        self._settling = self._frame
        """Samples that may yet be cut because the first packet after silence came late."""
        self._transit_s: deque[float] = deque(maxlen=LATENESS_PACKETS)
        self._received = self._recovered = self._undecodable = 0
        self._concealed = self._dropped = 0

    @property
    def stats(self) -> JitterStats:
        transit_s = np.array(self._transit_s or [0.0])
        return JitterStats(
            received=self._received,
            lost=self._order.lost,
            recovered_fec=self._recovered,
            late=self._order.late,
            duplicates=self._order.duplicates,
            undecodable=self._undecodable,
            samples=self._pace.position,
            concealed=self._concealed,
            dropped=self._dropped,
            lateness_p95_s=float(np.percentile(transit_s, 95) - transit_s.min()),
        )

    def push(self, packet: OpusPacket, now: float) -> list[AudioFrame | Nack]:
        self._begin(now)
        self._received += 1
        out: list[AudioFrame | Nack] = []
        missing = self._order.missing_before(packet.sequence)
        if missing and self.rtt_s is not None and self.rtt_s < WAIT_S:
            out.append(Nack(missing))
        released = self._order.push(packet)
        self._transit_s.append(packet.arrived_s - packet.timestamp / RTP_HZ)
        for ordered in released + self._order.poll(now):
            out += self._play(ordered, now)
        return out

    def deadline(self) -> float:
        if not self._pace.started:
            return 0.0
        held_s = self._order.deadline()
        return self._fill_due_s() if held_s is None else held_s

    def poll(self, now: float) -> list[AudioFrame | Nack]:
        self._begin(now)
        out: list[AudioFrame | Nack] = []
        for ordered in self._order.poll(now):
            out += self._play(ordered, now)
        if not out and self._order.deadline() is None and now >= self._fill_due_s():
            # One at a time: RTP that waits in a channel goes before more silence.
            out += self._fill(now)
        return out

    def _begin(self, now: float) -> None:
        if not self._pace.started:
            self._pace.start(now)
            self._played_s = now
        self._pace.slip(now, int(BEHIND_S * self._rate_hz))

    def _fill_due_s(self) -> float:
        due_s = self._pace.when(-self._frame)
        if self._filled:
            return due_s
        return max(due_s, self._played_s + self._packet / self._rate_hz + QUIET_S)

    def _fill(self, now: float) -> list[AudioFrame | Nack]:
        if now - self._played_s >= PAUSED_S and not self._paused:
            self._paused = True
            self._order.restart()
        guess = self._filled < CONCEAL_S * self._rate_hz
        pcm = self._decoder.conceal(self._frame) if guess else silence(self._frame)
        self._filled += self._frame
        self._settling = self._frame
        self._skew.reset()
        return self._emit(self._fit(pcm, now), now, concealed=self._frame)

    def _play(self, ordered: Ordered, now: float) -> list[AudioFrame | Nack]:
        packet = ordered.packet
        first = self._expected_timestamp is None
        self._first_s = min(self._first_s, now)
        gap = (packet.timestamp - (self._expected_timestamp or 0)) * self._rate_hz // RTP_HZ
        if ordered.fresh or abs(gap) > self._rate_hz:
            self._transit_s.clear()
            self._skew.reset()
            gap = 0
        missing = min(gap - self._filled, int(BEHIND_S * self._rate_hz))
        out = self._bridge(ordered, missing, now) if missing > 0 else []
        pcm, concealed = self._decode(packet.payload)
        self._packet = len(pcm)
        self._expected_timestamp = packet.timestamp + len(pcm) * RTP_HZ // self._rate_hz
        self._played_s, self._filled, self._paused = now, 0, False
        phase = self._skew.middle - min(len(pcm), self._frame)
        if first or self._begins(len(pcm), phase, now):
            # Silence knew nothing of the sender's phase. What it sends later keeps it.
            self._pace.align(now, phase)
        pcm = self._fit(pcm, now)
        pcm = self._skew.correct(pcm, self._pace.ahead(now) + len(pcm), now)
        return out + self._emit(pcm, packet.arrived_s, concealed)

    def _begins(self, samples: int, phase: int, now: float) -> bool:
        """Is this packet of the burst that begins the stream, so that those before were late?"""
        ahead = self._pace.ahead(now)
        early = ahead - phase if ahead + samples > self._frame else 0
        if now - self._first_s > QUIET_S or not 0 < early <= self._head:
            return False
        self._head -= early
        return True

    def _bridge(self, ordered: Ordered, missing: int, now: float) -> list[AudioFrame | Nack]:
        """The `missing` samples before a packet: lost, or never sent (DTX)."""
        payload, recovered = ordered.packet.payload, 0
        if ordered.lost and has_fec(payload):
            pcm = self._decoder.decode_fec(payload, missing)
            recovered = packet_samples(payload, self._rate_hz)
            self._recovered += 1
        else:
            pcm = self._decoder.conceal(missing)
        invented = max(0, missing - recovered)
        return self._emit(self._fit(pcm, now), ordered.packet.arrived_s, invented)

    def _decode(self, payload: bytes) -> tuple[Pcm, int]:
        """The packet's audio and how much of it is invented."""
        try:
            return self._decoder.decode(payload), 0
        except OpusError:
            self._undecodable += 1
            return self._decoder.conceal(self._packet), self._packet

    def _fit(self, pcm: Pcm, now: float) -> Pcm:
        """`pcm` without what would put the stream further ahead than it may be.

        Whole frames go, so that packets and the front-end's frames stay in step.
        """
        surplus = max(0, self._pace.ahead(now) + len(pcm) - self._frame)
        cut = min(len(pcm), -(-surplus // self._frame) * self._frame)
        settled = min(cut, self._settling)
        self._settling -= settled
        self._dropped += cut - settled
        return pcm[cut:]

    def _emit(self, pcm: Pcm, arrived_s: float, concealed: int) -> list[AudioFrame | Nack]:
        if not len(pcm):
            return []
        concealed = min(concealed, len(pcm))
        self._concealed += concealed
        frame = AudioFrame(pcm, self._rate_hz, self._pace.position, arrived_s, concealed)
        self._pace.advance(len(pcm))
        return [frame]
