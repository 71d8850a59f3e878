"""When a call is over, lost, or goes on with another peer: a pure core.

connecting ──▶ queued ──▶ live ──▶ over
                           ▲ │ silent
                    resumed │ ▼
                           lost ──▶ over
"""

from dataclasses import dataclass
from enum import Enum, auto

from pipeline.errors import UmigameError
from server.errors import Draining
from server.settings import LimitSettings

LAST_WORDS = 0.5
"""Share of the time to drain in which a reply may still end; then a call is told, and ended."""

LOST_S = 4.0
"""A peer is lost when no datagram came for so long, STUN consent (RFC 7675) included."""


class Turn(Enum):
    """Why a call stops serving a peer."""

    OVER = auto()
    LOST = auto()
    REPLACED = auto()


@dataclass(frozen=True, slots=True)
class Seen:
    """How things stand at the moment."""

    connected: bool
    closed: bool
    """The peer's connection has ended."""
    heard_at_s: float
    """When the peer was last heard."""
    replaced: bool
    """Another peer is connected and knows the call's token."""
    active_s: float = 0.0
    """When somebody last spoke or typed."""
    speaking: bool = False
    """A reply is being heard."""


class Life:
    """One call's. `now` is in seconds and never falls."""

    def __init__(self, limits: LimitSettings) -> None:
        self.ended: UmigameError | None = None
        """What to tell the caller, if the call did not end by their own wish."""
        self._limits = limits
        self._since_s = 0.0
        """When the peer being served came, or was lost."""
        self._live_since_s: float | None = None
        self._hung_up = self._draining = False
        self._drains_since_s: float | None = None

    def hang_up(self) -> None:
        self._hung_up = True

    def drain(self) -> None:
        """End once the reply that is being spoken has ended."""
        self._draining = True

    def fail(self, error: UmigameError) -> None:
        self.ended = error

    def serves(self, now: float) -> None:
        """A peer's turn begins."""
        self._since_s = now

    def talks(self, now: float) -> None:
        """The call has got its place."""
        if self._live_since_s is None:
            self._live_since_s = now

    def lost(self, now: float) -> None:
        self._since_s = now

    def turn(self, seen: Seen, now: float) -> Turn | None:
        """Whether to stop serving the peer."""
        self.ended = self.ended or self._limit_reached(seen, now)
        if self._hung_up or self.ended is not None:
            return Turn.OVER
        if seen.replaced:
            return Turn.REPLACED
        if seen.closed or (seen.connected and now - seen.heard_at_s > LOST_S):
            return Turn.OVER if self._live_since_s is None else Turn.LOST
        return None

    def waits(self, now: float) -> bool:
        """Whether a lost caller may still return."""
        gone = self._hung_up or self._draining
        return not gone and now - self._since_s < self._limits.grace_s

    def _limit_reached(self, seen: Seen, now: float) -> UmigameError | None:
        limits = self._limits
        if self._draining and self._has_said_all(seen, now):
            return Draining()
        if not seen.connected and now - self._since_s > limits.connect_s:
            return UmigameError(
                f"No connection within {limits.connect_s:.0f} s.",
                hint="A firewall may block UDP: see TURN in the README.",
            )
        if self._live_since_s is None:
            return None
        if now - self._live_since_s > limits.length_s:
            return UmigameError("The call reached its longest allowed length.")
        if now - max(seen.active_s, self._live_since_s) > limits.idle_s:
            return UmigameError("Nobody spoke for a long time.")
        return None

    def _has_said_all(self, seen: Seen, now: float) -> bool:
        if self._drains_since_s is None:
            self._drains_since_s = now
        return not seen.speaking or now - self._drains_since_s > LAST_WORDS * self._limits.drain_s


def returned(seen: Seen, now: float) -> bool:
    """A lost peer's path has revived."""
    return not seen.closed and now - seen.heard_at_s < LOST_S
