"""What every event needs: an id, and its place in the conversation. Pure but for the ids."""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

JsonObject = dict[str, Any]

NewId = Callable[[str], str]
"""Makes a unique id that begins with the given prefix and "_"."""


def random_id(prefix: str) -> str:
    return f"{prefix}_{uuid4().hex[:21]}"


class Writer:
    """One a call: allocates ids and knows which item came last."""

    def __init__(self, new_id: NewId = random_id) -> None:
        self.new_id = new_id
        self._last_item: str | None = None

    def event(self, kind: str, **fields: Any) -> JsonObject:
        return {"type": kind, "event_id": self.new_id("event"), **fields}

    def follow(self, item_id: str) -> str | None:
        """Put an item at the conversation's end; gives the one before it."""
        previous, self._last_item = self._last_item, item_id
        return previous
