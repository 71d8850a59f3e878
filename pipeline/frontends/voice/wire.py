"""What goes over the pipes between the server and the TTS worker.

A message is a head (kind, job, length of the body in bytes) and a body. Those to the worker fit
into PIPE_BUF, so that a pipe takes them whole or not at all (POSIX write(2)).
"""

import struct
from dataclasses import dataclass
from enum import IntEnum
from select import PIPE_BUF
from typing import IO

import numpy as np

from pipeline.types import Pcm

_HEAD = struct.Struct("<BII")

MOST_TEXT = PIPE_BUF - _HEAD.size
"""Bytes of UTF-8 that a job may have."""


class Kind(IntEnum):
    SAY = 1
    """To the worker: speak the text in the body."""
    SAY_FIRST = 2
    """The same, before all that are not urgent."""
    CANCEL = 3
    """The job's audio is not wanted."""
    READY = 4
    """From the worker: the model is loaded."""
    PIECE = 5
    """Audio in the body, float32, little-endian; more comes."""
    LAST = 6
    """The same, and nothing more comes."""
    FAILED = 7
    """The reason is in the body; job 0: the worker cannot start."""


@dataclass(frozen=True, slots=True)
class Message:
    kind: Kind
    job: int = 0
    body: bytes = b""

    @property
    def text(self) -> str:
        return self.body.decode(errors="replace")

    @property
    def pcm(self) -> Pcm:
        return np.frombuffer(self.body, dtype="<f4").astype(np.float32, copy=False)

    def packed(self) -> bytes:
        return _HEAD.pack(self.kind, self.job, len(self.body)) + self.body


def read_message(stream: IO[bytes]) -> Message | None:
    """Waits for the next message; None: the other side has gone."""
    head = stream.read(_HEAD.size)
    if len(head) < _HEAD.size:
        return None
    kind, job, length = _HEAD.unpack(head)
    body = stream.read(length)
    return Message(Kind(kind), job, body) if len(body) == length else None
