import asyncio
from dataclasses import replace

from pipeline.channel import Channel
from pipeline.clock import now
from pipeline.errors import ServiceError
from pipeline.hearing.completeness import PATIENCE_S, score_words
from pipeline.types import Transcript

HALF = Transcript("What's the tallest building", 0.0, 1.0, False, 1)
WHOLE = Transcript("What's the tallest building in Dubai?", 0.0, 2.0, False, 1)
FINAL = replace(WHOLE, final=True)


class Scripted:
    """Takes `took_s` for each answer, or has none."""

    def __init__(self, took_s: float = 0.05, *, dead: bool = False) -> None:
        self.took_s, self.dead = took_s, dead
        self.asked: list[str] = []

    async def score(self, text: str) -> float:
        self.asked.append(text)
        await asyncio.sleep(self.took_s)
        if self.dead:
            raise ServiceError("llm", "It is gone.")
        return 0.9 if text == WHOLE.text else 0.1


async def scored(by: Scripted | None, *words: Transcript) -> tuple[list[Transcript], float]:
    """What came out of `words`, each sent once all before it were through, and the time it took."""
    inbox, outbox = Channel[Transcript]("words", 8), Channel[Transcript]("hears", 8)
    began_s = now()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(score_words(by, inbox, outbox))
        came = []
        for each in words:
            inbox.offer(each)
            came.append(await outbox.receive())
        took_s = now() - began_s
        inbox.close()
    return came, took_s


async def test_words_come_out_with_the_odds_that_they_are_all() -> None:
    came, _ = await scored(Scripted(), HALF, WHOLE)
    assert came == [replace(HALF, ends=0.1), replace(WHOLE, ends=0.9)]


async def test_a_slow_answer_is_not_waited_for() -> None:
    came, took_s = await scored(Scripted(took_s=9.0), WHOLE)
    assert came == [WHOLE]
    assert took_s <= PATIENCE_S + 0.001


async def test_without_a_language_model_words_pass_as_they_are() -> None:
    assert (await scored(Scripted(dead=True), WHOLE))[0] == [WHOLE]
    assert await scored(None, WHOLE) == ([WHOLE], 0.0)


async def test_the_same_words_are_known_at_once_and_so_are_finals() -> None:
    by = Scripted()
    came, took_s = await scored(by, HALF, replace(HALF, end_s=1.1), FINAL)
    assert [each.ends for each in came] == [0.1, 0.1, None]
    assert took_s <= by.took_s + 0.001


async def test_words_that_newer_ones_wait_behind_cost_no_time() -> None:
    inbox, outbox, by = Channel[Transcript]("words", 8), Channel[Transcript]("hears", 8), Scripted()
    for each in (HALF, WHOLE):
        inbox.offer(each)
    inbox.close()
    await score_words(by, inbox, outbox)
    assert outbox.depth == 1 and (await outbox.receive()).ends == 0.9
    assert by.asked == [WHOLE.text]
