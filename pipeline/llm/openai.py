"""A text model behind any OpenAI-compatible API; the only importer of `openai`."""

import math
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import cast

import openai
from openai.types import CompletionUsage
from openai.types.chat import ChatCompletionMessageParam

from pipeline.errors import ServiceError
from pipeline.llm.face import Usage
from pipeline.llm.refusal import broke_off, refused, senseless, too_slow, unreachable
from pipeline.types import Message

OPENAI_URL = "https://api.openai.com/v1"
"""Always given: left to itself, the client takes its address from the environment, whosever key
it was given."""

CONNECT_S = 3.0
READ_S = 30.0
"""Silence that ends a request even if its reader has more patience."""


class OpenAIModel:
    """Streaming chat completions.

    Nothing is retried here: whoever asked knows whether the question still stands.
    """

    def __init__(
        self,
        model: str,
        *,
        api_key: str,
        base_url: str = "",
        name: str = "",
        max_tokens: int = 100,
        temperature: float | None = None,
        extra: Mapping[str, object] | None = None,
        read_s: float = READ_S,
    ) -> None:
        """`extra` is added to each request as it is (llama.cpp's `cache_prompt`, say)."""
        self._model = model
        self._name = name or model
        self._temperature = openai.omit if temperature is None else temperature
        # OpenAI's own newer models refuse max_tokens; other servers may know nothing else, nor
        # a request for the answer's cost, which most of them tell unasked.
        ours: dict[str, object] = (
            {"max_tokens": max_tokens}
            if base_url
            else {"max_completion_tokens": max_tokens, "stream_options": {"include_usage": True}}
        )
        self._body = ours | dict(extra or {})
        # llama.cpp closes a connection after a stream without saying so, and one request in
        # twenty then fails. Where there is no TLS a fresh connection costs next to nothing.
        self._client = openai.AsyncOpenAI(
            api_key=api_key or "none",
            base_url=base_url or OPENAI_URL,
            default_headers={"Connection": "close"} if base_url.startswith("http://") else None,
            max_retries=0,
            timeout=openai.Timeout(read_s, connect=CONNECT_S),
            http_client=openai.DefaultAsyncHttpxClient(
                follow_redirects=False,  # what was said is for this server alone
                timeout=openai.Timeout(read_s, connect=CONNECT_S),
            ),
        )

    @property
    def name(self) -> str:
        return self._name

    async def stream(self, messages: Sequence[Message]) -> AsyncGenerator[str | Usage, None]:
        """The answer's text in pieces, and its cost if it is told. Raises ServiceError."""
        prompt = cast(
            list[ChatCompletionMessageParam],
            [{"role": message.role, "content": message.text} for message in messages],
        )
        cost: CompletionUsage | None = None
        finished = False
        try:
            chunks = await self._client.chat.completions.create(
                model=self._model,
                messages=prompt,
                stream=True,
                temperature=self._temperature,
                extra_body=self._body,
            )
            async with chunks:
                async for chunk in chunks:
                    cost = chunk.usage or cost
                    for choice in chunk.choices:
                        if text := choice.delta.content:
                            yield text
                        finished = finished or choice.finish_reason is not None
        except openai.OpenAIError as error:
            raise _explained(error, self._name) from error
        except Exception as error:  # a server may send anything, and the client trips over it
            raise senseless(self._name, error) from error
        if not finished:  # the client takes the end of a stream for the end of the answer
            raise broke_off(self._name, "no finish_reason")
        if cost is not None:
            yield Usage(cost.prompt_tokens, cost.completion_tokens)

    async def next_tokens(self, prompt: str, *, top: int, slot: int) -> dict[str, float]:
        """Probabilities of the `top` likeliest next tokens after a raw prompt, from llama.cpp.

        Its slot `slot` keeps the prompt for the next one like it. Raises ServiceError.
        """
        try:
            answer = await self._client.completions.create(
                model=self._model,
                prompt=prompt,
                max_tokens=1,
                temperature=0,
                logprobs=top,
                extra_body={"cache_prompt": True, "id_slot": slot},
            )
            # llama.cpp gives them in the form of the chat API.
            first = answer.model_dump()["choices"][0]["logprobs"]["content"][0]
            return {each["token"]: math.exp(each["logprob"]) for each in first["top_logprobs"]}
        except openai.OpenAIError as error:
            raise _explained(error, self._name) from error
        except (LookupError, TypeError) as error:
            raise ServiceError("llm", f"{self._name} gives no probabilities.") from error

    async def close(self) -> None:
        await self._client.close()


async def list_models(base_url: str, *, api_key: str = "", timeout_s: float = 0.3) -> list[str]:
    """The models a server offers; empty if there is no such server."""
    client = openai.AsyncOpenAI(
        api_key=api_key or "none", base_url=base_url, max_retries=0, timeout=timeout_s
    )
    async with client:
        try:
            return [model.id async for model in client.models.list()]
        except openai.OpenAIError:
            return []


def _explained(error: openai.OpenAIError, name: str) -> ServiceError:
    match error:
        case openai.APIStatusError():
            no_credit = error.code == "insufficient_quota"
            headers = error.response.headers
            return refused(name, error.status_code, headers, no_credit=no_credit)
        case openai.APITimeoutError():
            return too_slow(name)
        case openai.APIConnectionError():
            return unreachable(name, error)
    return broke_off(name, type(error).__name__)
