"""A text model behind any OpenAI-compatible API; the only importer of `openai`."""

import math
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import cast

import openai
from openai.types.chat import ChatCompletionMessageParam

from pipeline.errors import ServiceError
from pipeline.types import Message

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
        self._extra = dict(extra or {})
        self._temperature = openai.omit if temperature is None else temperature
        # OpenAI's own newer models refuse max_tokens; other servers may know nothing else.
        self._limit = {"max_tokens" if base_url else "max_completion_tokens": max_tokens}
        # llama.cpp closes a connection after a stream without saying so, and one request in
        # twenty then fails. Where there is no TLS a fresh connection costs next to nothing.
        self._client = openai.AsyncOpenAI(
            api_key=api_key or "none",
            base_url=base_url or None,
            default_headers={"Connection": "close"} if base_url.startswith("http://") else None,
            max_retries=0,
            timeout=openai.Timeout(read_s, connect=CONNECT_S),
        )

    @property
    def name(self) -> str:
        return self._name

    async def stream(self, messages: Sequence[Message]) -> AsyncGenerator[str, None]:
        """The answer's text in pieces. Raises ServiceError."""
        prompt = cast(
            list[ChatCompletionMessageParam],
            [{"role": message.role, "content": message.text} for message in messages],
        )
        try:
            chunks = await self._client.chat.completions.create(
                model=self._model,
                messages=prompt,
                stream=True,
                temperature=self._temperature,
                extra_body={**self._limit, **self._extra},
            )
            async with chunks:
                async for chunk in chunks:
                    if chunk.choices and (text := chunk.choices[0].delta.content):
                        yield text
        except openai.OpenAIError as error:
            raise _explained(error, self._name) from error
        except Exception as error:  # a server may send anything, and the client trips over it
            kind = type(error).__name__
            raise ServiceError("llm", f"{self._name} sent what nobody expects ({kind}).") from error

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


_BY_STATUS = {
    400: (
        "refuses the request",
        "Is the prompt too long for its context, or the model's name off?",
    ),
    401: ("refuses the key", "Check the key in the settings."),
    403: ("does not let this key use the model", "Check the key's rights, or the region."),
    404: ("does not know the model or the address", "Check model and base_url in the settings."),
}


def _explained(error: openai.OpenAIError, name: str) -> ServiceError:
    """The same in our words. Never the API's own text: it may quote a key or what was said."""
    match error:
        case openai.RateLimitError() if error.code == "insufficient_quota":
            return ServiceError("llm", f"{name}: the account has no credit left.")
        case openai.RateLimitError():
            wait_s = _retry_after_s(error)
            return ServiceError("llm", f"{name} is asked too often.", retry_after_s=wait_s)
        case openai.APIStatusError():
            status = error.status_code
            what, hint = _BY_STATUS.get(status, (f"failed with HTTP status {status}", ""))
            wait_s = _retry_after_s(error)
            return ServiceError("llm", f"{name} {what}.", hint=hint, retry_after_s=wait_s)
        case openai.APITimeoutError():
            return ServiceError("llm", f"{name} did not answer in time.")
        case openai.APIConnectionError():
            cause = type(error.__cause__ or error).__name__
            hint = "Check that it runs, and base_url in the settings."
            return ServiceError("llm", f"{name} cannot be reached ({cause}).", hint=hint)
    return ServiceError("llm", f"{name} broke off its answer ({type(error).__name__}).")


def _retry_after_s(error: openai.APIStatusError) -> float:
    """Retry-After in seconds (RFC 9110 section 10.2.3); 0 if it gives none, or a date."""
    try:
        return max(0.0, float(error.response.headers.get("retry-after", "0")))
    except ValueError:
        return 0.0
