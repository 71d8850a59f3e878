"""The voice path between a far side and a front-end that says what it hears."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from pipeline.audio.impair import impaired
from pipeline.channel import Channel
from pipeline.engine.inline import InlineEngine
from pipeline.probe import no_probes
from pipeline.stage import Into
from pipeline.types import (
    AudioFrame,
    OpusPacket,
    Pcm,
    SessionConfig,
    StepInput,
    StepOutput,
)
from pipeline.voice_path import VoicePath
from tests.fakes.far_side import PACKET, RATE_HZ, FarSide
from tests.fakes.front_ends import Echo
from tests.fakes.sender import delayed, packets, pitch_hz, sine, skewed, speech


class Witness:
    """A Dialogue that lets all pass and remembers how far it got."""

    def __init__(self) -> None:
        self.until: list[int] = []
        self.cuts: list[int] = []

    def heard_frame(self, frame: AudioFrame) -> StepInput:
        return StepInput(frame.pcm)

    def spoke(self, output: StepOutput) -> None: ...

    def sent(self, until_sample: int) -> None:
        self.until.append(until_sample)

    def cut(self, sent_sample: int) -> None:
        self.cuts.append(sent_sample)


class Line:
    """A voice path under test, and what it led to."""

    def __init__(self, front_end: Echo | None = None) -> None:
        self.front_end = front_end or Echo()
        self.far, self.witness = FarSide(), Witness()
        self.heard, self.played = Channel[AudioFrame]("heard", 9_000), list[AudioFrame]()
        self.path: VoicePath

    async def carry(self, *said: list[OpusPacket]) -> None:
        """All that is said, one after another; then the far side hangs up."""
        engine = InlineEngine(self.front_end)
        slot = await engine.open(SessionConfig())
        self.path = VoicePath(
            "line",
            self.far,
            engine,
            slot,
            self.witness,
            no_probes,
            heard=self.heard,
            played=Into(self.played.append),
        )
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.path.run())
            for part in said:
                await self.far.say(part)
            self.far.hang_up()
        assert engine.load().live == 0, "the slot was kept"


def gaps(sound: Pcm) -> int:
    """Frames that hold nothing, within a tone."""
    loud = [np.sqrt(np.mean(sound[at : at + PACKET] ** 2)) for at in range(0, len(sound), PACKET)]
    return sum(level < 0.02 for level in loud)


async def test_what_is_said_comes_back_as_it_was_with_no_delay_but_the_packet_s() -> None:
    said, line = speech(6.0), Line()
    await line.carry(packets(said))
    assert line.far.delay_s(said, 1.0) == pytest.approx(0.02, abs=0.002)
    assert line.far.delay_s(said, 4.5) == pytest.approx(0.02, abs=0.002)
    sound = line.far.sound()
    at = int(np.argmax(np.correlate(sound[: 3 * RATE_HZ], said[RATE_HZ : 2 * RATE_HZ])))
    back, meant = sound[at : at + RATE_HZ], said[RATE_HZ : 2 * RATE_HZ]
    assert np.corrcoef(back, meant)[0, 1] > 0.8


async def test_timestamps_step_by_exactly_20_ms_over_30_s_of_any_call() -> None:
    said, line = speech(10.0), Line()
    clean, bad = packets(said), impaired(packets(said), seed=3, loss=0.1, jitter_s=0.08)
    after = [
        replace(packet, sequence=packet.sequence + 500, timestamp=packet.timestamp + 480_000)
        for packet in bad
    ]
    nothing_for_5_s = replace(clean[0], arrived_s=5.0)
    await line.carry(clean, after, [nothing_for_5_s], clean[1:])
    sent = [packet for _, packet in line.far.heard]
    assert len(sent) == pytest.approx(35 * 50, abs=20)
    assert {b.timestamp - a.timestamp for a, b in pairwise(sent)} == {960}
    assert {b.sequence - a.sequence for a, b in pairwise(sent)} == {1}


@pytest.mark.parametrize(
    ("trouble", "allowed"),
    [
        (lambda sent: [p for p in sent if p.sequence % 10], 0),
        (lambda sent: impaired(sent, seed=1, loss=0.05, jitter_s=0.02), 2),
        (lambda sent: impaired(sent, seed=1, jitter_s=0.025), 0),
        (lambda sent: [delayed(p, 0.025 * (p.sequence % 5 == 0)) for p in sent], 0),
        (lambda sent: skewed(sent, 0.005), 0),
        (lambda sent: skewed(sent, -0.005), 0),
    ],
    ids=["every tenth lost", "5 % lost, jitter", "jitter", "reordered", "fast", "slow"],
)
async def test_a_tone_stays_a_tone_over_a_bad_network(trouble: object, allowed: int) -> None:
    assert callable(trouble)
    line = Line()
    sent = sorted(trouble(packets(sine(440, 10.0))), key=lambda packet: packet.arrived_s)
    await line.carry(sent)
    sound = line.far.sound()[RATE_HZ // 2 : 9 * RATE_HZ]
    assert gaps(sound) <= allowed
    assert pitch_hz(sound, RATE_HZ) == pytest.approx(440, rel=0.007)


async def test_a_reply_that_is_cut_off_leaves_nothing_behind_it() -> None:
    class Yields(Echo):
        """Once, after two seconds."""

        def step(self, inputs: Mapping[int, StepInput]) -> Mapping[int, StepOutput]:
            made, yields = super().step(inputs), len(self.batches) == 100
            return {index: replace(output, yielded=yields) for index, output in made.items()}

    line = Line(Yields())
    await line.carry(packets(sine(440, 4.0)))
    (cut,) = line.witness.cuts
    assert cut in line.witness.until, "playing stopped where a packet had ended"
    assert cut <= 99 * PACKET


async def test_both_branches_get_all_that_is_heard_and_played() -> None:
    said, line = speech(3.0), Line()
    await line.carry(packets(said))
    line.heard.close()
    heard = [frame async for frame in line.heard]
    assert [b.pts - a.pts for a, b in pairwise(heard)] == [PACKET] * (len(heard) - 1)
    assert len(line.played) == len(line.far.heard)
    assert line.witness.until == sorted(line.witness.until)
    played = np.concatenate([frame.pcm for frame in line.played if not frame.concealed])
    assert played == pytest.approx(np.concatenate([frame.pcm for frame in heard]))
