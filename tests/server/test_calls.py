"""Calls and their peers on a virtual clock: who talks, who waits, who may come back."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

from pipeline.clock import now
from pipeline.conversation import Conversation
from pipeline.errors import EngineError, InputError
from pipeline.events import ServiceState
from pipeline.oracle.history import History
from pipeline.oracle.oracle import Oracle
from pipeline.oracle.race import alone
from pipeline.settings import OracleSettings
from pipeline.types import Mode, SessionConfig
from server.admission import Admission, State
from server.calls import Calls
from server.errors import TooBusy, UnknownCall
from server.line import Line
from server.metrics import CallMeter, Metrics
from server.realtime.session import Offered
from server.settings import LimitSettings
from tests.fakes.peer import FakePeer
from tests.fakes.scripted_model import ScriptedModel

OFFERED = Offered("voice", "joe", (Mode.TANDEM,), ("local",), ("scripted",))


class Exchange:
    """Calls under test. A session lasts until its peer is gone; `broken` makes one fail."""

    def __init__(self, lines: int, queue: int, **limits: float) -> None:
        self.admission = Admission(lines, queue, fits=lambda: not self.busy)
        self.peers: list[FakePeer] = []
        self.talking: list[str] = []
        self.broken: Exception | None = None
        self.busy = False
        """The engine's steps leave no room for one more."""
        self.calls = Calls(
            self.admission,
            LimitSettings(**limits),
            self._new_peer,
            self._new_conversation,
            self._new_line,
            self._talk,
        )

    async def dial(self, resume: str | None = None, *, connects: bool = True) -> FakePeer:
        """A peer whose offer was answered, with time to settle."""
        await self.calls.open("v=0", {}, client_ip="::1", resume=resume)
        if connects:
            self.peers[-1].connect()
        await asyncio.sleep(1)
        return self.peers[-1]

    async def _new_peer(self, call_id: str) -> Any:
        self.peers.append(FakePeer(call_id))
        return self.peers[-1]

    def _new_conversation(self, call_id: str, session: Mapping[str, Any]) -> Conversation:
        config, history = SessionConfig(), History(600)
        oracle = Oracle(alone(ScriptedModel(["Yes."])), OracleSettings(), history, config)
        return Conversation(call_id, config, oracle, history, now)

    def _new_line(self, conversation: Conversation, new_token: Callable[[], str]) -> Line:
        def refuse(conversation: object, request: object) -> None:
            raise AssertionError

        return Line(conversation, OFFERED, refuse, CallMeter(Metrics()), new_token)

    async def _talk(self, conversation: Conversation, peer: Any) -> None:
        if self.broken is not None:
            raise self.broken
        self.talking.append(peer.name)
        try:
            async for _ in peer.received:
                pass
        finally:
            self.talking.remove(peer.name)


@asynccontextmanager
async def exchange(lines: int = 1, queue: int = 1, **limits: float) -> AsyncIterator[Exchange]:
    made = Exchange(lines, queue, **limits)
    async with made.calls:
        yield made
        made.calls.drain()
    assert not made.talking
    assert all(peer.closed.done() for peer in made.peers), "a peer was left open"
    assert not any(made.admission.count(state) for state in State), "a place was left taken"


def token(peer: FakePeer) -> str:
    return str(peer.told("umigame.session")[-1]["token"])


async def test_one_too_many_is_told_their_place_and_talks_when_the_other_hangs_up() -> None:
    async with exchange() as phone:
        first, second = await phone.dial(), await phone.dial()
        assert phone.talking == [first.name]
        assert [event["position"] for event in second.told("umigame.queue")] == [1]
        await phone.calls.hang_up(first.name)
        await asyncio.sleep(1)
        assert phone.talking == [second.name]
        assert [event["position"] for event in second.told("umigame.queue")] == [1, 0]


async def test_a_place_is_free_as_soon_as_the_hang_up_is_answered() -> None:
    async with exchange(queue=0) as phone:
        for _ in range(5):
            caller = await phone.dial()
            assert phone.talking == [caller.name]
            await phone.calls.hang_up(caller.name)


async def test_who_finds_the_engine_at_its_limit_waits_though_a_line_is_free() -> None:
    async with exchange(lines=2) as phone:
        first = await phone.dial()
        phone.busy = True
        second = await phone.dial()
        await asyncio.sleep(10)
        assert phone.talking == [first.name]
        assert [event["position"] for event in second.told("umigame.queue")] == [1]
        phone.busy = False
        await asyncio.sleep(2)
        assert phone.talking == [first.name, second.name]
        assert [event["position"] for event in second.told("umigame.queue")] == [1, 0]


async def test_who_finds_the_queue_full_is_turned_away_and_nobody_else_notices() -> None:
    async with exchange() as phone:
        first, _ = await phone.dial(), await phone.dial()
        with pytest.raises(TooBusy):
            await phone.dial()
        assert phone.talking == [first.name]


