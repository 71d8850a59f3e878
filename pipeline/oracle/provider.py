"""An LLM as all conversations of a server share it: with deadlines, and left alone when it asks
to be."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from pipeline.clock import now
from pipeline.errors import ServiceError
from pipeline.llm.face import TextModel, Usage
from pipeline.oracle.brevity import Brevity
from pipeline.settings import OracleSettings
from pipeline.types import Message

SHAKY_S = 10.0
"""So long others are preferred to one that failed; doubles each time it fails again."""
LONGEST_SHAKY_S = 300.0


class Standing:
    """Whether a provider can be asked, by how it has done. A pure core."""

    def __init__(self) -> None:
        self.answered()

    def failed(self, error: ServiceError, now: float) -> None:
        shaky_s = min(SHAKY_S * 2.0 ** min(self._failures, 16), LONGEST_SHAKY_S)
        self._failures += 1
        self._shaky_until_s = now + shaky_s
        self._out_until_s = now + error.retry_after_s
        self._cause = str(error)

    def answered(self) -> None:
        """To the end: whatever was wrong is over."""
        self._failures = 0
        self._out_until_s = self._shaky_until_s = float("-inf")
        self._cause = ""

    def fresh(self, now: float) -> bool:
        """It may be asked, and has not failed lately."""
        return now >= max(self._out_until_s, self._shaky_until_s)

    def lately(self, now: float) -> str:
        """What was wrong, if it may be asked but others are preferred."""
        return "" if self.fresh(now) or self.out(now) else self._cause

    def out(self, now: float) -> ServiceError | None:
        """Why it must not be asked, if so."""
        left_s = self._out_until_s - now
        return None if left_s <= 0 else ServiceError("llm", self._cause, retry_after_s=left_s)


class Provider:
    """`name` is the model's."""

    def __init__(self, model: TextModel, settings: OracleSettings) -> None:
        self.name = model.name
        self.standing = Standing()
        self._model = model
        self._settings = settings

    async def answer(self, messages: Sequence[Message]) -> AsyncGenerator[str | Usage, None]:
        """The answer as it is to be spoken. Raises ServiceError, for silence too."""
        try:
            async with aclosing(self._brief(messages)) as pieces:
                async for piece in pieces:
                    yield piece
        except ServiceError as error:
            self.standing.failed(error, now())
            raise
        self.standing.answered()

    async def _brief(self, messages: Sequence[Message]) -> AsyncGenerator[str | Usage, None]:
        brevity = Brevity(self._settings.answer_sentences)
        said = False
        async with aclosing(self._model.stream(messages)) as stream:
            while not brevity.done:
                limit_s = self._settings.stall_s if said else self._settings.first_token_s
                try:
                    async with asyncio.timeout(limit_s):
                        piece = await anext(stream)
                except StopAsyncIteration:
                    break
                except TimeoutError as error:
                    raise ServiceError("llm", f"{self.name} fell silent.") from error
                if isinstance(piece, Usage):
                    yield piece
                elif text := brevity.push(piece):
                    said = True
                    yield text
        if not said:
            raise ServiceError("llm", f"{self.name} answered with nothing.")
