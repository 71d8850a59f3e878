"""What goes over the socket between an engine's process and those who use it.

A message is a head (kind, length of the body in bytes) and a body: fixed fields, little-endian,
then JSON for what is rare, then PCM as float32. Both ends are of one version, which the first
message tells. All of a step's outputs for one client are one message.
"""

import asyncio
import json
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import IntEnum
from typing import Any, TypeVar

import numpy as np
from pydantic import TypeAdapter, ValidationError

from pipeline.engine.face import EngineLoad
from pipeline.engine.frontend import FrontEndInfo
from pipeline.errors import EngineError
from pipeline.types import (
    Command,
    OracleUpdate,
    Pcm,
    SessionConfig,
    Slot,
    SpeechEvent,
    StepInput,
    StepOutput,
    Ticks,
    Word,
)

VERSION = 1

MOST_BODY = 1 << 26
"""Bytes; 64 MiB: whoever announces more does not speak this protocol."""

_HEAD = struct.Struct("<BI")
_SLOT = struct.Struct("<IQ")
_REQUEST = struct.Struct("<I")
_FRAME = struct.Struct("<IQdII")
_BATCH = struct.Struct("<II")
_OUTPUT = struct.Struct("<IQQIBII")
_SPEAKING, _YIELDED = 1, 2

A = TypeVar("A")


class Kind(IntEnum):
    HELLO = 1
    """From the engine, first of all: version, FrontEndInfo, Ticks and EngineLoad."""
    OPENED = 2
    """From it: the request's slot."""
    REFUSED = 3
    """From it: the request's error."""
    CLOSED = 4
    """From it: the slot is closed, or was."""
    OUTPUTS = 5
    """From it: what the client's slots said in one step, and how busy it is."""
    LOAD = 6
    """From it: how busy it is. No sign that it lives: its thread has no part in it."""
    FAILED = 7
    """From it: the cause of its death."""
    OPEN = 8
    """To the engine: a request's number and SessionConfig."""
    CLOSE = 9
    """To it: a slot."""
    FRAME = 10
    """To it: a slot's next StepInput."""


@dataclass(frozen=True, slots=True)
class Hello:
    info: FrontEndInfo
    ticks: Ticks
    load: EngineLoad
    version: int = VERSION


@dataclass(frozen=True, slots=True)
class Refusal:
    """An error as a plain value; `kind` is the name of its class."""

    kind: str
    message: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Riding:
    """What of a StepInput is rare."""

    speech: tuple[SpeechEvent, ...] = ()
    oracle: tuple[OracleUpdate, ...] = ()
    commands: tuple[Command, ...] = ()


async def read_message(reader: asyncio.StreamReader) -> tuple[Kind, bytes] | None:
    """The next message; None: the other side has gone. Raises EngineError if it talks nonsense."""
    try:
        kind, length = _HEAD.unpack(await reader.readexactly(_HEAD.size))
        if length > MOST_BODY or kind not in Kind._value2member_map_:
            raise EngineError("the other end of the engine's socket speaks another protocol")
        return Kind(kind), await reader.readexactly(length)
    except (asyncio.IncompleteReadError, ConnectionError):
        return None


def pack(kind: Kind, *parts: bytes) -> bytes:
    return b"".join((_HEAD.pack(kind, sum(map(len, parts))), *parts))


def pack_json(kind: Kind, value: Any) -> bytes:
    """A message that is one dataclass."""
    return pack(kind, _json(value))


# They take half a millisecond to make.
_ADAPTERS: Mapping[type, TypeAdapter[Any]] = {
    shape: TypeAdapter(shape) for shape in (EngineLoad, Hello, Refusal, Riding, SessionConfig)
}


def unpack_json(shape: type[A], body: bytes) -> A:
    """Raises EngineError if `body` is not that."""
    try:
        found: A = _ADAPTERS[shape].validate_python(json.loads(body))
    except (ValidationError, ValueError) as error:
        raise EngineError(f"a message about {shape.__name__} makes no sense") from error
    return found


def pack_hello(hello: Hello) -> bytes:
    return pack_json(Kind.HELLO, hello)


def unpack_hello(body: bytes) -> Hello:
    """Raises EngineError if the other end is of another version."""
    version = json.loads(body).get("version")
    if version != VERSION:
        raise EngineError(
            f"the engine's process speaks version {version} of its protocol, not {VERSION}",
            hint="Restart the server: it was updated while it ran.",
        )
    return unpack_json(Hello, body)


