"""Puts a question to one or several LLMs and hands on one answer: the shell around a Contest."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import aclosing

from pipeline.channel import Channel
from pipeline.clock import now
from pipeline.errors import ServiceError, TakeOver
from pipeline.events import OracleChosen, OracleSpent, OracleText
from pipeline.llm.face import TextModel, Usage
from pipeline.oracle.arbiter import Arbiter, First
from pipeline.oracle.contest import Came, Contest, Drop, Ended, Move, Piece, Say, Start, Take
from pipeline.oracle.history import tokens
from pipeline.oracle.provider import Provider
from pipeline.settings import OracleSettings
from pipeline.types import Message

WAITING = 64
"""Pieces that may wait to be judged; an LLM that is faster waits."""

RaceNews = OracleChosen | OracleText | OracleSpent
Tell = Callable[[RaceNews], None]


class Race:
    """`providers`: best liked first. `hedge`: ask all at once; else the next when one fails."""

    def __init__(
        self, providers: Sequence[Provider], *, hedge: bool = False, arbiter: Arbiter | None = None
    ) -> None:
        assert providers
        self.name = ", ".join(provider.name for provider in providers)
        self._providers = tuple(providers)
        self._hedge = hedge
        self._arbiter = arbiter or First()

    async def run(self, epoch: int, messages: Sequence[Message], tell: Tell) -> None:
        """Tell the answer until it is complete; whoever was asked for it is asked no more then.

        Raises ServiceError: there is no answer, or no more of it than was told. It is a TakeOver
        if somebody else can be asked at once.
        """
        contest, entrants = self._contest(now())
        async with asyncio.TaskGroup() as tasks:
            asking = _Asking(epoch, messages, entrants, tell, tasks)
            asking.choosing = len(self._providers) > 1
            moves = contest.begin()
            while True:
                for move in moves:
                    asking.do(move)
                if contest.over:
                    break
                moves = await asking.next_moves(contest)
            asking.stop()
        if contest.error is None:
            asking.say("", final=True)
        elif asking.told and any(each.standing.fresh(now()) for each in self._providers):
            raise TakeOver("llm", str(contest.error)) from contest.error
        else:
            raise contest.error

    def _contest(self, at_s: float) -> tuple[Contest, list[Provider]]:
        """Between those who can be asked; those who failed lately come last."""
        able = [each for each in self._providers if each.standing.out(at_s) is None]
        able.sort(key=lambda each: not each.standing.fresh(at_s))
        outs = [each.standing.out(at_s) for each in self._providers]
        lately = [each.standing.lately(at_s) for each in self._providers]
        contest = Contest(
            [each.name for each in able],
            self._arbiter,
            hedge=self._hedge,
            barred=[error for error in outs if error is not None],
            lately=[cause for cause in lately if cause],
        )
        return contest, able


class _Asking:
    """One question on its way to `entrants`."""

    def __init__(
        self,
        epoch: int,
        messages: Sequence[Message],
        entrants: Sequence[Provider],
        tell: Tell,
        tasks: asyncio.TaskGroup,
    ) -> None:
        self._epoch, self._messages = epoch, messages
        self._entrants, self._tell, self._tasks = entrants, tell, tasks
        self._asked: dict[int, asyncio.Task[None]] = {}
        self._came = Channel[Came]("race", WAITING)
        self._source = ""
        self.choosing = True
        """There was more than one to choose from."""
        self.told = False
        """Some of an answer."""

    def do(self, move: Move) -> None:
        match move:
            case Start(entrant):
                name = f"oracle epoch {self._epoch} {self._entrants[entrant].name}"
                self._asked[entrant] = self._tasks.create_task(self._ask(entrant), name=name)
            case Drop(entrant):
                self._asked[entrant].cancel()
            case Take(entrant, why, over):
                self._source = self._entrants[entrant].name
                if self.choosing:
                    self._tell(OracleChosen(self._epoch, self._source, why, over))
            case Say(text):
                self.told = True
                self.say(text)

    def say(self, text: str, *, final: bool = False) -> None:
        self._tell(OracleText(self._epoch, text, final, self._source))

    def stop(self) -> None:
        for task in self._asked.values():
            task.cancel()

    async def next_moves(self, contest: Contest) -> list[Move]:
        try:
            came = await self._came.receive(contest.deadline())
        except TimeoutError:
            return contest.poll(now())
        return contest.push(came, now())

    async def _ask(self, entrant: int) -> None:
        provider = self._entrants[entrant]
        bill = _Bill(self._messages)
        ended = Ended(entrant)
        try:
            async with aclosing(provider.answer(self._messages)) as pieces:
                async for piece in pieces:
                    bill.add(piece)
                    if isinstance(piece, str):
                        await self._came.send(Piece(entrant, piece))
        except ServiceError as error:
            bill.refused = not bill.text
            ended = Ended(entrant, error)
        finally:
            if not bill.refused:
                self._tell(bill.spent(self._epoch, provider.name))
        await self._came.send(ended)


class _Bill:
    """What an answer costs, however it ends."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self._messages = messages
        self._usage: Usage | None = None
        self.text = ""
        self.refused = False

    def add(self, piece: str | Usage) -> None:
        if isinstance(piece, Usage):
            self._usage = piece
        else:
            self.text += piece

    def spent(self, epoch: int, source: str) -> OracleSpent:
        if self._usage is not None:
            asked, said = self._usage.prompt_tokens, self._usage.answer_tokens
        else:
            asked, said = sum(tokens(m.text) for m in self._messages), tokens(self.text)
        return OracleSpent(epoch, source, asked, said, exact=self._usage is not None)


def alone(model: TextModel, settings: OracleSettings | None = None) -> Race:
    """A race of one."""
    return Race([Provider(model, settings or OracleSettings())])