async def test_an_offer_that_cannot_be_used_takes_no_place() -> None:
    async with exchange(queue=0) as phone:
        with pytest.raises(InputError):
            await phone.calls.open("junk", {}, client_ip="::1", resume=None)
        assert (await phone.dial()).name in phone.talking


async def test_a_caller_who_never_connects_gives_the_place_back() -> None:
    async with exchange(queue=0, connect_s=10) as phone:
        await phone.dial(connects=False)
        with pytest.raises(TooBusy):
            await phone.dial()
        await asyncio.sleep(10)
        assert (await phone.dial()).name in phone.talking


async def test_offers_that_do_not_connect_keep_nobody_from_talking() -> None:
    async with exchange(lines=1, queue=1) as phone:
        await phone.dial(connects=False)
        assert (await phone.dial()).name in phone.talking


async def test_a_silent_caller_frees_the_slot_within_five_seconds_and_may_resume() -> None:
    async with exchange() as phone:
        lost = await phone.dial()
        lost.fall_silent()
        await asyncio.sleep(5)
        assert phone.talking == [] and phone.admission.count(State.LIVE) == 0
        back = await phone.dial(resume=token(lost))
        assert back.name == lost.name and phone.talking == [back.name]
        assert lost.closed.done()


async def test_a_path_that_revives_goes_on_by_itself() -> None:
    async with exchange() as phone:
        peer = await phone.dial()
        peer.fall_silent()
        await asyncio.sleep(8)
        assert phone.talking == []
        peer.silent_since_s = None
        await asyncio.sleep(1)
        assert phone.talking == [peer.name]


async def test_a_lost_caller_who_stays_away_is_forgotten() -> None:
    async with exchange(grace_s=60) as phone:
        lost = await phone.dial()
        lost.fall_silent()
        await asyncio.sleep(70)
        with pytest.raises(UnknownCall):
            await phone.dial(resume=token(lost))


async def test_a_token_resumes_until_it_has_served_and_not_again() -> None:
    async with exchange() as phone:
        first = await phone.dial()
        old = token(first)
        await phone.dial(resume=old, connects=False)
        assert phone.talking == [first.name], "an attempt that does not connect changes nothing"
        third = await phone.dial(resume=old)
        assert phone.talking == [first.name] and first.closed.done()
        assert token(third) != old
        with pytest.raises(UnknownCall):
            await phone.dial(resume=old)


async def test_the_resumed_go_before_those_who_have_not_talked() -> None:
    async with exchange(queue=2) as phone:
        lost = await phone.dial()
        second, third = await phone.dial(), await phone.dial()
        lost.fall_silent()
        await asyncio.sleep(5)
        assert phone.talking == [second.name]
        await phone.dial(resume=token(lost))
        await phone.calls.hang_up(second.name)
        await asyncio.sleep(1)
        assert phone.talking == [lost.name]
        assert third.told("umigame.queue")[-1]["position"] == 1


@pytest.mark.parametrize("cause", [EngineError("The voice died."), RuntimeError("a secret")])
async def test_a_session_that_fails_ends_its_own_call_and_says_why_without_a_traceback(
    cause: Exception,
) -> None:
    async with exchange(lines=2) as phone:
        other = await phone.dial()
        phone.broken = cause
        failed = await phone.dial()
        (error,) = failed.told("error")
        assert ("died" if isinstance(cause, EngineError) else "failed") in error["error"]["message"]
        assert "secret" not in str(failed.events)
        assert failed.events[-1]["type"] == "umigame.ended" and failed.closed.done()
        assert phone.talking == [other.name]


async def test_a_command_that_cannot_be_used_is_answered_and_changes_nothing_else() -> None:
    async with exchange() as phone:
        peer = await phone.dial()
        peer.commands.offer('{"type": "response.crate", "event_id": "evt_1"}')
        peer.commands.offer('{"type": "response.cancel", "event_id": "evt_2"}')
        await asyncio.sleep(1)
        assert [event["error"]["event_id"] for event in peer.told("error")] == ["evt_1", "evt_2"]
        assert phone.talking == [peer.name]


async def test_at_shutdown_callers_are_told_and_nobody_can_come_in() -> None:
    async with exchange() as phone:
        live, queued = await phone.dial(), await phone.dial()
        phone.calls.drain()
        await asyncio.sleep(1)
        for peer in (live, queued):
            assert peer.told("error")[0]["error"]["code"] == "shutting_down"
        with pytest.raises(TooBusy):
            await phone.dial()


async def test_a_service_that_is_down_is_told_to_those_who_call_and_to_those_who_come() -> None:
    async with exchange(lines=3) as phone:
        await phone.dial()
        phone.calls.tell(ServiceState("tts", False, "The TTS worker ended with -9."))
        await phone.dial()
        phone.calls.tell(ServiceState("tts", True))
        await phone.dial()
    told = [[event["up"] for event in peer.told("umigame.service")] for peer in phone.peers]
    assert told == [[False, True], [False, True], []]
