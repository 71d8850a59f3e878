"""The assistant's half of the conversation: each reply as a response with one item. Pure."""

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

from pipeline.events import ReplyEnded, ReplyStarted, ReplyWord
from server.realtime.errors import RequestError
from server.realtime.writer import JsonObject, Writer

MOST_REMEMBERED = 32
"""Finished replies a client may still refer to."""


@dataclass(slots=True)
class _Reply:
    number: int
    response_id: str
    item_id: str
    previous: str | None
    began_s: float
    words: list[tuple[float, str]] = field(default_factory=list)
    """When each left, seconds since the reply began."""
    played_ms: int | None = None
    """None while it is being spoken."""


@dataclass(frozen=True, slots=True)
class Shortened:
    """A client heard less of a reply than was sent to it."""

    reply: int
    text: str
    """The words that began within what it heard."""
    event: JsonObject
    """The answer to it."""


class Speaking:
    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._now: _Reply | None = None
        self._past: OrderedDict[str, _Reply] = OrderedDict()
        self._client_cancelled = False

    def cancel(self, response_id: str | None = None) -> None:
        """The client wants the reply stopped: its end will say so.

        Raises RequestError if nothing, or another response, is being spoken.
        """
        if self._now is None or response_id not in (None, self._now.response_id):
            raise RequestError(
                "There is no such response being spoken.",
                code="response_cancel_not_active",
                param="response_id" if response_id else None,
            )
        self._client_cancelled = True

    def truncate(self, item_id: str, audio_end_ms: int) -> Shortened:
        """The client heard only `audio_end_ms` of a reply that has ended.

        Raises RequestError if there is no such reply, it is still being spoken, or it was
        shorter than that.
        """
        reply = self._past.get(item_id)
        if reply is None or reply.played_ms is None:
            speaks = self._now is not None and self._now.item_id == item_id
            raise RequestError(
                "Only an answer that has ended can be truncated.",
                hint="Send response.cancel first." if speaks else "Use the id of its item.",
                code="item_truncate_invalid_item_id",
                param="item_id",
            )
        if audio_end_ms > reply.played_ms:
            raise RequestError(
                f"Only {reply.played_ms} ms of it were played.", param="audio_end_ms"
            )
        reply.played_ms = audio_end_ms
        text = "".join(word for at_s, word in reply.words if at_s * 1000 < audio_end_ms)
        return Shortened(reply.number, text, self._truncated(reply, audio_end_ms))

    def started(self, event: ReplyStarted, at_s: float) -> list[JsonObject]:
        response_id, item_id = self._writer.new_id("resp"), self._writer.new_id("item")
        reply = _Reply(event.reply, response_id, item_id, self._writer.follow(item_id), at_s)
        self._now, self._client_cancelled = reply, False
        item = _item(reply, "in_progress")
        part = {"type": "audio", "transcript": ""}
        return [
            self._writer.event("response.created", response=_response(reply, "in_progress", [])),
            self._of_output(reply, "response.output_item.added", item=item),
            self._of_conversation(reply, "conversation.item.added", item),
            self._of_content(reply, "response.content_part.added", part=part),
            self._of_buffer(reply, "started"),
        ]

    def word(self, event: ReplyWord, at_s: float) -> list[JsonObject]:
        reply = self._now
        if reply is None or reply.number != event.reply:
            return []
        reply.words.append((at_s - reply.began_s, event.text))
        return [self._of_content(reply, "response.output_audio_transcript.delta", delta=event.text)]

    def ended(self, event: ReplyEnded) -> list[JsonObject]:
        reply = self._now
        if reply is None or reply.number != event.reply:
            return []
        reply.played_ms = round(event.played_s * 1000)
        self._now = None
        self._remember(reply)
        item = _item(reply, "incomplete" if event.cut else "completed", event.text)
        part = {"type": "audio", "transcript": event.text}
        transcript_done = "response.output_audio_transcript.done"
        return [
            self._of_content(reply, "response.output_audio.done"),
            self._of_content(reply, transcript_done, transcript=event.text),
            self._of_content(reply, "response.content_part.done", part=part),
            self._of_output(reply, "response.output_item.done", item=item),
            self._of_conversation(reply, "conversation.item.done", item),
            *(self._cut(reply, item) if event.cut else self._completed(reply, item)),
        ]

    def _completed(self, reply: _Reply, item: JsonObject) -> list[JsonObject]:
        return [
            self._writer.event("response.done", response=_response(reply, "completed", [item])),
            self._of_buffer(reply, "stopped"),
        ]

    def _cut(self, reply: _Reply, item: JsonObject) -> list[JsonObject]:
        reason = "client_cancelled" if self._client_cancelled else "turn_detected"
        response = _response(reply, "cancelled", [item])
        response["status_details"] = {"type": "cancelled", "reason": reason}
        return [
            self._writer.event("response.done", response=response),
            self._of_buffer(reply, "cleared"),
            self._truncated(reply, reply.played_ms or 0),
        ]

    def _remember(self, reply: _Reply) -> None:
        self._past[reply.item_id] = reply
        if len(self._past) > MOST_REMEMBERED:
            self._past.popitem(last=False)

    def _truncated(self, reply: _Reply, audio_end_ms: int) -> JsonObject:
        return self._writer.event(
            "conversation.item.truncated",
            item_id=reply.item_id,
            content_index=0,
            audio_end_ms=audio_end_ms,
        )

    def _of_conversation(self, reply: _Reply, kind: str, item: JsonObject) -> JsonObject:
        return self._writer.event(kind, item=item, previous_item_id=reply.previous)

    def _of_output(self, reply: _Reply, kind: str, **fields: Any) -> JsonObject:
        return self._writer.event(kind, response_id=reply.response_id, output_index=0, **fields)

    def _of_content(self, reply: _Reply, kind: str, **fields: Any) -> JsonObject:
        return self._of_output(reply, kind, item_id=reply.item_id, content_index=0, **fields)

    def _of_buffer(self, reply: _Reply, what: str) -> JsonObject:
        return self._writer.event(f"output_audio_buffer.{what}", response_id=reply.response_id)


def _item(reply: _Reply, status: str, transcript: str | None = None) -> JsonObject:
    content = [] if transcript is None else [{"type": "output_audio", "transcript": transcript}]
    return {
        "id": reply.item_id,
        "object": "realtime.item",
        "type": "message",
        "status": status,
        "role": "assistant",
        "content": content,
    }


def _response(reply: _Reply, status: str, output: list[JsonObject]) -> JsonObject:
    return {
        "id": reply.response_id,
        "object": "realtime.response",
        "status": status,
        "status_details": None,
        "output": output,
        "output_modalities": ["audio"],
        "metadata": None,
        "usage": None,
    }
