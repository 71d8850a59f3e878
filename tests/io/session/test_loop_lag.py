"""A live session with the real engine thread, hearing and STT leaves the event loop free."""

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, closing
from pathlib import Path
from time import thread_time

import numpy as np

from pipeline.audio.rtpdump import read_rtpdump
from pipeline.clock import now
from pipeline.conversation import Conversation
from pipeline.engine.engine import ThreadEngine
from pipeline.events import Heard
from pipeline.graph import Services
from pipeline.hearing.hearing import Hearing
from pipeline.hearing.vad import SileroVad
from pipeline.oracle.history import History
from pipeline.oracle.oracle import Oracle
from pipeline.oracle.race import alone
from pipeline.probe import no_probes
from pipeline.session import run_session
from pipeline.settings import OracleSettings
from pipeline.stt.local import MoonshineStt
from pipeline.types import SessionConfig
from server.stand_ins import Listener, Nobody
from server.weights import Weights
from tests.fakes.far_side import FarSide

RECORDING = Path(__file__).parents[2] / "recordings" / "pause.rtpdump"
EVERY_S = 0.005


async def work_and_lag_ms(seconds: float) -> tuple[float, float]:
    """Of the loop: the p99 of its own work between two wake-ups of a sleeper, and of their lag."""
    end_s, worked, late = now() + seconds, [], []
    while (due_s := now() + EVERY_S) < end_s:
        before_s = thread_time()
        await asyncio.sleep(EVERY_S)
        worked.append(thread_time() - before_s)
        late.append(now() - due_s)
    return 1000 * float(np.percentile(worked, 99)), 1000 * float(np.percentile(late, 99))


@asynccontextmanager
async def listening(vad: SileroVad) -> AsyncIterator[Conversation]:
    """A session that hears the recording at the speed at which it was spoken."""
    config, history, peer = SessionConfig(), History(600), FarSide()
    oracle = Oracle(alone(Nobody()), OracleSettings(), history, config)
    conversation = Conversation("call", config, oracle, history, now)
    with ThreadPoolExecutor(1, "hearing") as thread, closing(MoonshineStt()) as stt:
        async with ThreadEngine(Listener()) as engine, asyncio.TaskGroup() as tasks:
            hearing = Hearing(vad.listener(), conversation.next_utterance)
            services = Services(stt, thread, no_probes)
            tasks.create_task(run_session(conversation, peer, engine, hearing, services))
            saying = tasks.create_task(peer.say(list(read_rtpdump(RECORDING))))
            yield conversation
            saying.cancel()
            peer.hang_up()


async def test_a_live_session_leaves_the_loop_free_for_others(
    weights: Weights,
) -> None:
    async with listening(SileroVad(weights.path("vad"))) as conversation:
        worked_ms, late_ms = await work_and_lag_ms(5.0)
        words = [h.event for h in conversation.timeline if isinstance(h.event, Heard)]
    print(f"p99 of the loop: {worked_ms:.1f} ms of work, {late_ms:.1f} ms late")
    assert words, "nothing was understood"
    assert worked_ms < 20, "counted in CPU time, whatever else the machine does"
    assert late_ms < 200, "nor does it wait for threads"
