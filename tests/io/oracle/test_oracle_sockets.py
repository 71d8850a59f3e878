import asyncio

from pipeline.channel import Channel
from pipeline.llm.openai import OpenAIModel
from pipeline.oracle.history import History
from pipeline.oracle.oracle import Oracle, OracleNews
from pipeline.oracle.race import alone
from pipeline.settings import OracleSettings
from pipeline.types import OracleUpdate, SessionConfig, Transcript
from tests.fakes.llm_server import serving
from tests.fakes.openai_server import FakeOpenAI


async def test_fifty_superseded_answers_leave_no_request_open() -> None:
    news = Channel[OracleNews]("news", 100_000)
    async with serving(FakeOpenAI(script=["endless"], answer=("La",))) as fake:
        model = OpenAIModel("fake", api_key="k", base_url=fake.base_url)
        oracle = Oracle(alone(model), OracleSettings(), History(1000), SessionConfig())
        run = asyncio.create_task(oracle.run(news))
        for utterance in range(1, 51):
            oracle.inbox.offer(Transcript("Sing to me", 0.0, 1.0, True, utterance))
            await _text_of(utterance, news)
        async with asyncio.timeout(10):
            while fake.streaming > 1:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        run.cancel()
        await asyncio.wait([run])
        await model.close()
        await asyncio.wait_for(fake.idle.wait(), 10)
    assert len(fake.requests) == 50


async def _text_of(epoch: int, news: Channel[OracleNews]) -> None:
    async with asyncio.timeout(5):
        async for item in news:
            if isinstance(item, OracleUpdate) and item.epoch == epoch:
                return
