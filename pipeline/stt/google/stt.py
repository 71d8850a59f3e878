"""Speech to text by Google's streaming recogniser, in any language it knows.

What is sent where, and whose words come back, is relay.py's to know. A broken run leaves its
audio and words to the next one (supervise.py decides when that is), so that a question asked
while Google was away is answered once it is back.
"""

import asyncio
from weakref import WeakKeyDictionary

from pipeline.channel import Channel, Outlet
from pipeline.clock import now
from pipeline.errors import ServiceError
from pipeline.probe import NoProbe
from pipeline.stt.face import Listened
from pipeline.stt.google.exchange import Exchange, Speech
from pipeline.stt.relay import Relay
from pipeline.stt.streams import Times, Unexplained
from pipeline.timed import run_timed
from pipeline.types import SessionConfig, Transcript

CHECK_S = 1.5
"""To be understood in after a failure; less than it takes a run to count as well."""


class GoogleStt:
    """Implements SpeechToText; one for all conversations."""

    rate_hz = 16_000
    languages: tuple[str, ...] = ()

    def __init__(self, speech: Speech, name: str = "Google", times: Times | None = None) -> None:
        self.name = name
        self._speech, self._times = speech, times
        self._interrupted = WeakKeyDictionary[Channel[Listened], Relay]()
        """What runs that failed had heard, by what they listened to."""

    async def transcribe(
        self, config: SessionConfig, inbox: Channel[Listened], outbox: Outlet[Transcript]
    ) -> None:
        relay = self._interrupted.pop(inbox, None)
        failure = None if relay is None else await self._check(config.language)
        relay = relay or Relay(self.rate_hz, self._times)
        if failure is None:
            failure = await self._run(relay, config.language, inbox, outbox)
        if isinstance(failure, Unexplained):
            failure = await self._check(config.language) or failure
        if failure is not None and not inbox.closed:
            relay.forget_streams()
            self._interrupted[inbox] = relay
            raise failure

    def close(self) -> None: ...

    async def _check(self, language: str) -> ServiceError | None:
        """Otherwise it would count as well again as long as nobody speaks."""
        try:
            async with asyncio.timeout(CHECK_S):
                await self._speech.check(language)
        except TimeoutError:
            return ServiceError("stt", f"{self.name} does not answer.")
        except ServiceError as error:
            return error
        return None

    async def _run(
        self, relay: Relay, language: str, inbox: Channel[Listened], outbox: Outlet[Transcript]
    ) -> ServiceError | None:
        """Until the inbox ends and no final is owed, or something fails."""
        async with asyncio.TaskGroup() as tasks:
            exchange = Exchange(self._speech, language, inbox, outbox, tasks)
            try:
                for doing in relay.reopen(now()):
                    await exchange.send(doing)
                await run_timed(relay, exchange.events, exchange, NoProbe())
            finally:
                exchange.end()
        return exchange.failure
