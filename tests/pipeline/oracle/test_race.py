import asyncio

import pytest

from pipeline.channel import Channel
from pipeline.errors import ServiceError
from pipeline.events import OracleChosen, OracleSpent, ServiceState
from pipeline.oracle.arbiter import Agreement, Arbiter, Preference, agree
from pipeline.oracle.history import History
from pipeline.oracle.oracle import Oracle, OracleNews
from pipeline.oracle.provider import Provider
from pipeline.oracle.race import Race
from pipeline.settings import OracleSettings
from pipeline.types import OracleUpdate, SessionConfig, Transcript
from tests.fakes.scripted_model import ScriptedModel

SETTINGS = OracleSettings(first_token_s=2.0, stall_s=2.0, retry_s=1.0)
BUSY = ServiceError("llm", "gpt is asked too often.", retry_after_s=7.0)
BROKEN = ServiceError("llm", "gpt failed with HTTP status 500.")


class Call:
    """What becomes of questions that are put to some LLMs."""

    def __init__(
        self,
        *models: ScriptedModel,
        arbiter: Arbiter | None = None,
        hedge: bool = False,
        settings: OracleSettings = SETTINGS,
    ) -> None:
        providers = [Provider(model, settings) for model in models]
        race = Race(providers, hedge=hedge, arbiter=arbiter)
        self.oracle = Oracle(race, settings, History(1000), SessionConfig())
        self.models = models
        self.asked = 0
        self.news = Channel[OracleNews]("news", 1000)
        self.told: list[OracleNews] = []

    async def ask(self, *, seconds: float = 20.0, questions: int = 1, every_s: float = 1.0) -> None:
        run = asyncio.create_task(self.oracle.run(self.news))
        for _ in range(questions):
            self.asked += 1
            text = f"What is the capital of country {self.asked}?"
            self.oracle.inbox.offer(Transcript(text, 0.0, 1.0, True, self.asked))
            await asyncio.sleep(every_s)
        await asyncio.sleep(seconds)
        run.cancel()
        await asyncio.wait([run])
        self.told = [await self.news.receive() for _ in range(self.news.depth)]
        assert [model.open for model in self.models] == [0] * len(self.models)

    @property
    def answers(self) -> dict[int, str]:
        texts: dict[int, str] = {}
        for item in self.told:
            if isinstance(item, OracleUpdate):
                texts[item.epoch] = texts.get(item.epoch, "") + item.text
        return texts

    @property
    def chosen(self) -> list[tuple[str, str, tuple[str, ...]]]:
        chosen = [item for item in self.told if isinstance(item, OracleChosen)]
        return [(item.source, item.why, item.over) for item in chosen]

    @property
    def causes(self) -> list[str]:
        states = [item for item in self.told if isinstance(item, ServiceState)]
        return [state.message for state in states if not state.up]


def gpt(*answers: list) -> ScriptedModel:
    return ScriptedModel(*answers, name="gpt")


def claude(*answers: list) -> ScriptedModel:
    return ScriptedModel(*answers, name="claude")


async def test_in_a_fallback_only_the_best_liked_is_asked_while_it_answers() -> None:
    call = Call(gpt(["Paris."]), claude(["Rome."]))
    await call.ask()
    assert call.answers == {1: "Paris."}
    assert call.models[1].prompts == []


async def test_the_next_one_takes_over_at_the_deadline_and_the_first_is_dropped() -> None:
    call = Call(gpt([60.0]), claude(["Rome."]))
    await call.ask(seconds=2.0)
    assert call.answers == {1: "Rome."}
    assert call.chosen == [("claude", "gpt fell silent. It was the first to answer.", ())]
    assert call.causes == []


async def test_in_mid_answer_the_next_one_begins_anew_at_once() -> None:
    call = Call(gpt(["It", " was", 60.0]), claude(["Rome."]))
    await call.ask(seconds=2.0)
    assert call.answers == {1: "It was", 2: "Rome."}
    assert call.chosen[-1][:2] == ("claude", "gpt fell silent. It was the first to answer.")
    assert call.causes == []


async def test_one_that_is_out_is_asked_again_only_when_its_time_is_up() -> None:
    call = Call(gpt([BUSY], ["Paris."]), claude(["Rome."]))
    await call.ask(questions=12, every_s=1.0)
    assert [source for source, _, _ in call.chosen] == ["claude"] * 10 + ["gpt"] * 2
    assert len(call.models[0].prompts) == 1 + 2


