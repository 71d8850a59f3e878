import asyncio

import pytest

from pipeline.channel import Channel, Full
from pipeline.errors import ChannelClosed


async def test_items_come_in_order_and_the_channel_ends_when_closed_and_drained() -> None:
    channel = Channel[int]("numbers", 4)
    for each in (1, 2, 3):
        await channel.send(each)
    channel.close()
    assert [each async for each in channel] == [1, 2, 3]
    with pytest.raises(ChannelClosed, match="numbers"):
        await channel.receive()


async def test_a_full_channel_makes_its_sender_wait() -> None:
    channel = Channel[int]("numbers", 1)
    await channel.send(1)
    sender = asyncio.create_task(channel.send(2))
    await asyncio.sleep(1)
    assert not sender.done()
    assert await channel.receive() == 1
    await sender
    assert await channel.receive() == 2


async def test_closing_wakes_a_waiting_sender_and_a_waiting_reader() -> None:
    full, empty = Channel[int]("full", 1), Channel[int]("empty", 1)
    await full.send(1)
    sender = asyncio.create_task(full.send(2))
    reader = asyncio.create_task(empty.receive())
    await asyncio.sleep(1)
    full.close()
    empty.close()
    for task in (sender, reader):
        with pytest.raises(ChannelClosed):
            await task


async def test_a_cancelled_reader_loses_nothing() -> None:
    channel = Channel[int]("numbers", 1)
    reader = asyncio.create_task(channel.receive())
    await asyncio.sleep(1)
    channel.offer(7)
    reader.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reader
    assert await channel.receive() == 7


async def test_clearing_makes_room_and_leaves_nothing_behind() -> None:
    channel = Channel[int]("numbers", 1)
    await channel.send(1)
    sender = asyncio.create_task(channel.send(2))
    await asyncio.sleep(1)
    channel.clear()
    await sender
    assert await channel.receive() == 2


@pytest.mark.parametrize(
    ("full", "kept"), [(Full.DROP_OLDEST, [2, 3]), (Full.DROP_NEWEST, [1, 2]), (Full.WAIT, [1, 2])]
)
async def test_what_full_means(full: Full, kept: list[int]) -> None:
    channel = Channel[int]("numbers", 2, full)
    assert [channel.offer(each) for each in (1, 2, 3)] == [True, True, False]
    channel.close()
    assert [each async for each in channel] == kept
    assert channel.dropped == 1


async def test_what_is_spared_stays_while_there_is_anything_else() -> None:
    channel = Channel[int]("numbers", 3, Full.DROP_OLDEST, spares=lambda item: item < 0)
    for each in (-1, 2, -3, 4, -5, -6):
        channel.offer(each)
    channel.close()
    assert [each async for each in channel] == [-3, -5, -6]
    assert channel.dropped == 3


async def test_a_reader_waits_until_its_deadline_even_if_that_has_moved() -> None:
    channel = Channel[int]("numbers", 2)
    loop = asyncio.get_running_loop()
    loop.call_later(0.5, channel.offer, 1)
    assert await channel.receive(1.0) == 1
    with pytest.raises(TimeoutError):
        await channel.receive(3.0)
    assert loop.time() == pytest.approx(3.0)
    with pytest.raises(TimeoutError):
        await channel.receive(3.25)
    assert loop.time() == pytest.approx(3.25)


async def test_what_is_there_is_given_even_after_the_deadline() -> None:
    channel = Channel[int]("numbers", 2)
    channel.offer(1)
    assert await channel.receive(-1.0) == 1
