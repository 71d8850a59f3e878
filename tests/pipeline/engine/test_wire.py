import asyncio
import json

import numpy as np
import pytest

from pipeline.engine import wire
from pipeline.engine.face import EngineLoad
from pipeline.engine.frontend import FrontEndInfo
from pipeline.engine.wire import Hello, Kind
from pipeline.errors import EngineError
from pipeline.types import Slot, StepOutput, Ticks

HELLO = Hello(
    FrontEndInfo("echo", 24_000, 1_920, 4, True), Ticks(1.5, 0.08), EngineLoad(0, 0, 0, True)
)


async def read(sent: bytes) -> tuple[Kind, bytes] | None:
    reader = asyncio.StreamReader()
    reader.feed_data(sent)
    reader.feed_eof()
    return await wire.read_message(reader)


async def test_an_engine_of_another_version_is_refused_with_both_versions() -> None:
    message = await read(wire.pack_hello(HELLO))
    assert message is not None
    assert wire.unpack_hello(message[1]) == HELLO
    other = json.dumps(json.loads(message[1]) | {"version": 0}).encode()
    with pytest.raises(EngineError, match=r"speaks version 0 .* not 1"):
        wire.unpack_hello(other)


@pytest.mark.parametrize("sent", [b"GET / HTTP/1.1\r\n\r\n", b"\x05\xff\xff\xff\xff"])
async def test_who_speaks_something_else_is_found_out_before_anything_is_kept(sent: bytes) -> None:
    with pytest.raises(EngineError, match="another protocol"):
        await read(sent)


async def test_a_message_cut_off_in_the_middle_is_the_end_of_the_connection() -> None:
    whole = wire.pack_hello(HELLO)
    assert [await read(whole[:size]) for size in (0, 3, len(whole) - 1)] == [None] * 3


async def test_one_step_of_many_slots_is_one_message() -> None:
    made = {
        Slot(index, index + 1): (StepOutput(np.full(1_920, index / 8, np.float32)), index)
        for index in range(8)
    }
    message = await read(wire.pack_outputs(HELLO.load, made))
    assert message is not None and message[0] is Kind.OUTPUTS
    load, got = wire.unpack_outputs(message[1])
    assert load == HELLO.load
    assert {slot: (output.pcm[-1], dropped) for slot, (output, dropped) in got.items()} == {
        slot: (output.pcm[-1], dropped) for slot, (output, dropped) in made.items()
    }
