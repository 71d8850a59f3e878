"""What happened in a conversation, in the order it happened.

Cores return values; the Conversation alone turns them into these and appends them to its one
bounded stream. The server maps the stream to Realtime JSON and counts it; its tail is the
timeline. All times are media seconds of the conversation unless the name says otherwise.
"""

from dataclasses import dataclass, field
from enum import StrEnum

from pipeline.types import SpeechEvent, Transcript


@dataclass(frozen=True, slots=True)
class Speech:
    """Hearing found a start, stop, end of turn or false alarm."""

    event: SpeechEvent


@dataclass(frozen=True, slots=True)
class Heard:
    """What the user said so far, or in the end."""

    transcript: Transcript


@dataclass(frozen=True, slots=True)
class Typed:
    """The user wrote instead of speaking."""

    text: str
    utterance: int
    item_id: str = ""
    """The writer's own name for it, if any."""


@dataclass(frozen=True, slots=True)
class OracleAsked:
    """A request went to an LLM."""

    epoch: int
    utterance: int
    prompt: str
    """The user's words it was asked with."""
    source: str


@dataclass(frozen=True, slots=True)
class OracleText:
    """A piece of its answer came."""

    epoch: int
    text: str
    final: bool
    source: str


@dataclass(frozen=True, slots=True)
class OracleChosen:
    """Of several LLMs one answers."""

    epoch: int
    source: str
    why: str
    """What spoke for it, or against those before it."""
    over: tuple[str, ...]
    """Others that had been asked, and whose answers are not used."""


@dataclass(frozen=True, slots=True)
class OracleSpent:
    """What an LLM's answer cost, used or not."""

    epoch: int
    source: str
    prompt_tokens: int
    answer_tokens: int
    exact: bool
    """False: estimated from the text, as the answer was cut short or its cost not told."""


class Fate(StrEnum):
    USED = "used"
    """Spoken, from an answer complete or still coming."""
    SUPERSEDED = "superseded"
    """A newer epoch replaced it before it was spoken."""
    LATE = "late"
    """Spoken, though it came after the reply had begun without it."""


@dataclass(frozen=True, slots=True)
class OracleFate:
    """What became of an epoch's words."""

    epoch: int
    fate: Fate
    words: int


@dataclass(frozen=True, slots=True)
class ReplyStarted:
    """The assistant began to speak."""

    reply: int
    utterance: int
    """The newest utterance it may answer."""
    response_s: float | None
    """From the end of the user's speech to the first sample sent; None if nobody asked."""


@dataclass(frozen=True, slots=True)
class ReplyWord:
    """A word left for the listener just now."""

    reply: int
    text: str
    epoch: int


@dataclass(frozen=True, slots=True)
class ReplyEnded:
    """The assistant fell silent, having said all, or cut off."""

    reply: int
    text: str
    """What was really played."""
    cut: bool
    """True: by barge-in, a command or the end of the call."""
    played_s: float


@dataclass(frozen=True, slots=True)
class ServiceState:
    """A back-end went or came back; the voice goes on either way."""

    service: str
    """stt, llm or tts."""
    up: bool
    message: str = ""


@dataclass(frozen=True, slots=True)
class Overload:
    """Audio was dropped to keep up with real time."""

    where: str
    """jitter, hearing, stt, engine or playout."""
    frames: int


@dataclass(frozen=True, slots=True)
class Latency:
    """Once a second while live."""

    rtt_s: float | None
    jitter_s: float
    """How late packets come, p95 over the last seconds."""
    server_s: float
    """From a packet's arrival to the packet that answers it, p50."""
    concealed: float
    """Share of received audio that was invented, 0..1, over the last seconds."""
    relayed: bool | None = None


@dataclass(frozen=True, slots=True)
class Configured:
    """The session's settings took effect."""

    changed: tuple[str, ...] = field(default=())


Event = (
    Speech
    | Heard
    | Typed
    | OracleAsked
    | OracleText
    | OracleChosen
    | OracleSpent
    | OracleFate
    | ReplyStarted
    | ReplyWord
    | ReplyEnded
    | ServiceState
    | Overload
    | Latency
    | Configured
)
