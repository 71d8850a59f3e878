"""An engine that is in another process, as an event loop sees it: one connection."""

import asyncio
import itertools
import time
from pathlib import Path

from pipeline.channel import Channel
from pipeline.engine import wire
from pipeline.engine.carry import carried
from pipeline.engine.face import EngineLoad
from pipeline.engine.outputs import Outputs
from pipeline.engine.vitals import HANGS_AFTER_S, LOOK_S, Vitals
from pipeline.engine.wire import Hello, Kind, Refusal
from pipeline.errors import ConfigError, EngineError, EngineFull, InputError, UmigameError
from pipeline.types import SessionConfig, Slot, StepInput, StepOutput

READ_BYTES = 1 << 22
"""Of a message, before the socket is left alone for a moment."""

UNSENT_FRAMES = 4
"""Of every slot; when so many wait for an engine that does not read, more are dropped."""

_ERRORS = {each.__name__: each for each in (ConfigError, EngineError, EngineFull, InputError)}


class EngineClient:
    """Implements Engine (pipeline/engine/face.py) while `run` runs."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, hello: Hello
    ) -> None:
        self.info, self.ticks = hello.info, hello.ticks
        self._reader, self._writer = reader, writer
        self._load = hello.load
        self._outputs = Outputs()
        self._requests = itertools.count(1)
        self._opening: dict[int, asyncio.Future[Slot]] = {}
        self._closing: dict[Slot, asyncio.Future[None]] = {}
        self._dropped: dict[Slot, int] = {}
        """By slot that is open: frames dropped over there."""
        self._unsent: dict[Slot, StepInput] = {}
        """The frame dropped last, on account of what rode on it."""
        self._unsent_count: dict[Slot, int] = {}
        self._most_unsent = UNSENT_FRAMES * self.info.slots * self.info.frame_samples * 4
        self._vitals = Vitals()

    @classmethod
    async def connect(cls, socket: Path) -> "EngineClient":
        """Raises EngineError if nobody is there, or somebody who speaks otherwise."""
        try:
            reader, writer = await asyncio.open_unix_connection(socket, limit=READ_BYTES)
        except OSError as error:
            raise EngineError(f"the engine's process cannot be reached: {error}") from error
        message = await wire.read_message(reader)
        if message is None or message[0] is not Kind.HELLO:
            writer.close()
            raise EngineError("the engine's process does not answer")
        return cls(reader, writer, wire.unpack_hello(message[1]))

    @property
    def failed(self) -> "asyncio.Future[None]":
        return self._outputs.failed

    def load(self) -> EngineLoad:
        return self._load

    async def open(self, config: SessionConfig) -> Slot:
        self._outputs.raise_if_failed()
        request = next(self._requests)
        opened: asyncio.Future[Slot] = asyncio.get_running_loop().create_future()
        self._opening[request] = opened
        self._send(wire.pack_open(request, config))
        self._vitals.asked()
        try:
            return await opened
        except asyncio.CancelledError:
            if opened.done() and not opened.cancelled() and opened.exception() is None:
                self._release(opened.result())
            raise

    def submit(self, slot: Slot, frame: StepInput) -> None:
        if slot not in self._dropped:
            return
        if slot in self._unsent:
            frame = carried(self._unsent.pop(slot), frame)
        self._vitals.asked()
        if self._writer.transport.get_write_buffer_size() > self._most_unsent:
            self._unsent[slot] = frame
            self._unsent_count[slot] = self._unsent_count.get(slot, 0) + 1
            return
        self._send(wire.pack_frame(slot, frame, time.monotonic()))

    def outputs(self, slot: Slot) -> Channel[StepOutput]:
        return self._outputs.of(slot)

    def dropped(self, slot: Slot) -> int:
        there, here = self._dropped.get(slot, 0), self._unsent_count.get(slot, 0)
        return there + here + self._outputs.of(slot).dropped

    async def close(self, slot: Slot) -> None:
        if slot in self._dropped and (closed := self._release(slot)) is not None:
            await closed

    async def run(self) -> str:
        """Until the engine is dead, or hangs; says how, if that is known here.

        `fail` is still to be called, once all is known.
        """
        reading = asyncio.create_task(self._read(), name="engine read")
        watching = asyncio.create_task(self._watch(), name="engine watch")
        try:
            await asyncio.wait((reading, watching), return_when=asyncio.FIRST_COMPLETED)
            return reading.result() if reading.done() else watching.result()
        finally:
            for task in (reading, watching):
                task.cancel()
            self._writer.close()

    def fail(self, message: str) -> None:
        """Every session on it ends with this."""
        self._outputs.fail(message)
        for opened in self._opening.values():
            if not opened.done():
                opened.set_exception(EngineError(message))
        for closed in self._closing.values():
            if not closed.done():
                closed.set_result(None)

    def _send(self, message: bytes) -> None:
        if not self._writer.is_closing():
            self._writer.write(message)

    async def _watch(self) -> str:
        while not self._vitals.hangs():  # noqa: ASYNC110
            await asyncio.sleep(LOOK_S)
        return f"the engine gave no sign of life for {HANGS_AFTER_S:.0f} s"

    async def _read(self) -> str:
        try:
            while (message := await wire.read_message(self._reader)) is not None:
                kind, body = message
                if kind is not Kind.LOAD:
                    self._vitals.answered()
                if kind is Kind.FAILED:
                    return wire.unpack_json(Refusal, body).message
                self._take(kind, body)
        except EngineError as error:
            return error.message
        return ""

    def _take(self, kind: Kind, body: bytes) -> None:
        if kind is Kind.OUTPUTS:
            self._load, outputs = wire.unpack_outputs(body)
            for slot in outputs.keys() & self._dropped.keys():
                self._dropped[slot] = outputs[slot][1]
            self._outputs.deliver({slot: output for slot, (output, _) in outputs.items()})
        elif kind is Kind.LOAD:
            self._load = wire.unpack_json(EngineLoad, body)
        elif kind is Kind.OPENED:
            self._opened(*wire.unpack_opened(body))
        elif kind is Kind.REFUSED:
            request, refusal = wire.unpack_refused(body)
            if not (opened := self._opening.pop(request)).done():
                opened.set_exception(error_of(refusal))
        elif kind is Kind.CLOSED:
            closed = self._closing.pop(wire.unpack_slot(body), None)
            if closed is not None and not closed.done():
                closed.set_result(None)

    def _opened(self, request: int, slot: Slot) -> None:
        self._dropped[slot] = 0
        self._outputs.open(slot)
        if (opened := self._opening.pop(request)).done():  # whoever asked has given up
            self._release(slot)
        else:
            opened.set_result(slot)

    def _release(self, slot: Slot) -> asyncio.Future[None] | None:
        """Done once the engine has closed it; None if the engine is dead."""
        self._outputs.close(slot)
        del self._dropped[slot]
        self._unsent.pop(slot, None)
        self._unsent_count.pop(slot, None)
        if self.failed.done():
            return None
        closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._closing[slot] = closed
        self._send(wire.pack_slot(Kind.CLOSE, slot))
        self._vitals.asked()
        return closed


def error_of(refusal: Refusal) -> UmigameError:
    """As it was raised over there; what is not known here is an EngineError."""
    return _ERRORS.get(refusal.kind, EngineError)(refusal.message, hint=refusal.hint)