async def test_one_that_is_out_and_alone_is_left_in_peace_and_the_cause_is_told() -> None:
    call = Call(gpt([BUSY], ["Paris."]))
    await call.ask(questions=2, every_s=2.0, seconds=2.0)
    assert len(call.models[0].prompts) == 1
    assert call.causes == ["gpt is asked too often."]
    await call.ask(seconds=6.0)
    assert list(call.answers.values()) == ["Paris."]


async def test_one_that_is_out_has_no_part_in_a_hedge() -> None:
    call = Call(gpt([BUSY]), claude(["Rome."]), hedge=True)
    await call.ask(questions=3)
    assert [len(model.prompts) for model in call.models] == [1, 3]
    assert call.chosen[-1][1] == "gpt is asked too often. It was the first to answer."


async def test_if_nobody_answers_every_cause_is_told() -> None:
    call = Call(gpt([BROKEN]), claude([60.0]))
    await call.ask(seconds=3.0)
    assert call.causes[0] == "gpt failed with HTTP status 500. claude fell silent."


async def test_in_a_hedge_the_first_to_speak_is_taken_and_the_others_are_dropped() -> None:
    call = Call(gpt([1.0, "Paris."]), claude([0.5, "Rome", 1.5, "."]), hedge=True)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(call.ask())
        await asyncio.sleep(0.7)
        assert [model.open for model in call.models] == [0, 1]
    assert call.answers == {1: "Rome."}
    assert call.chosen == [("claude", "It was the first to answer.", ("gpt",))]


@pytest.mark.parametrize(("gpt_s", "takes"), [(0.6, "gpt"), (1.5, "claude")])
async def test_the_best_liked_is_waited_for_but_not_long(gpt_s: float, takes: str) -> None:
    call = Call(gpt([gpt_s, "Paris."]), claude([0.4, "Rome."]), hedge=True, arbiter=Preference(0.5))
    await call.ask()
    assert call.chosen[0][0] == takes


async def test_two_that_agree_outvote_the_best_liked() -> None:
    models = (
        gpt(["The capital is Lyon."]),
        claude([0.2, "The capital is Paris, of course. And"]),
        ScriptedModel([0.4, "It is Paris. Do"], name="gemini"),
    )
    call = Call(*models, hedge=True, arbiter=Agreement())
    await call.ask()
    assert call.answers == {1: "The capital is Paris, of course. And"}
    assert call.chosen == [("claude", "gemini agrees.", ("gpt", "gemini"))]


async def test_if_no_two_agree_the_best_liked_is_taken() -> None:
    call = Call(gpt([0.5, "Lyon."]), claude(["Paris."]), hedge=True, arbiter=Agreement())
    await call.ask()
    assert call.answers == {1: "Lyon."}


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("It is Paris.", "The capital of France is Paris.", True),
        ("It is 8849 metres high.", "Mount Everest is 8,849 metres high.", True),
        ("It is 8849 metres high.", "It is 8611 metres high.", False),
        ("東京です。", "日本の首都は東京です。", True),
        ("Lyon.", "Paris.", False),
        ("The capital of France is Lyon.", "The capital of France is Paris.", False),
        ("大阪です。", "日本の首都は東京です。", False),
    ],
)
def test_answers_agree_by_their_numbers_and_telling_words(one: str, other: str, same: bool) -> None:
    assert agree(one, other) is same


async def test_what_is_dropped_is_paid_for_too_but_not_what_was_refused() -> None:
    call = Call(gpt([1.0, "Paris."]), claude(["Rome."]), gpt([BROKEN]), hedge=True)
    await call.ask()
    spent = [item for item in call.told if isinstance(item, OracleSpent)]
    assert sorted(item.source for item in spent) == ["claude", "gpt"]
    assert all(item.prompt_tokens > 50 and not item.exact for item in spent)


async def test_a_conversation_that_has_used_its_budget_asks_no_more_and_says_so() -> None:
    settings = SETTINGS.model_copy(update={"budget_tokens": 1})
    call = Call(gpt(["Paris."]), settings=settings)
    await call.ask(questions=3)
    assert call.answers == {1: "Paris."}
    assert len(call.models[0].prompts) == 1
    assert "used up its 1 tokens" in call.causes[0]
