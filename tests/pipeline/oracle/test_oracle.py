import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from pipeline.channel import Channel
from pipeline.errors import ServiceError
from pipeline.events import OracleAsked, ServiceState, Typed
from pipeline.oracle.history import History
from pipeline.oracle.oracle import Oracle, OracleNews
from pipeline.oracle.race import alone
from pipeline.settings import OracleSettings
from pipeline.types import Message, Mode, OracleUpdate, SessionConfig, Transcript
from tests.fakes.scripted_model import ScriptedModel

SETTINGS = OracleSettings(first_token_s=5.0, stall_s=3.0, retry_s=1.0)
PARIS = ["The", " capital", " is", " Paris", "."]
DOWN = ServiceError("llm", "scripted cannot be reached.")


class Call:
    def __init__(self, model: ScriptedModel, config: SessionConfig | None = None) -> None:
        self.history = History(1000)
        self.oracle = Oracle(
            alone(model, SETTINGS), SETTINGS, self.history, config or SessionConfig()
        )
        self.news = Channel[OracleNews]("news", 1000)

    @asynccontextmanager
    async def live(self, seconds: float) -> AsyncIterator[None]:
        """The call is up while the body runs and for `seconds` after, then lost."""
        run = asyncio.create_task(self.oracle.run(self.news))
        yield
        await asyncio.sleep(seconds)
        run.cancel()
        await asyncio.wait([run])
        assert run.cancelled()

    def told(self) -> list[OracleNews]:
        return [self.news._items.popleft() for _ in range(self.news.depth)]


def heard(text: str, utterance: int = 1, *, final: bool = True) -> Transcript:
    return Transcript(text, 0.0, 1.5, final, utterance)


def answers(news: list[OracleNews]) -> dict[int, str]:
    texts: dict[int, str] = {}
    for item in news:
        if isinstance(item, OracleUpdate):
            texts[item.epoch] = texts.get(item.epoch, "") + item.text
    return texts


def states(news: list[OracleNews]) -> list[bool]:
    return [item.up for item in news if isinstance(item, ServiceState)]


async def test_an_answer_is_told_piece_by_piece_and_ends() -> None:
    call = Call(ScriptedModel(PARIS))
    async with call.live(1.0):
        call.oracle.inbox.offer(heard("What is the capital of France?"))
    news = call.told()
    assert news[0] == OracleAsked(1, 1, "What is the capital of France?", "scripted")
    updates = [item for item in news if isinstance(item, OracleUpdate)]
    assert [update.text for update in updates] == [*PARIS, ""]
    assert [update.final for update in updates] == [False] * 5 + [True]
    assert {(update.heard_until_s, update.utterance) for update in updates} == {(1.5, 1)}


async def test_a_newer_question_silences_the_answer_to_the_old_one() -> None:
    model = ScriptedModel(["The", 1.0, " end", "."], PARIS)
    call = Call(model)
    async with call.live(5.0):
        call.oracle.inbox.offer(heard("What is the capital of Fran", final=False))
        await asyncio.sleep(0.5)
        call.oracle.inbox.offer(heard("What is the capital of France?"))
    assert answers(call.told()) == {1: "The", 2: "The capital is Paris."}
    assert model.open == 0


async def test_the_same_words_once_more_confirm_an_answer_without_disturbing_it() -> None:
    call = Call(ScriptedModel(["The", 1.0, " end", "."]))
    async with call.live(5.0):
        call.oracle.inbox.offer(Transcript("What is the end", 0.0, 1.0, False, 1))
        await asyncio.sleep(0.5)
        call.oracle.inbox.offer(Transcript("What is the end?", 0.0, 2.0, True, 1))
    news = call.told()
    assert answers(news) == {1: "The end."}
    assert max(item.heard_until_s for item in news if isinstance(item, OracleUpdate)) == 2.0


async def test_a_dead_llm_is_told_once_and_again_when_it_is_back() -> None:
    call = Call(ScriptedModel([DOWN], [DOWN], PARIS))
    async with call.live(10.0):
        call.oracle.inbox.offer(heard("What is the capital of France?"))
    news = call.told()
    assert states(news) == [False, True]
    assert answers(news) == {3: "The capital is Paris."}


async def test_an_llm_that_never_begins_or_stops_in_mid_answer_is_asked_again() -> None:
    call = Call(ScriptedModel([60.0], ["The", " cap", 60.0], PARIS))
    async with call.live(20.0):
        call.oracle.inbox.offer(heard("What is the capital of France?"))
    news = call.told()
    assert answers(news) == {2: "The cap", 3: "The capital is Paris."}
    assert states(news) == [False, True, False, True]


async def test_an_llm_that_answers_with_nothing_has_failed() -> None:
    call = Call(ScriptedModel(["", " \n"], PARIS))
    async with call.live(5.0):
        call.oracle.inbox.offer(heard("What is the capital of France?"))
    assert answers(call.told()) == {2: "The capital is Paris."}


async def test_a_rambling_llm_is_stopped_after_two_sentences() -> None:
    model = ScriptedModel(["One. Two. ", *["And so on. "] * 1000])
    call = Call(model)
    async with call.live(1.0):
        call.oracle.inbox.offer(heard("Tell me something"))
    assert answers(call.told()) == {1: "One. Two."}
    assert model.open == 0


async def test_a_resumed_call_remembers_and_its_epochs_rise() -> None:
    model = ScriptedModel(["The", 60.0], PARIS)
    call = Call(model)
    async with call.live(1.0):
        call.history.heard(1, "What is the capital of France?")
        call.oracle.inbox.offer(heard("What is the capital of France?"))
    assert model.open == 0
    call.history.played(1, "The capital is Paris.")
    async with call.live(1.0):
        call.oracle.inbox.offer(Typed("And of Spain?", 2))
    assert max(answers(call.told())) == 2
    assert [message.text for message in model.prompts[-1][-3:]] == [
        "What is the capital of France?",
        "The capital is Paris.",
        "And of Spain?",
    ]


async def test_what_was_said_before_a_wrongly_ended_turn_is_part_of_the_question() -> None:
    model = ScriptedModel(PARIS)
    call = Call(model)
    async with call.live(1.0):
        call.history.heard(1, "How many legs")
        call.oracle.inbox.offer(heard("How many legs", 1))
        await asyncio.sleep(0.1)
        call.oracle.inbox.offer(heard("does a spider have?", 2))
    assert model.prompts[-1][-1] == Message("user", "How many legs does a spider have?")


async def test_mode_and_model_can_change_between_questions() -> None:
    old, new = ScriptedModel(PARIS), ScriptedModel(["Rome."])
    call = Call(old)
    call.oracle.configure(SessionConfig(mode=Mode.CASCADE), alone(new))
    async with call.live(1.0):
        call.oracle.inbox.offer(heard("What is the capital", final=False))
        call.oracle.inbox.offer(heard("What is the capital of Italy?"))
    assert answers(call.told()) == {1: "Rome."}
    assert old.prompts == []


async def test_it_ends_with_its_inbox() -> None:
    model = ScriptedModel(["The", 60.0])
    call = Call(model)
    run = asyncio.create_task(call.oracle.run(call.news))
    call.oracle.inbox.offer(heard("What is the capital of France?"))
    await asyncio.sleep(1.0)
    call.oracle.inbox.close()
    await asyncio.wait_for(run, 1.0)
    assert model.open == 0
