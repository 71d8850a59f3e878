"""A text model that says, fails and falls silent as it is told."""

import asyncio
from collections.abc import AsyncGenerator, Sequence

from pipeline.errors import ServiceError
from pipeline.types import Message


class ScriptedModel:
    """Each answer is a list of pieces, seconds of silence, or errors; the last one repeats."""

    def __init__(
        self, *answers: Sequence[str | float | ServiceError], name: str = "scripted"
    ) -> None:
        self.name = name
        self._answers = list(answers)
        self.prompts: list[list[Message]] = []
        self.open = 0
        """Streams that are not closed."""

    async def stream(self, messages: Sequence[Message]) -> AsyncGenerator[str, None]:
        self.prompts.append(list(messages))
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        self.open += 1
        try:
            for part in answer:
                if isinstance(part, ServiceError):
                    raise part
                if isinstance(part, str):
                    yield part
                else:
                    await asyncio.sleep(part)
        finally:
            self.open -= 1
