"""A loop's end of an engine in another process, over a socket that is only pretended."""

import asyncio
from typing import Any

import pytest

from pipeline.engine import wire
from pipeline.engine.client import EngineClient
from pipeline.engine.face import EngineLoad
from pipeline.engine.frontend import FrontEndInfo
from pipeline.engine.vitals import HANGS_AFTER_S
from pipeline.engine.wire import Hello, Kind
from pipeline.types import SessionConfig, Ticks

LOAD = EngineLoad(0, 0, 0, True)
HELLO = Hello(FrontEndInfo("echo", 24_000, 1_920, 4, True), Ticks(0.0, 0.08), LOAD)


class Nowhere:
    """A writer whose words nobody reads."""

    @property
    def transport(self) -> "Nowhere":
        return self

    def get_write_buffer_size(self) -> int:
        return 0

    def is_closing(self) -> bool:
        return False

    def write(self, data: bytes) -> None: ...

    def close(self) -> None: ...


@pytest.mark.parametrize("busy", [False, True], ids=["silent", "tells its load"])
async def test_an_engine_whose_thread_does_not_answer_is_dead_whatever_its_loop_tells(
    busy: bool,
) -> None:
    reader, nowhere = asyncio.StreamReader(), Nowhere()
    writer: Any = nowhere
    client = EngineClient(reader, writer, HELLO)
    running = asyncio.create_task(client.run())
    opening = asyncio.create_task(client.open(SessionConfig()))
    for _ in range(round(1.5 * HANGS_AFTER_S)):
        await asyncio.sleep(1)
        if busy:
            reader.feed_data(wire.pack_json(Kind.LOAD, LOAD))
    assert running.done() and "no sign of life" in running.result()
    opening.cancel()
