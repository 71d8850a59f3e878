"""Each fault of an LLM's server: what a client as its manual shows makes of it, and what we do."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

import anthropic
import openai
import pytest
import trustme

from pipeline.channel import Channel
from pipeline.events import OracleChosen, OracleSpent, ServiceState
from pipeline.llm.anthropic import AnthropicModel
from pipeline.llm.make import RemoteModel
from pipeline.llm.openai import OpenAIModel
from pipeline.oracle.history import History
from pipeline.oracle.oracle import Oracle, OracleNews
from pipeline.oracle.provider import Provider
from pipeline.oracle.race import Race
from pipeline.settings import OracleSettings
from pipeline.types import OracleUpdate, SessionConfig, Transcript
from tests.fakes.anthropic_server import FakeAnthropic
from tests.fakes.llm_server import FakeLlm, serving
from tests.fakes.openai_server import FakeOpenAI

PATIENT = OracleSettings(first_token_s=4.0, stall_s=4.0, retry_s=0.1)
PATIENCE = {
    "silence": PATIENT.model_copy(update={"first_token_s": 0.3}),
    "stall": PATIENT.model_copy(update={"stall_s": 0.3}),
}
"""Short only where the deadline is what is tested: a busy machine is slow too."""
QUESTION = "What is the capital of Austria?"
WRONG = ("It", " was", " once", " Buda", ".")
RIGHT = ("The", " capital", " is", " Vienna", ".")
VIENNA = "".join(RIGHT)


@dataclass(frozen=True)
class Vendor:
    fake: Callable[..., FakeLlm]
    naive: Callable[[FakeLlm], AsyncIterator[str]]
    ours: Callable[[FakeLlm], RemoteModel]


async def naive_openai(fake: FakeLlm) -> AsyncIterator[str]:
    async with openai.AsyncOpenAI(api_key="sk-secret", base_url=fake.base_url) as client:
        stream = await client.chat.completions.create(
            model="fake", messages=[{"role": "user", "content": QUESTION}], stream=True
        )
        async for chunk in stream:
            if chunk.choices:
                yield chunk.choices[0].delta.content or ""


async def naive_anthropic(fake: FakeLlm) -> AsyncIterator[str]:
    async with (
        anthropic.AsyncAnthropic(api_key="sk-secret", base_url=fake.url) as client,
        client.messages.stream(
            model="fake", max_tokens=100, messages=[{"role": "user", "content": QUESTION}]
        ) as stream,
    ):
        async for text in stream.text_stream:
            yield text


OPENAI = Vendor(
    FakeOpenAI,
    naive_openai,
    lambda fake: OpenAIModel("gpt", api_key="sk-secret", base_url=fake.base_url),
)
ANTHROPIC = Vendor(
    FakeAnthropic,
    naive_anthropic,
    lambda fake: AnthropicModel("claude", api_key="sk-secret", base_url=fake.url),
)
VENDORS = pytest.mark.parametrize("vendor", [OPENAI, ANTHROPIC], ids=["openai", "anthropic"])

FAULTS = {
    "429": "is asked too often",
    "500": "failed with HTTP status 500",
    "401": "refuses the key",
    "quota": "no credit left|is asked too often",
    "silence": "fell silent",
    "stall": "fell silent",
    "reset": "cannot be reached",
    "malformed": "sent what nobody expects",
    "cut": "broke off its answer",
    "tls": "cannot prove who it is",
}


def self_signed() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("127.0.0.1").configure_cert(context)
    return context


@asynccontextmanager
async def failing(vendor: Vendor, fault: str) -> AsyncIterator[FakeLlm]:
    fake = vendor.fake(answer=WRONG, script=["ok" if fault == "tls" else fault])
    async with serving(fake, self_signed() if fault == "tls" else None):
        yield fake


async def outcome(pieces: AsyncIterator[str]) -> str:
    """The text, or how it went wrong instead."""
    try:
        async with asyncio.timeout(0.3):
            return "".join([piece async for piece in pieces])
    except TimeoutError:
        return "hangs"
    except Exception as error:
        return f"raises {type(error).__name__}"


class Call:
    """A conversation whose LLMs race."""

    def __init__(self, *models: RemoteModel, hedge: bool, first: OracleSettings) -> None:
        providers = [Provider(models[0], first), *(Provider(m, PATIENT) for m in models[1:])]
        race = Race(providers, hedge=hedge)
        self.oracle = Oracle(race, PATIENT, History(1000), SessionConfig())
        self.news = Channel[OracleNews]("news", 100_000)
        self.told: list[OracleNews] = []

    async def ask(self, utterance: int = 1) -> str:
        """The last epoch's answer, once it is complete."""
        self.oracle.inbox.offer(Transcript(QUESTION, 0.0, 1.0, True, utterance))
        async with asyncio.timeout(10):
            async for item in self.news:
                self.told.append(item)
                if isinstance(item, OracleUpdate) and item.final:
                    return self.texts()[item.epoch]
        raise AssertionError

    def texts(self) -> dict[int, str]:
        texts: dict[int, str] = {}
        for item in self.told:
            if isinstance(item, OracleUpdate):
                texts[item.epoch] = texts.get(item.epoch, "") + item.text
        return texts

    def of(self, kind: type) -> list:
        return [item for item in self.told if isinstance(item, kind)]