def pack_open(request: int, config: SessionConfig) -> bytes:
    return pack(Kind.OPEN, _REQUEST.pack(request), _json(config))


def unpack_open(body: bytes) -> tuple[int, SessionConfig]:
    (request,) = _REQUEST.unpack_from(body)
    return request, unpack_json(SessionConfig, body[_REQUEST.size :])


def pack_opened(request: int, slot: Slot) -> bytes:
    return pack(Kind.OPENED, _REQUEST.pack(request), _slot(slot))


def unpack_opened(body: bytes) -> tuple[int, Slot]:
    (request,) = _REQUEST.unpack_from(body)
    return request, unpack_slot(body[_REQUEST.size :])


def pack_refused(request: int, refusal: Refusal) -> bytes:
    return pack(Kind.REFUSED, _REQUEST.pack(request), _json(refusal))


def unpack_refused(body: bytes) -> tuple[int, Refusal]:
    (request,) = _REQUEST.unpack_from(body)
    return request, unpack_json(Refusal, body[_REQUEST.size :])


def pack_slot(kind: Kind, slot: Slot) -> bytes:
    """CLOSE or CLOSED."""
    return pack(kind, _slot(slot))


def unpack_slot(body: bytes) -> Slot:
    return Slot(*_SLOT.unpack(body))


def pack_frame(slot: Slot, frame: StepInput, came_s: float) -> bytes:
    riding = b""
    if frame.speech or frame.oracle or frame.commands:
        riding = _json(Riding(frame.speech, frame.oracle, frame.commands))
    head = _FRAME.pack(slot.index, slot.generation, came_s, frame.concealed, len(riding))
    return pack(Kind.FRAME, head, riding, _bytes(frame.pcm))


def unpack_frame(body: bytes) -> tuple[Slot, StepInput, float]:
    index, generation, came_s, concealed, length = _FRAME.unpack_from(body)
    at = _FRAME.size + length
    frame = StepInput(_pcm(body, at, (len(body) - at) // 4), concealed=concealed)
    if length:
        riding = unpack_json(Riding, body[_FRAME.size : at])
        frame = replace(frame, speech=riding.speech, oracle=riding.oracle, commands=riding.commands)
    return Slot(index, generation), frame, came_s


def pack_outputs(load: EngineLoad, outputs: Mapping[Slot, tuple[StepOutput, int]]) -> bytes:
    """Each slot's output, and how many of its frames were dropped so far."""
    busy = _json(load)
    parts = [_BATCH.pack(len(busy), len(outputs)), busy]
    for slot, (output, dropped) in outputs.items():
        words = _json_list(output.words) if output.words else b""
        flags = _SPEAKING * output.speaking + _YIELDED * output.yielded
        sizes = (flags, len(words), len(output.pcm))
        head = _OUTPUT.pack(slot.index, slot.generation, output.start_sample, dropped, *sizes)
        parts += (head, words, _bytes(output.pcm))
    return pack(Kind.OUTPUTS, *parts)


def unpack_outputs(body: bytes) -> tuple[EngineLoad, dict[Slot, tuple[StepOutput, int]]]:
    length, count = _BATCH.unpack_from(body)
    at = _BATCH.size + length
    return unpack_json(EngineLoad, body[_BATCH.size : at]), dict(_outputs(body, at, count))


def _outputs(body: bytes, at: int, count: int) -> Iterator[tuple[Slot, tuple[StepOutput, int]]]:
    for _ in range(count):
        index, generation, start, dropped, flags, length, samples = _OUTPUT.unpack_from(body, at)
        at += _OUTPUT.size
        words = tuple(Word(*each) for each in json.loads(body[at : at + length] or b"[]"))
        at += length
        output = StepOutput(
            _pcm(body, at, samples), words, bool(flags & _SPEAKING), bool(flags & _YIELDED), start
        )
        at += 4 * samples
        yield Slot(index, generation), (output, dropped)


def _slot(slot: Slot) -> bytes:
    return _SLOT.pack(slot.index, slot.generation)


def _json(value: Any) -> bytes:
    return json.dumps(asdict(value)).encode()


def _json_list(words: Sequence[Word]) -> bytes:
    return json.dumps([(word.text, word.epoch, word.start_sample) for word in words]).encode()


def _bytes(pcm: Pcm) -> bytes:
    return pcm.astype("<f4", copy=False).tobytes()


def _pcm(body: bytes, at: int, samples: int) -> Pcm:
    # A copy: a view would keep the whole message, everybody's audio, as long as one frame lives.
    return np.frombuffer(body, "<f4", samples, at).astype(np.float32)
