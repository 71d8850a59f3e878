"""OpenAI's session object ↔ SessionConfig.

Clients written for OpenAI send voices, models and detector settings that mean nothing here.
Those are taken and ignored; `session.created` and `session.updated` tell what is in force
instead. What a client would rely on and not get (tools, text answers, manual turns) is refused.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pipeline.types import Mode, SessionConfig
from server.realtime.errors import RequestError, from_validation, nearest
from server.realtime.writer import JsonObject

Ignored = Any


class _Group(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class _Transcription(_Group):
    language: Annotated[str, Field(pattern=r"^[a-z]{2,3}(-[A-Z]{2})?$")] | None = None
    """ISO 639-1, with or without a region: "en", "en-US"."""
    model: str | None = None
    delay: Ignored = None
    keywords: Ignored = None
    languages: Ignored = None
    prompt: Ignored = None


class _TurnDetection(_Group):
    create_response: bool | None = None
    interrupt_response: bool | None = None
    type: Ignored = None
    eagerness: Ignored = None
    idle_timeout_ms: Ignored = None
    prefix_padding_ms: Ignored = None
    silence_duration_ms: Ignored = None
    threshold: Ignored = None


class _Input(_Group):
    transcription: _Transcription | None = None
    turn_detection: _TurnDetection | None = None
    format: Ignored = None
    noise_reduction: Ignored = None


class _Output(_Group):
    format: Ignored = None
    speed: Ignored = None
    voice: Ignored = None


class _Audio(_Group):
    input: _Input = _Input()
    output: _Output = _Output()


class _Ours(_Group):
    mode: str | None = None
    llm: str | None = None
    llms: Ignored = None  # what session.created told, sent back
    stt: str | None = None
    resume: Ignored = None  # signalling.py reads it


class _Session(_Group):
    type: Literal["realtime"] = "realtime"
    instructions: str | None = None
    output_modalities: list[str] | None = None
    tools: list[Any] | None = None
    prompt: dict[str, Any] | None = None
    audio: _Audio = _Audio()
    umigame: _Ours = _Ours()
    model: str | None = None
    id: Ignored = None
    object: Ignored = None
    include: Ignored = None
    max_output_tokens: Ignored = None
    parallel_tool_calls: Ignored = None
    reasoning: Ignored = None
    tool_choice: Ignored = None
    tracing: Ignored = None
    truncation: Ignored = None


@dataclass(frozen=True, slots=True)
class Offered:
    """What this server has to offer a session."""

    model: str
    """The front-end, as clients see it."""
    voice: str
    modes: tuple[Mode, ...]
    stt: tuple[str, ...]
    llm: tuple[str, ...]
    """By name; a session may have several, with commas between them, the best liked first."""
    languages: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """What each STT understands, ISO 639-1; none: anything."""


@dataclass(frozen=True, slots=True)
class SessionRequest:
    """What a client asked for, merged into what was in force."""

    config: SessionConfig
    changed: tuple[str, ...]
    """Names of SessionConfig's fields."""


def read_session(
    body: object, base: SessionConfig, offered: Offered, event_id: str | None = None
) -> SessionRequest:
    """`base` with what a parsed session object asks for; absent fields keep what they were.

    Raises RequestError naming the field, if it is wrong or not to be had here.
    """
    try:
        session = _Session.model_validate(body)
    except ValidationError as failed:
        raise from_validation(failed, "session", FIELDS, HINTS, event_id) from None
    try:
        _refuse_unsupported(session)
        config = _merged(session, base, offered)
    except RequestError as error:
        error.event_id = event_id
        raise
    changed = tuple(
        field.name
        for field in fields(SessionConfig)
        if getattr(config, field.name) != getattr(base, field.name)
    )
    return SessionRequest(config, changed)


def describe_session(session_id: str, config: SessionConfig, offered: Offered) -> JsonObject:
    """The session object that is really in force."""
    return {
        "type": "realtime",
        "object": "realtime.session",
        "id": session_id,
        "model": offered.model,
        "output_modalities": ["audio"],
        "instructions": config.persona.instructions,
        "tools": [],
        "audio": {
            "input": {
                "transcription": {"model": config.stt, "language": config.language},
                "turn_detection": {
                    "type": "semantic_vad",
                    "create_response": True,
                    "interrupt_response": True,
                },
            },
            "output": {"voice": offered.voice},
        },
        "umigame": {
            "mode": config.mode.value,
            "llm": config.llm,
            "llms": list(offered.llm),
            "stt": config.stt,
        },
    }


def _merged(session: _Session, base: SessionConfig, offered: Offered) -> SessionConfig:
    ours, heard = session.umigame, session.audio.input.transcription or _Transcription()
    if ours.mode is not None:
        modes = [mode.value for mode in offered.modes]
        base = replace(base, mode=Mode(_one_of(ours.mode, modes, "session.umigame.mode")))
    if ours.llm is not None:
        names = [name.strip() for name in ours.llm.split(",")]
        for name in names:
            _one_of(name, offered.llm, "session.umigame.llm")
        base = replace(base, llm=",".join(dict.fromkeys(names)))
    if ours.stt is not None:
        base = replace(base, stt=_one_of(ours.stt, offered.stt, "session.umigame.stt"))
    elif heard.model in offered.stt:
        base = replace(base, stt=heard.model)
    if heard.language is not None:
        base = replace(base, language=heard.language)
    primary = base.language.partition("-")[0]
    known = offered.languages.get(base.stt) or [primary]
    _one_of(primary, known, "session.audio.input.transcription.language")
    if session.instructions is not None:
        base = replace(base, persona=replace(base.persona, instructions=session.instructions))
    return base


def _one_of(name: str, names: Sequence[str], param: str) -> str:
    if name not in names:
        raise RequestError(
            f'{param}: this server has no "{name}".', hint=nearest(name, names), param=param
        )
    return name


def _refuse_unsupported(session: _Session) -> None:
    hears = session.audio.input
    manual = hears.turn_detection is None and "turn_detection" in hears.model_fields_set
    asked = hears.turn_detection or _TurnDetection()
    refused = {
        "tools": bool(session.tools),
        "prompt": bool(session.prompt),
        "output_modalities": session.output_modalities not in (None, ["audio"]),
        "audio.input.turn_detection": manual
        or asked.create_response is False
        or asked.interrupt_response is False,
    }
    for path, is_refused in refused.items():
        if is_refused:
            param = f"session.{path}"
            raise RequestError(
                f"{param} is not supported here.",
                hint=HINTS[param],
                code="unsupported",
                param=param,
            )


HINTS = {
    "session.type": 'Only "realtime" sessions are held here.',
    "session.tools": "Leave it out or send an empty list.",
    "session.prompt": "Write the prompt into session.instructions.",
    "session.output_modalities": 'Answers are spoken, with a transcript: send ["audio"].',
    "session.audio.input.turn_detection": (
        "The server finds the turns' ends, answers and yields by itself; mute to hold a turn."
    ),
    "session.audio.input.transcription.language": 'Use a code such as "en" or "en-US".',
}

FIELDS = sorted(
    {name for group in _Group.__subclasses__() for name, field in group.model_fields.items()}
)