@asynccontextmanager
async def calling(
    *models: RemoteModel, hedge: bool = False, first: OracleSettings = PATIENT
) -> AsyncIterator[Call]:
    """The call is live while inside; at its end no task is left."""
    before = asyncio.all_tasks()
    async with AsyncExitStack() as stack:
        for model in models:
            stack.push_async_callback(model.close)
        call = Call(*models, hedge=hedge, first=first)
        run = asyncio.create_task(call.oracle.run(call.news))
        yield call
        run.cancel()
        await asyncio.wait([run])
    left = asyncio.all_tasks() - before
    assert not {task for task in left if "oracle" in task.get_name()}


@VENDORS
@pytest.mark.parametrize("fault", FAULTS)
async def test_a_client_as_its_manual_shows_it_is_stopped_by_every_fault(
    vendor: Vendor, fault: str
) -> None:
    async with failing(vendor, fault) as fake:
        got = await outcome(vendor.naive(fake))
    assert got != "".join(WRONG)


@VENDORS
@pytest.mark.parametrize("fault", FAULTS)
async def test_the_next_one_answers_each_word_once_and_the_cause_is_told(
    vendor: Vendor, fault: str
) -> None:
    other = ANTHROPIC if vendor is OPENAI else OPENAI
    async with failing(vendor, fault) as bad, serving(other.fake(answer=RIGHT)) as good:
        first = PATIENCE.get(fault, PATIENT)
        async with calling(vendor.ours(bad), other.ours(good), first=first) as call:
            assert await call.ask() == VIENNA
        await bad.deserted()
        await good.deserted()
    *cut_short, last = call.texts().values()
    assert last == VIENNA
    assert all("".join(WRONG[:3]).startswith(text) for text in cut_short)
    chosen = call.of(OracleChosen)[-1]
    assert chosen.source == ("gpt" if other is OPENAI else "claude")
    assert any(cause in chosen.why for cause in FAULTS[fault].split("|"))
    assert "secret" not in chosen.why
    assert not [state for state in call.of(ServiceState) if not state.up]


@VENDORS
@pytest.mark.parametrize("fault", FAULTS)
async def test_with_nobody_else_to_ask_the_caller_is_told_why(vendor: Vendor, fault: str) -> None:
    async with failing(vendor, fault) as bad:
        async with calling(vendor.ours(bad), first=PATIENCE.get(fault, PATIENT)) as call:
            call.oracle.inbox.offer(Transcript(QUESTION, 0.0, 1.0, True, 1))
            async with asyncio.timeout(10):
                async for item in call.news:
                    if isinstance(item, ServiceState) and not item.up:
                        break
        await bad.deserted()
    assert any(cause in item.message for cause in FAULTS[fault].split("|"))
    assert "secret" not in item.message


@VENDORS
async def test_one_that_asked_for_a_pause_is_not_asked_in_it(vendor: Vendor) -> None:
    other = ANTHROPIC if vendor is OPENAI else OPENAI
    async with (
        failing(vendor, "429") as busy,
        serving(other.fake(answer=RIGHT)) as good,
        calling(vendor.ours(busy), other.ours(good)) as call,
    ):
        assert [await call.ask(1), await call.ask(2)] == [VIENNA, VIENNA]
    assert (len(busy.requests), len(good.requests)) == (1, 2)
    assert "is asked too often" in call.of(OracleChosen)[-1].why


async def test_in_a_hedge_the_first_to_speak_is_heard_and_the_others_hang_up() -> None:
    slow, fast = FakeOpenAI(answer=WRONG, script=["silence"]), FakeAnthropic(answer=RIGHT)
    async with (
        serving(slow),
        serving(fast),
        calling(OPENAI.ours(slow), ANTHROPIC.ours(fast), hedge=True) as call,
    ):
        assert await call.ask() == VIENNA
        await slow.deserted()
    assert call.of(OracleChosen)[0].over == ("gpt",)
    spent = {spent.source: spent for spent in call.of(OracleSpent)}
    assert (spent["claude"].prompt_tokens, spent["claude"].answer_tokens) == (20, 5)
    assert spent["claude"].exact and not spent["gpt"].exact


async def test_fifty_superseded_races_leave_no_socket_open() -> None:
    fakes = [FakeOpenAI(script=["endless"]), FakeAnthropic(script=["endless"])]
    async with serving(fakes[0]), serving(fakes[1]):
        async with calling(OPENAI.ours(fakes[0]), ANTHROPIC.ours(fakes[1]), hedge=True) as call:
            for utterance in range(1, 51):
                call.oracle.inbox.offer(Transcript(QUESTION, 0.0, 1.0, True, utterance))
                await begun(utterance, call.news)
            call.oracle.inbox.offer(Transcript("Thank you", 0.0, 1.0, True, 99))
        for fake in fakes:
            await fake.deserted()
    assert sum(len(fake.requests) for fake in fakes) >= 50


async def begun(epoch: int, news: Channel[OracleNews]) -> None:
    async with asyncio.timeout(5):
        async for item in news:
            if isinstance(item, OracleUpdate) and item.epoch == epoch:
                return


@VENDORS
async def test_neither_key_nor_question_follows_a_redirect(vendor: Vendor) -> None:
    async with serving(vendor.fake()) as stranger, serving(vendor.fake()) as fake:
        fake.script, fake.elsewhere = ["redirect"], stranger.url.replace("127.0.0.1", "localhost")
        await outcome(vendor.naive(fake))
        assert stranger.requests, "a client as its manual shows it goes along"
        stranger.requests.clear()
        async with calling(vendor.ours(fake)) as call:
            call.oracle.inbox.offer(Transcript(QUESTION, 0.0, 1.0, True, 1))
            async with asyncio.timeout(10):
                async for item in call.news:
                    if isinstance(item, ServiceState):
                        break
        assert "another address" in item.message
    assert not stranger.requests
