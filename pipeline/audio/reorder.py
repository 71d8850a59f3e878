"""Puts packets in order: half of the jitter buffer, and pure. It knows no audio."""

from dataclasses import dataclass

from pipeline.types import OpusPacket

JUMP = 100
"""Packets. A sequence number further off than this belongs to a restarted sender, and is
believed when the next one follows on it (RFC 3550 appendix A.1)."""


@dataclass(frozen=True, slots=True)
class Ordered:
    """The next packet to play."""

    packet: OpusPacket
    lost: int = 0
    """Packets given up just before it."""
    fresh: bool = False
    """The sender began (again) here: it continues nothing."""


class Reorder:
    """Holds packets that came before one that is missing, for `wait_s` at most."""

    def __init__(self, wait_s: float) -> None:
        self.lost = self.late = self.duplicates = 0
        self._next: int | None = None
        self._highest = 0
        self._held: dict[int, OpusPacket] = {}
        self._wait_s = wait_s
        self._given_up: set[int] = set()
        self._restart_at: int | None = None

    def restart(self) -> None:
        """Believe whatever comes next."""
        self._next = None
        self._held.clear()
        self._given_up.clear()

    def missing_before(self, sequence: int) -> tuple[int, ...]:
        """What this packet, just arrived, shows to be missing that was not known to be."""
        if self._next is None or not 0 <= sequence - self._next < JUMP:
            return ()
        return tuple(range(max(self._next, self._highest + 1), sequence))

    def push(self, packet: OpusPacket) -> list[Ordered]:
        """Take a packet, give back what can be played now."""
        sequence = packet.sequence
        if self._next is not None and not -JUMP <= sequence - self._next < JUMP:
            if sequence != self._restart_at:
                self._restart_at = sequence + 1
                self.late += 1
                return []
            self.restart()
        self._restart_at = None
        if self._next is None:
            self._next, self._highest = sequence + 1, sequence
            return [Ordered(packet, fresh=True)]
        if sequence < self._next or sequence in self._held:
            self._count_surplus(sequence)
            return []
        self._highest = max(self._highest, sequence)
        self._held[sequence] = packet
        return self._release(lost=0)

    def deadline(self) -> float | None:
        """When what is missing will be given up."""
        if not self._held:
            return None
        return min(packet.arrived_s for packet in self._held.values()) + self._wait_s

    def poll(self, now: float) -> list[Ordered]:
        """Give up what is overdue."""
        released: list[Ordered] = []
        while (due := self.deadline()) is not None and due <= now:
            released += self._release(self._give_up())
        return released

    def _release(self, lost: int) -> list[Ordered]:
        assert self._next is not None
        released = []
        while (packet := self._held.pop(self._next, None)) is not None:
            released.append(Ordered(packet, lost))
            self._next += 1
            lost = 0
        return released

    def _give_up(self) -> int:
        assert self._next is not None
        found = min(self._held)
        lost = found - self._next
        recent = {sequence for sequence in self._given_up if sequence >= found - JUMP}
        self._given_up = recent | set(range(self._next, found))
        self._next = found
        self.lost += lost
        return lost

    def _count_surplus(self, sequence: int) -> None:
        if sequence in self._given_up:
            self._given_up.discard(sequence)
            self.late += 1
        else:
            self.duplicates += 1
