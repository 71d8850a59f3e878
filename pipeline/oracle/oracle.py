"""Asks the LLM for one conversation: the shell around the policy.

Whatever the LLM does wrong ends up as a ServiceState and is tried again; the voice never
learns of it. Policy, epochs and history outlive `run`, so that a resumed call goes on.
"""

import asyncio
import math
from functools import partial

from pipeline.channel import Channel, Full, Outlet
from pipeline.clock import now
from pipeline.errors import ChannelClosed, ServiceError, TakeOver
from pipeline.events import OracleAsked, OracleSpent, OracleText, ServiceState, Typed
from pipeline.oracle.history import History
from pipeline.oracle.policy import (
    Action,
    Answered,
    AnswerNow,
    Ask,
    Confirm,
    Failed,
    Policy,
    PolicyInput,
)
from pipeline.oracle.prompt import opening
from pipeline.oracle.race import Race, RaceNews
from pipeline.settings import OracleSettings
from pipeline.types import Message, OracleUpdate, SessionConfig, SpeechEvent, Transcript

OracleInput = SpeechEvent | Transcript | Typed | AnswerNow
OracleNews = OracleUpdate | OracleAsked | RaceNews | ServiceState

INBOX = 256
"""Inputs that may wait; more than minutes of speech while the loop stands still."""

GREETING = Message("user", "Hello.")
"""What is answered if an answer is wanted before anything was said."""


class Oracle:
    """`inbox` takes OracleInput at any time; `run` works it off while a call is live."""

    def __init__(
        self, race: Race, settings: OracleSettings, history: History, config: SessionConfig
    ) -> None:
        self.inbox = Channel[PolicyInput]("oracle", INBOX, Full.DROP_OLDEST)
        self._settings = settings
        self._history = history
        self._policy = Policy(settings, history.owes, config.mode)
        self._up = True
        self._spent_tokens = 0
        self._source = race.name
        """Who answered last."""
        self.configure(config, race)

    def configure(self, config: SessionConfig, race: Race) -> None:
        """Takes effect with the next ask."""
        self._race = race
        self._opening = opening(config)
        self._policy.mode, self._policy.language = config.mode, config.language

    async def run(self, outbox: Outlet[OracleNews]) -> None:
        """Ask and answer until the inbox is closed, or cancelled.

        News are offered, never waited for: what a cut-off answer cost must be told too.
        """
        answer: asyncio.Task[None] | None = None
        self._policy.rest()
        async with asyncio.TaskGroup() as tasks:
            while (actions := await self._next_actions()) is not None:
                for action in actions:
                    if isinstance(action, Confirm):
                        outbox.offer(self._confirmed(action))
                        continue
                    if answer is not None:
                        answer.cancel()
                    if isinstance(action, Ask):
                        name = f"oracle epoch {action.epoch}"
                        answer = tasks.create_task(self._answer(action, outbox), name=name)
            if answer is not None:
                answer.cancel()

    async def _next_actions(self) -> list[Action] | None:
        """None: the inbox has ended."""
        try:
            async with asyncio.timeout_at(self._policy.deadline()):
                item = await self.inbox.receive()
        except TimeoutError:
            return self._policy.poll(now())
        except ChannelClosed:
            return None
        return self._policy.push(item, now())

    def _confirmed(self, confirm: Confirm) -> OracleUpdate:
        epoch, until_s = confirm.epoch, confirm.heard_until_s
        return OracleUpdate(epoch, "", False, until_s, self._source, confirm.utterance)

    async def _answer(self, ask: Ask, outbox: Outlet[OracleNews]) -> None:
        race = self._race
        said = self._history.question(ask.utterance, ask.text) or (GREETING,)
        outbox.offer(OracleAsked(ask.epoch, ask.utterance, said[-1].text, race.name))
        try:
            self._check_budget()
            tell = partial(self._tell, ask, outbox)
            await race.run(ask.epoch, (*self._opening, *said), tell)
            self.inbox.offer(Answered(ask.epoch))
        except TakeOver:
            self.inbox.offer(Failed(ask.epoch, at_once=True))
        except ServiceError as error:
            self.inbox.offer(Failed(ask.epoch, error.retry_after_s))
            self._service(outbox, up=False, message=str(error))

    def _check_budget(self) -> None:
        budget = self._settings.budget_tokens
        if budget is not None and self._spent_tokens >= budget:
            raise ServiceError(
                "llm",
                f"This conversation has used up its {budget} tokens.",
                hint="Set budget_tokens under [oracle], or start another.",
                retry_after_s=math.inf,
            )

    def _tell(self, ask: Ask, outbox: Outlet[OracleNews], news: RaceNews) -> None:
        if isinstance(news, OracleSpent):
            self._spent_tokens += news.prompt_tokens + news.answer_tokens
        if not isinstance(news, OracleText):
            outbox.offer(news)
            return
        self._source = news.source
        self._service(outbox, up=True)
        outbox.offer(news)
        text, final, until_s = news.text, news.final, ask.heard_until_s
        outbox.offer(OracleUpdate(ask.epoch, text, final, until_s, news.source, ask.utterance))

    def _service(self, outbox: Outlet[OracleNews], *, up: bool, message: str = "") -> None:
        if up != self._up:
            self._up = up
            outbox.offer(ServiceState("llm", up, message))
