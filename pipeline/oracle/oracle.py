"""Asks the LLM for one conversation: the shell around the policy.

Whatever the LLM does wrong ends up as a ServiceState and is tried again; the voice never
learns of it. Policy, epochs and history outlive `run`, so that a resumed call goes on.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from pipeline.channel import Channel, Full, Outlet
from pipeline.clock import now
from pipeline.errors import ChannelClosed, ServiceError
from pipeline.events import OracleAsked, OracleText, ServiceState, Typed
from pipeline.llm.face import TextModel
from pipeline.oracle.brevity import Brevity
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
from pipeline.settings import OracleSettings
from pipeline.types import Message, OracleUpdate, SessionConfig, SpeechEvent, Transcript

OracleInput = SpeechEvent | Transcript | Typed | AnswerNow
OracleNews = OracleUpdate | OracleAsked | OracleText | ServiceState

INBOX = 256
"""Inputs that may wait; more than minutes of speech while the loop stands still."""

GREETING = Message("user", "Hello.")
"""What is answered if an answer is wanted before anything was said."""


class Oracle:
    """`inbox` takes OracleInput at any time; `run` works it off while a call is live."""

    def __init__(
        self, model: TextModel, settings: OracleSettings, history: History, config: SessionConfig
    ) -> None:
        self.inbox = Channel[PolicyInput]("oracle", INBOX, Full.DROP_OLDEST)
        self._settings = settings
        self._history = history
        self._policy = Policy(settings, history.owes, config.mode)
        self._up = True
        self.configure(config, model)

    def configure(self, config: SessionConfig, model: TextModel) -> None:
        """Takes effect with the next ask."""
        self._model = model
        self._opening = opening(config)
        self._policy.mode, self._policy.language = config.mode, config.language

    async def run(self, outbox: Outlet[OracleNews]) -> None:
        """Ask and answer until the inbox is closed, or cancelled."""
        answer: asyncio.Task[None] | None = None
        self._policy.rest()
        async with asyncio.TaskGroup() as tasks:
            while (actions := await self._next_actions()) is not None:
                for action in actions:
                    if isinstance(action, Confirm):
                        await outbox.send(self._confirmed(action))
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
        return OracleUpdate(epoch, "", False, until_s, self._model.name, confirm.utterance)

    async def _answer(self, ask: Ask, outbox: Outlet[OracleNews]) -> None:
        model = self._model
        said = self._history.question(ask.utterance, ask.text) or (GREETING,)
        await outbox.send(OracleAsked(ask.epoch, ask.utterance, said[-1].text, model.name))
        try:
            async with aclosing(self._pieces(model, (*self._opening, *said))) as pieces:
                async for piece in pieces:
                    await self._tell(ask, piece, model.name, outbox)
            await self._tell(ask, "", model.name, outbox, final=True)
            self.inbox.offer(Answered(ask.epoch))
        except ServiceError as error:
            self.inbox.offer(Failed(ask.epoch, error.retry_after_s))
            await self._service(outbox, up=False, message=str(error))

    async def _tell(
        self, ask: Ask, text: str, source: str, outbox: Outlet[OracleNews], *, final: bool = False
    ) -> None:
        await self._service(outbox, up=True)
        await outbox.send(OracleText(ask.epoch, text, final, source))
        await outbox.send(
            OracleUpdate(ask.epoch, text, final, ask.heard_until_s, source, ask.utterance)
        )

    async def _service(self, outbox: Outlet[OracleNews], *, up: bool, message: str = "") -> None:
        if up != self._up:
            self._up = up
            await outbox.send(ServiceState("llm", up, message))

    async def _pieces(
        self, model: TextModel, messages: tuple[Message, ...]
    ) -> AsyncGenerator[str, None]:
        """The answer as it is to be spoken. Raises ServiceError, for silence too."""
        brevity = Brevity(self._settings.answer_sentences)
        said = False
        async with aclosing(model.stream(messages)) as stream:
            while not brevity.done:
                limit_s = self._settings.stall_s if said else self._settings.first_token_s
                try:
                    async with asyncio.timeout(limit_s):
                        piece = await anext(stream)
                except StopAsyncIteration:
                    break
                except TimeoutError as error:
                    raise ServiceError("llm", f"{model.name} fell silent.") from error
                if text := brevity.push(piece):
                    said = True
                    yield text
        if not said:
            raise ServiceError("llm", f"{model.name} answered with nothing.")
