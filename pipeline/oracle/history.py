"""What was heard and what was really said, as an LLM is shown it: a pure core."""

from dataclasses import dataclass

from pipeline.types import Message

FRAGMENT_WORDS = 6
"""A reply cut off before this many words answered nothing: the user was not done speaking."""


@dataclass(slots=True)
class _Turn:
    role: str
    number: int
    """Utterance or reply."""
    text: str
    complete: bool = True

    @property
    def fragment(self) -> bool:
        return not self.complete and len(self.text.split()) < FRAGMENT_WORDS


class History:
    """Bounded by `budget_tokens`; the oldest turns go first.

    A turn stays at the place where it was first told of, however often its text is told anew.
    """

    def __init__(self, budget_tokens: int) -> None:
        self._budget_tokens = budget_tokens
        self._turns: list[_Turn] = []

    def heard(self, utterance: int, text: str) -> None:
        """The user said (or wrote) `text` in this utterance; replaces what it was before."""
        self._put(_Turn("user", utterance, text.strip()))

    def retracted(self, utterance: int) -> None:
        """It asked for no answer after all."""
        self._turns = [t for t in self._turns if (t.role, t.number) != ("user", utterance)]

    def played(self, reply: int, text: str, *, complete: bool = True) -> None:
        """The listener heard `text` of this reply; replaces what it was before.

        `complete`: the reply was said to its end. Not so while it lasts, or if it was cut off.
        """
        self._put(_Turn("assistant", reply, text.strip(), complete))

    def owes(self, utterance: int) -> bool:
        """True while no reply that came after this utterance has been said to its end."""
        for turn in reversed(self._turns):
            if turn.role == "assistant" and turn.complete:
                return False
            if (turn.role, turn.number) == ("user", utterance):
                return True
        return True

    @property
    def newest_utterance(self) -> int:
        """The user's last turn; 0: there is none."""
        return next((t.number for t in reversed(self._turns) if t.role == "user"), 0)

    def messages(self, utterance: int = 0, text: str = "") -> tuple[Message, ...]:
        """The turns, roles alternating, `utterance` being `text` so far (if any is given).

        A user who goes on before they were answered said one thing: their turns are joined.
        """
        joined: list[Message] = []
        for turn in self._with(utterance, text.strip()):
            if not turn.text or turn.fragment:
                continue
            if joined and joined[-1].role == turn.role:
                joined[-1] = Message(turn.role, f"{joined[-1].text} {turn.text}")
            else:
                joined.append(Message(turn.role, turn.text))
        return tuple(joined)

    def question(self, utterance: int, text: str) -> tuple[Message, ...]:
        """The same up to the user's last words: what was replied to them already is left out, as
        they are asked anew."""
        messages = list(self.messages(utterance, text))
        while messages and messages[-1].role == "assistant":
            messages.pop()
        return tuple(messages)

    def _with(self, utterance: int, text: str) -> list[_Turn]:
        if not text:
            return self._turns
        asked = _Turn("user", utterance, text)
        if self._find(asked) is None:
            return [*self._turns, asked]
        return [asked if self._same(turn, asked) else turn for turn in self._turns]

    def _put(self, turn: _Turn) -> None:
        place = self._find(turn)
        if place is None:
            self._turns.append(turn)
        else:
            self._turns[place] = turn
        self._trim()

    def _find(self, turn: _Turn) -> int | None:
        return next((i for i, each in enumerate(self._turns) if self._same(each, turn)), None)

    @staticmethod
    def _same(one: _Turn, other: _Turn) -> bool:
        return (one.role, one.number) == (other.role, other.number)

    def _trim(self) -> None:
        # Half of it goes at once: an LLM's prompt cache survives until the front changes.
        if sum(tokens(turn.text) for turn in self._turns) <= self._budget_tokens:
            return
        left = self._budget_tokens // 2
        kept = 0
        for turn in reversed(self._turns):
            left -= tokens(turn.text)
            if left < 0 and kept:
                break
            kept += 1
        self._turns = self._turns[-kept:]


def tokens(text: str) -> int:
    """About how many tokens an LLM makes of `text`: 4 ASCII letters, or 1 of another script."""
    others = sum(not letter.isascii() for letter in text)
    return 4 + others + (len(text) - others) // 4
