"""What clients send over the data channel, as typed commands. Pure.

Validated by small models of our own: importing `openai.types.realtime` costs 0.7 s and 54 MB,
and its models let unknown fields through.
"""

from dataclasses import fields
from typing import Annotated, Any, Literal, get_args

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass
from pydantic_core import from_json

from server.realtime.errors import RequestError, from_validation, nearest

MOST_BYTES = 64 * 1024
"""Of one message; also the most that aiortc takes in one (RFC 8841 section 6)."""

_STRICT = ConfigDict(extra="forbid", strict=True)
_Id = Annotated[str, Field(min_length=1, max_length=64)]


@dataclass(frozen=True, slots=True, config=_STRICT)
class UpdateSession:
    type: Literal["session.update"]
    session: dict[str, Any]
    """As `read_session` takes it."""
    event_id: str | None = None


@dataclass(frozen=True, slots=True, config=_STRICT)
class ResponseOptions:
    """What a response may choose for itself; the session holds all else."""

    conversation: Literal["auto"] | None = None
    output_modalities: tuple[Literal["audio"]] | None = None
    metadata: dict[str, str] | None = None
    audio: dict[str, Any] | None = None
    max_output_tokens: int | Literal["inf"] | None = None


@dataclass(frozen=True, slots=True, config=_STRICT)
class CreateResponse:
    type: Literal["response.create"]
    response: ResponseOptions | None = None
    event_id: str | None = None


@dataclass(frozen=True, slots=True, config=_STRICT)
class CancelResponse:
    type: Literal["response.cancel"]
    response_id: str | None = None
    event_id: str | None = None


@dataclass(frozen=True, slots=True, config=_STRICT)
class InputText:
    type: Literal["input_text"]
    text: Annotated[str, Field(pattern=r"\S")]


@dataclass(frozen=True, slots=True, config=_STRICT)
class UserMessage:
    type: Literal["message"]
    role: Literal["user"]
    content: Annotated[tuple[InputText, ...], Field(min_length=1)]
    id: _Id | None = None
    object: Literal["realtime.item"] | None = None
    status: Literal["completed"] | None = None


@dataclass(frozen=True, slots=True, config=_STRICT)
class CreateItem:
    type: Literal["conversation.item.create"]
    item: UserMessage
    previous_item_id: None = None
    event_id: str | None = None

    @property
    def text(self) -> str:
        return " ".join(part.text.strip() for part in self.item.content)


@dataclass(frozen=True, slots=True, config=_STRICT)
class TruncateItem:
    type: Literal["conversation.item.truncate"]
    item_id: _Id
    content_index: Literal[0]
    audio_end_ms: Annotated[int, Field(ge=0)]
    event_id: str | None = None


@dataclass(frozen=True, slots=True, config=_STRICT)
class ClearOutput:
    type: Literal["output_audio_buffer.clear"]
    event_id: str | None = None


Command = UpdateSession | CreateResponse | CancelResponse | CreateItem | TruncateItem | ClearOutput

_READERS: dict[str, TypeAdapter[Any]] = {
    "session.update": TypeAdapter(UpdateSession),
    "response.create": TypeAdapter(CreateResponse),
    "response.cancel": TypeAdapter(CancelResponse),
    "conversation.item.create": TypeAdapter(CreateItem),
    "conversation.item.truncate": TypeAdapter(TruncateItem),
    "output_audio_buffer.clear": TypeAdapter(ClearOutput),
}

_REFUSED = {
    "input_audio_buffer.append": "Audio comes over the WebRTC track.",
    "input_audio_buffer.commit": "The server finds the turns' ends by itself.",
    "input_audio_buffer.clear": "Audio comes over the WebRTC track; mute it to say nothing.",
    "conversation.item.retrieve": "Items are told by conversation.item.added and .done.",
    "conversation.item.delete": "To begin anew, start another call.",
    "transcription_session.update": "Use session.update.",
}
"""OpenAI's client events that make no sense or do nothing here, and what to do instead."""

_HINTS = {
    "item.type": "Only messages can be added.",
    "item.role": "Only the user's messages can be added; to guide the answers use session.update.",
    "item.content.0.type": "Audio comes over the WebRTC track; send input_text.",
    "previous_item_id": "Messages can only be added at the end: leave it out.",
    "response.instructions": "Set them for the session, with session.update.",
    "response.conversation": "Answers are always part of the conversation.",
}

_FIELDS = sorted(
    {
        field.name
        for shape in (*get_args(Command), ResponseOptions, UserMessage, InputText)
        for field in fields(shape)
    }
)


def read_command(message: str | bytes) -> Command:
    """The command in one message of the data channel.

    Raises RequestError, with the client's own event_id if it can be made out.
    """
    text = _text(message)
    kind, event_id = _kind(text)
    try:
        command: Command = _READERS[kind].validate_json(text)
    except ValidationError as failed:
        raise from_validation(failed, "", _FIELDS, _HINTS, event_id) from None
    return command


def _text(message: str | bytes) -> str:
    if isinstance(message, bytes):
        raise RequestError("A binary message.", hint="Events are JSON, sent as text.")
    if len(message.encode(errors="replace")) > MOST_BYTES:
        raise RequestError(
            "The message is too long.", hint=f"At most {MOST_BYTES} bytes.", code="too_large"
        )
    return message


def _kind(text: str) -> tuple[str, str | None]:
    """The type of a message that can be read, and its event_id."""
    try:
        parsed = from_json(text, allow_inf_nan=False)
    except ValueError as wrong:
        raise RequestError(f"Not JSON: {wrong}.", code="invalid_json") from None
    if not isinstance(parsed, dict):
        raise RequestError("An event is a JSON object.", code="invalid_json")
    kind, event_id = parsed.get("type"), parsed.get("event_id")
    event_id = event_id if isinstance(event_id, str) else None
    if not isinstance(kind, str):
        raise RequestError(
            "type: every event needs one.",
            code="missing_parameter",
            param="type",
            event_id=event_id,
        )
    if kind in _REFUSED:
        raise RequestError(
            f"{kind} is not supported here.",
            hint=_REFUSED[kind],
            code="unsupported",
            param="type",
            event_id=event_id,
        )
    if kind not in _READERS:
        raise RequestError(
            f'type: there is no event "{kind[:64]}" to send.',
            hint=nearest(kind, sorted(_READERS)),
            param="type",
            event_id=event_id,
        )
    return kind, event_id
