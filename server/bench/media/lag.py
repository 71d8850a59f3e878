"""How late an event loop wakes up."""

import asyncio

import numpy as np

from pipeline.clock import now

TICK_S = 0.01


class Lag:
    """How late the event loop wakes up."""

    def __init__(self) -> None:
        self._late_s: list[float] = []

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            due_s = now() + TICK_S
            await asyncio.sleep(TICK_S)
            self._late_s.append(now() - due_s)

    def take_p99_ms(self) -> float:
        """Since it was taken last."""
        late_s, self._late_s = self._late_s, []
        return 1000 * float(np.percentile(late_s or [0.0], 99))
