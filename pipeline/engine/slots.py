"""Which places of an engine are taken, and by whom."""

from pipeline.errors import EngineFull
from pipeline.types import Slot


class SlotTable:
    """A slot's generation rises each time it is taken, so that a stale holder changes nothing."""

    def __init__(self, size: int, generation: int = 0) -> None:
        self.size = size
        self._generations = [generation] * size
        self._live: dict[int, Slot] = {}

    @property
    def live(self) -> int:
        """How many are taken."""
        return len(self._live)

    def take(self) -> Slot:
        """The lowest free slot. Raises EngineFull if there is none."""
        for index in range(self.size):
            if index not in self._live:
                self._generations[index] += 1
                slot = self._live[index] = Slot(index, self._generations[index])
                return slot
        raise EngineFull(f"all {self.size} slots are taken", hint="Try again when a call ends.")

    def release(self, slot: Slot) -> bool:
        """Give it back; False, and nothing changes, if `slot` is stale."""
        if not self.holds(slot):
            return False
        del self._live[slot.index]
        return True

    def at(self, index: int) -> Slot:
        """Who has place `index` now."""
        return self._live[index]

    def holds(self, slot: Slot) -> bool:
        return self._live.get(slot.index) == slot
