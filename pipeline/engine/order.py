"""What an engine's process is told when it starts, and what it answers: plain values."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from pydantic import TypeAdapter

from pipeline.engine.wire import Refusal

GENERATIONS = 1 << 32
"""More than one process will use up."""


@dataclass(frozen=True, slots=True)
class Order:
    """Goes to its stdin as a line of JSON."""

    front_end: str
    """"package.module:name" of what makes the FrontEnd, called with `settings`."""
    settings: Mapping[str, Any]
    """JSON."""
    folder: str
    """Where its socket is to be; nobody else's."""
    life: int = 0
    """How many such processes there were before."""

    @property
    def socket(self) -> str:
        """Path of the Unix-domain socket."""
        return f"{self.folder}/engine-{self.life}"

    @property
    def generation(self) -> int:
        """Of its slots before they are first taken: those of a dead process are stale."""
        return self.life * GENERATIONS

    def anew(self, life: int) -> "Order":
        return replace(self, life=life)

    def line(self) -> bytes:
        return _line(self)

    @classmethod
    def read(cls, line: bytes) -> "Order":
        return TypeAdapter(cls).validate_python(json.loads(line))


@dataclass(frozen=True, slots=True)
class Report:
    """Comes from its stdout as a line of JSON, once."""

    failed: Refusal | None = None
    """None: it serves."""

    def line(self) -> bytes:
        return _line(self)

    @classmethod
    def read(cls, line: bytes) -> "Report":
        return TypeAdapter(cls).validate_python(json.loads(line))


def _line(value: Order | Report) -> bytes:
    return json.dumps(asdict(value)).encode() + b"\n"
