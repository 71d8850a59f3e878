"""An engine's thread, served over a Unix-domain socket to any number of event loops."""

import asyncio
import itertools
import logging
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace

from pipeline.engine import wire
from pipeline.engine.face import EngineLoad
from pipeline.engine.thread import EngineThread
from pipeline.engine.wire import Hello, Kind, Refusal
from pipeline.errors import EngineError, EngineFull, UmigameError
from pipeline.types import SessionConfig, Slot, StepOutput

log = logging.getLogger(__name__)

UNSENT_STEPS = 8
"""Outputs of so many steps may wait for a client that does not read; then they are dropped."""


class Client:
    """A connection, and the slots that it has opened."""

    def __init__(self, writer: asyncio.StreamWriter, most_unsent: int) -> None:
        self.slots: set[Slot] = set()
        self._writer, self._most_unsent = writer, most_unsent
        self._dropped: dict[Slot, int] = {}
        self._yields: set[Slot] = set()

    def close(self) -> None:
        self._writer.close()

    def tell(self, message: bytes) -> None:
        if not self._writer.is_closing():
            self._writer.write(message)

    def deliver(
        self, outputs: Mapping[Slot, StepOutput], load: EngineLoad, shed: Callable[[Slot], int]
    ) -> None:
        """Never waits. What cannot be sent is dropped, counted; a cut-off reply is told later."""
        if self._writer.transport.get_write_buffer_size() > self._most_unsent:
            for slot, output in outputs.items():
                self._dropped[slot] = self._dropped.get(slot, 0) + 1
                if output.yielded:
                    self._yields.add(slot)
            return
        whole = {
            slot: (
                replace(output, yielded=True) if slot in self._yields else output,
                shed(slot) + self._dropped.get(slot, 0),
            )
            for slot, output in outputs.items()
        }
        self._yields -= whole.keys()
        self.tell(wire.pack_outputs(load, whole))

    def forget(self, slot: Slot) -> None:
        self.slots.discard(slot)
        self._dropped.pop(slot, None)
        self._yields.discard(slot)


class EngineServer:
    """Made and used on the event loop of the engine's process."""

    def __init__(self, thread: EngineThread) -> None:
        self._thread = thread
        self._core = thread.loaded.result(0)
        self._owners: dict[Slot, Client] = {}
        self._clients: set[Client] = set()
        self._serving: set[asyncio.Task[None]] = set()
        self._draining = False
        self.idle = asyncio.Event()
        """Draining, and no slot is taken any more."""

    def drain(self) -> None:
        """Let no conversation begin any more."""
        self._draining = True
        self._tell_load()
        self._look_idle()

    def deliver(self, outputs: Mapping[Slot, StepOutput]) -> None:
        """What a step made; that of slots which were closed meanwhile goes nowhere."""
        owned = sorted(outputs.keys() & self._owners.keys(), key=lambda slot: slot.index)
        by_client = {client: dict[Slot, StepOutput]() for client in self._clients}
        for slot in owned:
            by_client[self._owners[slot]][slot] = outputs[slot]
        load = self._load()
        for client, theirs in by_client.items():
            if theirs:
                client.deliver(theirs, load, self._thread.shed)

    def fail(self, message: str) -> None:
        """The front-end is dead."""
        for client in self._clients:
            client.tell(wire.pack_json(Kind.FAILED, Refusal("EngineError", message)))

    async def close(self) -> None:
        """Let the clients go."""
        for client in self._clients:
            client.close()
        if self._serving:
            await asyncio.wait(self._serving)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One client, until it goes; then its slots are free."""
        info = self._core.info
        client = Client(writer, UNSENT_STEPS * info.slots * info.frame_samples * 4)
        self._clients.add(client)
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        assert self._core.ticks is not None
        client.tell(wire.pack_hello(Hello(info, self._core.ticks, self._load())))
        try:
            async with asyncio.TaskGroup() as tasks:
                for number in itertools.count():
                    if (message := await wire.read_message(reader)) is None:
                        break
                    self._take(client, *message, tasks, number)
        except Exception:  # what a client sends must not end the calls of others
            log.exception("a client of the engine was sent away")
        finally:
            self._clients.discard(client)
            self._serving.discard(task)
            for slot in list(client.slots):
                self._release(slot)
            client.close()

    def _take(
        self, client: Client, kind: Kind, body: bytes, tasks: asyncio.TaskGroup, number: int
    ) -> None:
        if kind is Kind.FRAME:
            slot, frame, came_s = wire.unpack_frame(body)
            if slot in client.slots:
                self._thread.submit(slot, frame, came_s)
        elif kind is Kind.OPEN:
            request, config = wire.unpack_open(body)
            tasks.create_task(self._open(client, request, config), name=f"open {number}")
        elif kind is Kind.CLOSE:
            slot = wire.unpack_slot(body)
            tasks.create_task(self._close(client, slot), name=f"close {number}")
        else:
            raise EngineError(f"a client sent {kind.name}, which only the engine may")

    async def _open(self, client: Client, request: int, config: SessionConfig) -> None:
        try:
            slot = await self._opened(client, config)
        except Exception as error:
            client.tell(wire.pack_refused(request, refusal(error)))
        else:
            client.tell(wire.pack_opened(request, slot))
            self._tell_load()

    async def _opened(self, client: Client, config: SessionConfig) -> Slot:
        if self._draining:
            raise EngineFull("the engine is shutting down", hint="Try again in a minute.")
        slot, opened = self._thread.open(config)
        client.slots.add(slot)
        self._owners[slot] = client
        try:
            await asyncio.wrap_future(opened)
        except BaseException:
            self._release(slot)
            raise
        return slot

    async def _close(self, client: Client, slot: Slot) -> None:
        if slot in client.slots and (closed := self._release(slot)) is not None:
            with suppress(EngineError):  # the engine ends, and there is nothing left to close
                await asyncio.wrap_future(closed)
        client.tell(wire.pack_slot(Kind.CLOSED, slot))

    def _release(self, slot: Slot) -> Future[None] | None:
        self._owners.pop(slot).forget(slot)
        closed = self._thread.close(slot)
        self._tell_load()
        self._look_idle()
        return closed

    def _tell_load(self) -> None:
        news = wire.pack_json(Kind.LOAD, self._load())
        for client in self._clients:
            client.tell(news)

    def _load(self) -> EngineLoad:
        load = self._thread.load()
        return replace(load, fits=False) if self._draining else load

    def _look_idle(self) -> None:
        if self._draining and not self._owners:
            self.idle.set()


def refusal(error: Exception) -> Refusal:
    """For the other end, which raises its like."""
    if isinstance(error, UmigameError):
        return Refusal(type(error).__name__, error.message, error.hint)
    return Refusal("EngineError", f"{type(error).__name__}: {error}")
