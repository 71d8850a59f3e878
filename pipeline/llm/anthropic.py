"""Claude behind Anthropic's Messages API; the only importer of `anthropic`."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import cast

import anthropic
import httpx2
from anthropic.types import MessageParam, RawMessageStreamEvent

from pipeline.errors import ServiceError
from pipeline.llm.face import Usage
from pipeline.llm.refusal import broke_off, refused, senseless, too_slow, unreachable
from pipeline.types import Message

ANTHROPIC_URL = "https://api.anthropic.com"
"""Always given: left to itself, the client takes its address from the environment."""

CONNECT_S = 3.0
READ_S = 30.0
"""Silence that ends a request even if its reader has more patience."""

GREETING = Message("user", "Hello.")
"""The API wants the user to have the first word."""

_STATUS = {
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "rate_limit_error": 429,
    "overloaded_error": 529,
}
"""Of errors that come within a stream, whose HTTP status was 200."""


class AnthropicModel:
    """Streaming messages. Nothing is retried here, as in OpenAIModel."""

    def __init__(
        self,
        model: str,
        *,
        api_key: str,
        base_url: str = "",
        max_tokens: int = 100,
        extra: Mapping[str, object] | None = None,
        read_s: float = READ_S,
    ) -> None:
        """`extra` is added to each request as it is (`thinking`, say)."""
        self._model = model
        self._max_tokens = max_tokens
        self._extra = dict(extra or {})
        timeout = anthropic.Timeout(read_s, connect=CONNECT_S)
        self._client = anthropic.AsyncAnthropic(
            api_key=api_key,
            base_url=base_url or ANTHROPIC_URL,
            max_retries=0,
            timeout=timeout,
            open_telemetry=False,  # it can be told by the environment to record what is said
            # A redirect would take the key along: httpx drops Authorization, not x-api-key.
            http_client=anthropic.DefaultAsyncHttpxClient(follow_redirects=False, timeout=timeout),
        )

    @property
    def name(self) -> str:
        return self._model

    async def stream(self, messages: Sequence[Message]) -> AsyncGenerator[str | Usage, None]:
        """The answer's text in pieces, and its cost. Raises ServiceError."""
        answer = _Answer()
        try:
            events = await self._client.messages.create(
                model=self._model,
                max_tokens=self._max_tokens,
                system="\n\n".join(m.text for m in messages if m.role == "system"),
                messages=_dialogue(messages),
                stream=True,
                extra_body=self._extra,
            )
            async with events:
                async for event in events:
                    if text := answer.push(event):
                        yield text
        except anthropic.AnthropicError as error:
            raise _explained(error, self.name) from error
        except httpx2.TimeoutException as error:  # in mid-stream the client wraps nothing
            raise too_slow(self.name) from error
        except httpx2.TransportError as error:
            raise unreachable(self.name, error) from error
        except Exception as error:  # a server may send anything, and the client trips over it
            raise senseless(self.name, error) from error
        if not answer.stopped:
            raise broke_off(self.name, "no message_stop")
        yield answer.usage

    async def close(self) -> None:
        await self._client.close()


class _Answer:
    """What the events of one stream add up to."""

    def __init__(self) -> None:
        self.stopped = False
        self._prompt_tokens = self._answer_tokens = 0

    @property
    def usage(self) -> Usage:
        return Usage(self._prompt_tokens, self._answer_tokens)

    def push(self, event: RawMessageStreamEvent) -> str:
        """The text in the next event, if any; thinking is not said."""
        match event.type:
            case "message_start":
                cost = event.message.usage
                cached = (cost.cache_creation_input_tokens or 0, cost.cache_read_input_tokens or 0)
                self._prompt_tokens = cost.input_tokens + sum(cached)
            case "message_delta":
                self._answer_tokens = event.usage.output_tokens
            case "message_stop":
                self.stopped = True
            case "content_block_delta" if event.delta.type == "text_delta":
                return event.delta.text
        return ""


def _dialogue(messages: Sequence[Message]) -> list[MessageParam]:
    said = [message for message in messages if message.role != "system"]
    if not said or said[0].role != "user":
        said.insert(0, GREETING)
    return cast(list[MessageParam], [{"role": m.role, "content": m.text} for m in said])


def _explained(error: anthropic.AnthropicError, name: str) -> ServiceError:
    match error:
        case anthropic.APIStatusError():
            status = _STATUS.get(error.type or "", error.status_code)
            return refused(name, status, error.response.headers)
        case anthropic.APITimeoutError():
            return too_slow(name)
        case anthropic.APIConnectionError():
            return unreachable(name, error)
    return broke_off(name, type(error).__name__)
