"""How often one address may be wrong about the secret. Pure."""

from collections import Counter

from server.errors import LockedOut

MOST = 10
"""Wrong secrets of one address in a window: a typing person needs fewer, a list of words more."""

WINDOW_S = 60.0


class Guesses:
    """Counts in fixed windows, the same for all. `now` is in seconds."""

    def __init__(self) -> None:
        self._wrong: Counter[str] = Counter()
        self._until_s = 0.0

    def check(self, client_ip: str, now: float) -> None:
        """Raises LockedOut if the address has guessed too often, whatever it says now."""
        self._turn_over(now)
        if self._wrong.get(client_ip, 0) >= MOST:
            raise LockedOut(retry_after_s=self._until_s - now)

    def wrong(self, client_ip: str, now: float) -> None:
        self._turn_over(now)
        self._wrong[client_ip] += 1

    def _turn_over(self, now: float) -> None:
        if now >= self._until_s:
            self._wrong.clear()
            self._until_s = now + WINDOW_S
