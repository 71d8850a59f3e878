"""The contract of a text model."""

from collections.abc import AsyncGenerator, Sequence
from typing import Protocol

from pipeline.types import Message


class TextModel(Protocol):
    """A streaming chat model behind any API."""

    @property
    def name(self) -> str:
        """As shown to people: "gpt-4.1", "smollm2-135m (local)"."""

    def stream(self, messages: Sequence[Message]) -> AsyncGenerator[str, None]:
        """The answer's text in pieces, spaces kept.

        Closing the generator (or cancelling its reader) closes the connection behind it.
        Raises ServiceError for anything the back-end does wrong.
        """
