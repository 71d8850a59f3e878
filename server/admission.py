"""Who may talk now, who waits, and who is turned away. Pure.

A call is connecting (its offer was answered, no more), queued, live (has or takes a slot), or
lost (no slot, but it may resume). All count towards the total, calls + queue, and towards the
per-address limit; only who is connected gets a line, or a place in the queue.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from server.errors import Draining, TooBusy, UnknownCall

TYPICAL_CALL_S = 180.0
"""Taken for the mean length of calls until some have ended."""

_WEIGHT = 0.2
"""Of the newest call in the running mean."""


class State(Enum):
    CONNECTING = "connecting"
    QUEUED = "queued"
    LIVE = "live"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a call stands."""

    position: int
    """0: live. 1: next."""
    eta_s: float
    """Until it is live, by the mean length of calls."""


@dataclass(slots=True)
class _Entry:
    client_ip: str
    state: State = State.CONNECTING
    live_since_s: float = 0.0
    resumes: bool = False


class Admission:
    """`now` is in seconds and never falls.

    `fits` tells whether the engine has room for one more: a place alone is not enough.
    """

    def __init__(
        self,
        calls: int,
        queue: int,
        per_ip: int | None = None,
        fits: Callable[[], bool] = lambda: True,
    ) -> None:
        self._calls = calls
        self._fits = fits
        self._total = calls + queue
        self._per_ip = per_ip
        self._mean_call_s = TYPICAL_CALL_S
        self._entries: dict[str, _Entry] = {}
        self._queue: deque[str] = deque()
        self._closed = False

    def count(self, state: State) -> int:
        return sum(entry.state is state for entry in self._entries.values())

    def enter(self, call_id: str, client_ip: str) -> None:
        """Somebody calls. Raises TooBusy if there is no room, not even to wait in."""
        if self._closed:
            raise Draining
        from_ip = sum(entry.client_ip == client_ip for entry in self._entries.values())
        if self._per_ip is not None and from_ip >= self._per_ip:
            raise TooBusy(
                f"{from_ip} calls from this address are open, which is the limit.",
                retry_after_s=self._mean_call_s,
                hint="Hang one up first.",
            )
        if len(self._entries) >= self._total:
            raise TooBusy(
                "All lines and all places in the queue are taken.",
                retry_after_s=self._eta_s(1),
                hint="Try again later.",
            )
        self._entries[call_id] = _Entry(client_ip)

    def connected(self, call_id: str, now: float) -> None:
        """The call takes a line, or waits for one; if it has done so before, nothing changes.

        Raises UnknownCall.
        """
        entry = self._find(call_id)
        if entry.state is State.CONNECTING:
            entry.state = State.QUEUED
            self._queue.append(call_id)
            self.admit(now)

    def lose(self, call_id: str, now: float) -> None:
        """A call's caller is gone but may resume."""
        entry = self._find(call_id)
        self._give_up(call_id, entry, now)
        entry.state = State.LOST
        self.admit(now)

    def resume(self, call_id: str, now: float) -> Place:
        """A lost call is back: it goes before all who have not talked yet.

        Raises UnknownCall if it has left, Draining if no call may begin any more.
        """
        entry = self._find(call_id)
        if entry.state is State.LOST:
            if self._closed:
                raise Draining
            entry.state, entry.resumes = State.QUEUED, True
            ahead = sum(self._entries[waiting].resumes for waiting in self._queue)
            self._queue.insert(ahead, call_id)
            self.admit(now)
        return self.place(call_id)

    def leave(self, call_id: str, now: float) -> None:
        """A call is over, in whatever state."""
        entry = self._entries.pop(call_id, None)
        if entry is not None:
            self._give_up(call_id, entry, now)
            self.admit(now)

    def admit(self, now: float) -> bool:
        """Whoever may talk now does. True if the queue moved."""
        waited = len(self._queue)
        while self._queue and self._has_room():
            entry = self._entries[self._queue.popleft()]
            entry.state, entry.live_since_s = State.LIVE, now
        return len(self._queue) < waited

    def place(self, call_id: str) -> Place:
        """Raises UnknownCall if the call has left, is lost or was never connected."""
        state = self._find(call_id).state
        if state is State.LIVE:
            return Place(0, 0.0)
        if state is not State.QUEUED:
            raise UnknownCall
        position = self._queue.index(call_id) + 1
        return Place(position, self._eta_s(position))

    def close(self) -> None:
        """Let nobody in any more."""
        self._closed = True

    def _find(self, call_id: str) -> _Entry:
        try:
            return self._entries[call_id]
        except KeyError:
            raise UnknownCall from None

    def _give_up(self, call_id: str, entry: _Entry, now: float) -> None:
        """The call's slot, or its place in the queue."""
        if entry.state is State.LIVE:
            self._measure(entry, now)
        elif entry.state is State.QUEUED:
            self._queue.remove(call_id)

    def _has_room(self) -> bool:
        return not self._closed and self.count(State.LIVE) < self._calls and self._fits()

    def _measure(self, entry: _Entry, now: float) -> None:
        self._mean_call_s += _WEIGHT * (now - entry.live_since_s - self._mean_call_s)

    def _eta_s(self, position: int) -> float:
        return position * self._mean_call_s / self._calls
