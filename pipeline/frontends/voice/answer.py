"""One epoch's answer as it streams in, and how far it has been cut into clauses."""

from dataclasses import dataclass

from pipeline.frontends.voice.clauses import Size, clause_end, speakable
from pipeline.types import OracleUpdate


@dataclass(slots=True)
class Answer:
    epoch: int
    text: str = ""
    final: bool = False
    heard_until_s: float = 0.0
    """Media seconds of the user's speech it knows of."""
    at: int = 0
    """Position in `text` of what has not been cut off yet."""

    @property
    def exhausted(self) -> bool:
        """Nothing more will come of it."""
        return self.final and not self.text[self.at :].strip()

    def add(self, update: OracleUpdate) -> None:
        self.text += update.text
        self.final = self.final or update.final
        self.heard_until_s = max(self.heard_until_s, update.heard_until_s)

    def next_clause(self, size: Size) -> str | None:
        """Cut off the next clause that can be spoken; None: more text must come first."""
        while (end := clause_end(self.text, self.at, size, final=self.final)) is not None:
            clause, self.at = speakable(self.text[self.at : end]), end
            if clause:
                return clause
        return None
