"""Whether an engine in another process still lives: a pure core."""

LOOK_S = 0.5
"""Between two looks."""

PATIENCE = 10
"""So many looks in a row at an engine that owes an answer and gives none: it hangs."""

HANGS_AFTER_S = LOOK_S * PATIENCE


class Vitals:
    """Counts looks, not seconds: when we ourselves stood still, its answers may wait unread."""

    def __init__(self) -> None:
        self._looks: int | None = None

    def asked(self) -> None:
        """It was sent something that it must answer."""
        if self._looks is None:
            self._looks = 0

    def answered(self) -> None:
        """It gave a sign of life."""
        self._looks = None

    def hangs(self) -> bool:
        """A look."""
        if self._looks is not None:
            self._looks += 1
        return self._looks is not None and self._looks > PATIENCE
