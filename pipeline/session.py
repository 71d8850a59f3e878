"""A conversation with a peer and a slot attached, under one TaskGroup."""

import asyncio
from typing import Protocol

from pipeline.conversation import Conversation
from pipeline.engine.face import Engine
from pipeline.errors import UmigameError
from pipeline.graph import Graph, Services
from pipeline.hearing.hearing import Hearing
from pipeline.stage import Into
from pipeline.voice_path import MediaPeer

REPORT_S = 1.0


class Peer(MediaPeer, Protocol):
    """A peer that knows its network path."""

    def rtt_s(self) -> float | None: ...

    def relayed(self) -> bool | None: ...


async def run_session(
    conversation: Conversation, peer: Peer, engine: Engine, hearing: Hearing, services: Services
) -> None:
    """Speak with `peer` until it is gone or the caller cancels.

    Raises EngineFull, EngineError, or whatever first went wrong in a stage; nothing of it
    reaches another session, and the slot is given back in any case.
    """
    failed = engine.failed  # of the engine that opens the slot: it may be replaced
    slot = await engine.open(conversation.config)
    name = conversation.call_id
    conversation.attach(engine.info.rate_hz)
    try:
        graph = Graph(peer, engine, slot, conversation, hearing, services)
        async with asyncio.TaskGroup() as tasks:
            beside = [
                tasks.create_task(work, name=f"{name} {what}")
                for what, work in (
                    ("oracle", conversation.oracle.run(Into(conversation.oracle_news))),
                    ("engine watch", _raise_if_failed(failed)),
                    ("report", _report(conversation, peer, graph)),
                )
            ]
            await graph.run()
            for task in beside:
                task.cancel()
    except* UmigameError as group:
        raise _first(group) from None
    finally:
        conversation.detach()
        await engine.close(slot)


async def _raise_if_failed(failed: "asyncio.Future[None]") -> None:
    await asyncio.shield(failed)


async def _report(conversation: Conversation, peer: Peer, graph: Graph) -> None:
    """Once a second, tell how the path is, and what had to be dropped since."""
    while True:
        await asyncio.sleep(REPORT_S)
        voice = graph.voice
        voice.jitter.rtt_s = peer.rtt_s()
        latency = voice.report.latency(voice.jitter.stats, peer.rtt_s(), peer.relayed())
        conversation.note(latency, *voice.report.overloads(**graph.dropped()))


def _first(group: BaseExceptionGroup[UmigameError]) -> UmigameError:
    """A TaskGroup wraps what its tasks raise, sometimes more than once."""
    error = group.exceptions[0]
    return _first(error) if isinstance(error, BaseExceptionGroup) else error
