"""`umigame replay`: recorded RTP through the real graph, as fast as the machine can.

The clock stands still while hearing and STT compute, so that the same file gives the same
timeline each time, on any machine; what a busy machine adds to a live call is not in it. The
front-end listens and says nothing: a reply would be an echo that was not in the recording.
"""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.table import Table
from rich.text import Text

from pipeline.audio.jitter import JitterStats
from pipeline.channel import Channel
from pipeline.clock import now
from pipeline.conversation import Conversation, Happened
from pipeline.engine.inline import InlineEngine
from pipeline.events import Event, Heard, Overload, ServiceState, Speech
from pipeline.graph import Graph, Services
from pipeline.hearing.endpoint import Endpoint
from pipeline.hearing.hearing import Hearing
from pipeline.hearing.vad import SileroVad
from pipeline.oracle.history import History
from pipeline.oracle.oracle import Oracle
from pipeline.oracle.race import alone
from pipeline.probe import no_probes
from pipeline.settings import HearingSettings, OracleSettings
from pipeline.stt.local import MoonshineStt
from pipeline.types import OpusPacket, Pcm, SessionConfig, silence
from pipeline.virtual_loop import VirtualLoop
from server.stand_ins import RATE_HZ, Listener, Nobody, RecordedPeer

TAIL_S = 3.0
"""Of nothing, after the recording: longer than any silence that ends a turn."""


@dataclass(frozen=True, slots=True)
class Noted:
    """A line of the timeline."""

    noted_s: float
    """When the server knew, in seconds since the recording began."""
    what: str
    """started, stopped, turn_ended, retracted, partial, final or trouble."""
    utterance: int | None
    at_s: float | None
    """Media seconds at which it happened, or up to which a transcript knows."""
    text: str


@dataclass(frozen=True, slots=True)
class Replayed:
    heard: str
    """All final transcripts."""
    timeline: list[Noted]
    media: JitterStats


def replay(
    packets: Sequence[OpusPacket], vad: Path, settings: HearingSettings
) -> tuple[Replayed, Pcm]:
    """`packets` in the order they came, their times from zero.

    Gives also what reached the front-end: mono, RATE_HZ, from the first packet on. Raises
    ConfigError for weights that cannot be loaded.
    """
    with (
        ThreadPoolExecutor(1, "hearing") as thread,
        closing(MoonshineStt()) as stt,
        asyncio.Runner(loop_factory=VirtualLoop) as runner,
    ):
        services = Services(stt, thread, no_probes)
        return runner.run(_replay(packets, SileroVad(vad), settings, services))


async def _replay(
    packets: Sequence[OpusPacket], vad: SileroVad, settings: HearingSettings, services: Services
) -> tuple[Replayed, Pcm]:
    config, history, listener, peer = SessionConfig(), History(1), Listener(), RecordedPeer()
    oracle = Oracle(alone(Nobody()), OracleSettings(), history, config)
    conversation = Conversation("replay", config, oracle, history, now)
    engine = InlineEngine(listener)
    slot = await engine.open(config)
    conversation.attach(RATE_HZ)
    endpoint = Endpoint(settings, config.language)
    hearing = Hearing(vad.listener(), conversation.next_utterance, endpoint)
    graph = Graph(peer, engine, slot, conversation, hearing, services)
    timeline: list[Noted] = []
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(_read(conversation.events, timeline), name="replay read")
        playing = tasks.create_task(_play(packets, peer, graph), name="replay play")
        await graph.run()
        conversation.events.close()
    heard = " ".join(line.text for line in timeline if line.what == "final" and line.text)
    return (
        Replayed(heard, timeline, playing.result()),
        np.concatenate([silence(0), *listener.heard]),
    )


async def _play(packets: Sequence[OpusPacket], peer: RecordedPeer, graph: Graph) -> JitterStats:
    """Then wait for what comes of it; the silence meanwhile is not in the statistics."""
    await peer.play(packets)
    stats = graph.voice.jitter.stats
    await asyncio.sleep(TAIL_S)
    peer.received.close()
    return stats


async def _read(events: Channel[Happened], timeline: list[Noted]) -> None:
    async for happened in events:
        if what := _what(happened.event):
            timeline.append(Noted(round(happened.at_s, 3), *what))


def _what(event: Event) -> tuple[str, int | None, float | None, str] | None:
    """None: of no interest where nobody answers."""
    match event:
        case Speech(found):
            return found.kind.value, found.utterance, round(found.at_s, 3), ""
        case Heard(heard):
            kind = "final" if heard.final else "partial"
            return kind, heard.utterance, round(heard.end_s, 3), heard.text
        case ServiceState() | Overload():
            return "trouble", None, None, str(event)
    return None


def table(timeline: Sequence[Noted]) -> Table:
    """For a terminal."""
    shown = Table("noted s", "what", "utterance", "at s", "text", box=None, padding=(0, 2, 0, 0))
    for line in timeline:
        shown.add_row(
            f"{line.noted_s:.2f}",
            line.what,
            str(line.utterance or ""),
            "" if line.at_s is None else f"{line.at_s:.2f}",
            Text(line.text),
        )
    return shown
