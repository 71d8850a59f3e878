"""The contract of a text model."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Protocol

from pipeline.types import Message


@dataclass(frozen=True, slots=True)
class Usage:
    """What an answer cost, in tokens as its back-end counts them."""

    prompt_tokens: int
    answer_tokens: int


class TextModel(Protocol):
    """A streaming chat model behind any API."""

    @property
    def name(self) -> str:
        """As shown to people: "gpt-4.1", "smollm2-135m (local)"."""

    def stream(self, messages: Sequence[Message]) -> AsyncGenerator[str | Usage, None]:
        """The answer's text in pieces, spaces kept; last its cost, if the back-end tells it.

        Closing the generator (or cancelling its reader) closes the connection behind it.
        Raises ServiceError for anything the back-end does wrong, an answer cut short included.
        """
