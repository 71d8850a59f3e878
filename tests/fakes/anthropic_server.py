"""Anthropic's streaming format; its events are the SDK's own types."""

from typing import Any

from anthropic.types import (
    Message,
    MessageDeltaUsage,
    RawContentBlockDeltaEvent,
    RawContentBlockStartEvent,
    RawContentBlockStopEvent,
    RawMessageDeltaEvent,
    RawMessageStartEvent,
    RawMessageStopEvent,
    TextBlock,
    TextDelta,
    Usage,
)
from anthropic.types.raw_message_delta_event import Delta
from pydantic import BaseModel

from tests.fakes.llm_server import FakeLlm


class AnthropicWire:
    path = "/v1/messages"

    def begin(self) -> bytes:
        message = Message.construct(
            id="msg_1",
            type="message",
            role="assistant",
            model="fake",
            content=[],
            stop_reason=None,
            stop_sequence=None,
            usage=Usage(input_tokens=18, cache_read_input_tokens=2, output_tokens=1),
        )
        block = TextBlock(type="text", text="", citations=None)
        return (
            _event(RawMessageStartEvent(type="message_start", message=message))
            + _event(
                RawContentBlockStartEvent(type="content_block_start", index=0, content_block=block)
            )
            + b'event: ping\ndata: {"type": "ping"}\n\n'
        )

    def piece(self, text: str) -> bytes:
        delta = TextDelta(type="text_delta", text=text)
        return _event(RawContentBlockDeltaEvent(type="content_block_delta", index=0, delta=delta))

    def end(self) -> bytes:
        delta, usage = Delta(stop_reason="end_turn"), MessageDeltaUsage(output_tokens=5)
        return (
            _event(RawContentBlockStopEvent(type="content_block_stop", index=0))
            + _event(RawMessageDeltaEvent(type="message_delta", delta=delta, usage=usage))
            + _event(RawMessageStopEvent(type="message_stop"))
        )

    def refusal(self, act: str) -> dict[str, Any]:
        kinds = {"401": "authentication_error", "429": "rate_limit_error", "404": "not_found_error"}
        kind = {**kinds, "quota": "billing_error"}.get(act, "api_error")
        return {"type": "error", "error": {"type": kind, "message": "key sk-secret is wrong"}}


def _event(event: BaseModel) -> bytes:
    return f"event: {event.type}\ndata: {event.model_dump_json()}\n\n".encode()  # type: ignore[attr-defined]


def FakeAnthropic(**options: Any) -> FakeLlm:
    return FakeLlm(AnthropicWire(), **options)
