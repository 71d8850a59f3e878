import asyncio
from contextlib import aclosing

import pytest

from pipeline.errors import ServiceError
from pipeline.llm.face import Usage
from pipeline.llm.openai import OpenAIModel, list_models
from pipeline.types import Message
from tests.fakes.llm_server import FakeLlm, serving
from tests.fakes.openai_server import FakeOpenAI

QUESTION = [Message("system", "Be brief."), Message("user", "What is the capital of France?")]


def model_for(fake: FakeLlm, **options: float) -> OpenAIModel:
    return OpenAIModel(
        "fake", api_key="sk-secret", base_url=fake.base_url, temperature=0.0, **options
    )


async def answer(model: OpenAIModel) -> list[str | Usage]:
    try:
        return [piece async for piece in model.stream(QUESTION)]
    finally:
        await model.close()


async def test_an_answer_comes_in_pieces_with_its_spaces() -> None:
    async with serving(FakeOpenAI()) as fake:
        pieces = ["The", " capital", " is", " Paris", "."]
        assert await answer(model_for(fake)) == [*pieces, Usage(20, 5)]
        sent = fake.requests[0]
    assert sent["stream"] and sent["max_tokens"] == 100 and sent["temperature"] == 0.0
    assert sent["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "What is the capital of France?"},
    ]


@pytest.mark.parametrize(
    ("fault", "says", "rests_s"),
    [
        ("401", "refuses the key", 60.0),
        ("404", "does not know the model", 60.0),
        ("429", "asked too often", 7.0),
        ("quota", "no credit left", 60.0),
        ("500", "HTTP status 500", 0.0),
        ("reset", "cannot be reached", 0.0),
    ],
)
async def test_each_fault_is_told_for_what_it_is_and_without_the_key(
    fault: str, says: str, rests_s: float
) -> None:
    async with serving(FakeOpenAI(script=[fault])) as fake:
        with pytest.raises(ServiceError, match=says) as caught:
            await answer(model_for(fake))
    assert caught.value.service == "llm"
    assert "secret" not in str(caught.value)
    assert caught.value.retry_after_s == rests_s
    assert len(fake.requests) == 1, "the client must not retry by itself"


@pytest.mark.parametrize("fault", ["silence", "stall"])
async def test_a_server_that_falls_silent_is_given_up(fault: str) -> None:
    async with serving(FakeOpenAI(script=[fault])) as fake:
        with pytest.raises(ServiceError, match="did not answer in time"):
            await answer(model_for(fake, read_s=0.2))


async def test_a_dead_server_is_told_from_a_slow_one() -> None:
    async with serving(FakeOpenAI()) as fake:
        model = model_for(fake)
    with pytest.raises(ServiceError, match="cannot be reached") as caught:
        await answer(model)
    assert "base_url" in caught.value.hint
    assert await list_models(fake.base_url) == []


async def test_closing_the_generator_closes_the_connection() -> None:
    async with serving(FakeOpenAI(script=["endless"])) as fake:
        model = model_for(fake)
        async with aclosing(model.stream(QUESTION)) as pieces:
            assert await anext(pieces) == "The"
            assert fake.streaming == 1
        async with asyncio.timeout(10):
            await fake.idle.wait()
        await model.close()
