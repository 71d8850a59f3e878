"""What became of the oracle's words: used, superseded or late. A pure core."""

from pipeline.events import Fate, OracleFate


class Ledger:
    """Holds the current epoch only; an older one is settled when a newer one speaks."""

    def __init__(self) -> None:
        self._epoch = 0
        self._received = 0
        self._spoken = 0
        self._late = False

    def received(self, epoch: int, text: str, *, during_reply: bool) -> list[OracleFate]:
        """A piece of `epoch`'s answer came; gives the fate of the epoch it replaces."""
        settled: list[OracleFate] = []
        if epoch > self._epoch:
            settled = self.settle()
            self._epoch, self._late = epoch, during_reply
        if epoch == self._epoch:
            self._received += len(text.split())
        return settled

    def spoken(self, epoch: int) -> None:
        """A word of `epoch` was played."""
        if epoch == self._epoch:
            self._spoken += 1

    def settle(self) -> list[OracleFate]:
        """No more of the current epoch will be spoken."""
        unspoken = max(0, self._received - self._spoken)
        used = Fate.LATE if self._late else Fate.USED
        fates = [
            OracleFate(self._epoch, fate, words)
            for fate, words in ((used, self._spoken), (Fate.SUPERSEDED, unspoken))
            if words
        ]
        self._received = self._spoken = 0
        return fates
