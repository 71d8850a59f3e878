"""OpenAI's streaming format; its chunks are the SDK's own types."""

from typing import Any, Literal

from openai.types.chat import ChatCompletionChunk
from openai.types.chat.chat_completion_chunk import Choice, ChoiceDelta
from openai.types.completion_usage import CompletionUsage

from tests.fakes.llm_server import FakeLlm


class OpenAIWire:
    path = "/v1/chat/completions"

    def begin(self) -> bytes:
        return _chunk("")

    def piece(self, text: str) -> bytes:
        return _chunk(text)

    def end(self) -> bytes:
        usage = CompletionUsage(prompt_tokens=20, completion_tokens=5, total_tokens=25)
        return _chunk("", "stop") + _data([], usage) + b"data: [DONE]\n\n"

    def refusal(self, act: str) -> dict[str, Any]:
        code = {"quota": "insufficient_quota", "429": "rate_limit_exceeded"}.get(act)
        return {"error": {"message": "key sk-secret is wrong", "type": "error", "code": code}}


def _chunk(text: str, finish: Literal["stop"] | None = None) -> bytes:
    return _data([Choice(index=0, delta=ChoiceDelta(content=text), finish_reason=finish)])


def _data(choices: list[Choice], usage: CompletionUsage | None = None) -> bytes:
    chunk = ChatCompletionChunk(
        id="1",
        created=0,
        model="fake",
        object="chat.completion.chunk",
        choices=choices,
        usage=usage,
    )
    return f"data: {chunk.model_dump_json()}\n\n".encode()


def FakeOpenAI(**options: Any) -> FakeLlm:
    return FakeLlm(OpenAIWire(), **options)
