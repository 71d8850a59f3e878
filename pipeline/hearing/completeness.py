"""Is this all they say? Asked of a language model, which knows more than rules over words.

A model that is asked what comes after "What's the tallest building" names a place, and after "How
old are you" ends the message. Words pass through here on their way to hearing and come out with
the probability of that end; whoever is asked too late or not at all leaves them as they were.
"""

import asyncio
from dataclasses import replace
from typing import Protocol

from pipeline.channel import Channel, Outlet
from pipeline.errors import ServiceError
from pipeline.types import Transcript

PATIENCE_S = 0.15
"""A score that comes later would cost more than it saves."""


class Completeness(Protocol):
    async def score(self, text: str) -> float:
        """Probability that nothing follows `text`. Raises ServiceError."""


async def score_words(
    completeness: Completeness | None, inbox: Channel[Transcript], outlet: Outlet[Transcript]
) -> None:
    """Pass transcripts on until `inbox` ends: partials scored (Transcript.ends), finals at once.

    A partial that a newer transcript waits behind is left out: that one says all it says.
    """
    text, ends = "", None
    async for words in inbox:
        if words.final or completeness is None or not words.text:
            outlet.offer(words)
        elif not inbox.depth:
            if ends is None or words.text != text:
                text, ends = words.text, await _asked(completeness, words.text)
            outlet.offer(replace(words, ends=ends))


async def _asked(completeness: Completeness, text: str) -> float | None:
    try:
        async with asyncio.timeout(PATIENCE_S):
            return await completeness.score(text)
    except (ServiceError, TimeoutError):
        return None
