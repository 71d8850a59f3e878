import asyncio
from itertools import pairwise

import numpy as np
import pytest

from pipeline.audio.opus import OpusDecoder
from pipeline.channel import Channel, Full
from pipeline.clock import now
from pipeline.types import OpusPacket, Pcm
from server.rtc.microphone import FRAME, RATE_HZ, Microphone


def tone(seconds: float) -> Pcm:
    return np.float32(0.5) * np.sin(np.arange(round(seconds * RATE_HZ), dtype=np.float32) * 0.1)


class Line:
    """A microphone at work, and what it sent."""

    def __init__(self) -> None:
        self.packets: list[OpusPacket] = []
        self._channel = Channel[OpusPacket]("line", 8, Full.DROP_OLDEST)
        self.microphone = Microphone(self._channel)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.microphone.run())
            async for packet in self._channel:
                self.packets.append(packet)

    def hang_up(self) -> None:
        self._channel.close()

    def loud_ms(self) -> int:
        decoder = OpusDecoder(RATE_HZ)
        return sum(20 for p in self.packets if np.abs(decoder.decode(p.payload)).max() > 0.1)


async def test_silence_and_speech_leave_in_real_time_without_a_seam() -> None:
    async with asyncio.TaskGroup() as tasks:
        line = Line()
        tasks.create_task(line.run())
        began_s = now()
        await asyncio.sleep(1.0)
        await line.microphone.say(tone(0.5))
        await asyncio.sleep(1.0)
        elapsed_s = now() - began_s
        line.hang_up()
    assert len(line.packets) == pytest.approx(elapsed_s * 50, abs=1)
    assert {b.timestamp - a.timestamp for a, b in pairwise(line.packets)} == {960}
    assert line.loud_ms() == pytest.approx(500, abs=40)


async def test_it_tells_when_the_last_audible_sample_was_spoken() -> None:
    quiet = np.zeros(round(0.3 * RATE_HZ), np.float32)
    async with asyncio.TaskGroup() as tasks:
        line = Line()
        tasks.create_task(line.run())
        began_s = now()
        said = await line.microphone.say(np.concatenate([quiet, tone(0.5), quiet]))
        assert now() - began_s == pytest.approx(1.1, abs=0.03)
        line.hang_up()
    assert said.began_s - began_s == pytest.approx(0.3, abs=0.01)
    assert said.ended_s - began_s == pytest.approx(0.8, abs=0.01)


async def test_a_sentence_can_be_broken_off() -> None:
    async with asyncio.TaskGroup() as tasks:
        line = Line()
        tasks.create_task(line.run())
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await line.microphone.say(tone(5.0))
        await asyncio.sleep(1.0)
        line.hang_up()
    assert line.loud_ms() == pytest.approx(200, abs=60)
    assert FRAME == 480


async def test_a_call_that_ends_does_not_leave_the_speaker_waiting() -> None:
    async with asyncio.timeout(1), asyncio.TaskGroup() as tasks:
        line = Line()
        tasks.create_task(line.run())
        asyncio.get_running_loop().call_later(0.3, line.hang_up)
        await line.microphone.say(tone(60))
