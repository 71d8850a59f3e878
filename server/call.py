"""The life of one call: connecting → queued → live → lost → resumed → over.

A call outlives its peers. When one falls silent its place is given back and the conversation
kept for a while; a new peer that knows the call's token goes on with it, and so does the old
one should its path revive.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from enum import Enum, auto

from pipeline.clock import now
from pipeline.conversation import Conversation
from pipeline.errors import UmigameError
from server.admission import Admission
from server.line import Line
from server.rtc.peer import Peer
from server.settings import LimitSettings

log = logging.getLogger(__name__)

LOST_S = 4.0
"""A peer is lost when no datagram came for so long, STUN consent (RFC 7675) included."""

FLUSH_S = 0.5
"""What is still inside a call that ends may take so long to flow out."""

LOOK_S = 0.1
"""How often a call looks after its peer."""

Talk = Callable[[Conversation, Peer], Awaitable[None]]
"""Runs a session until the peer is gone; raises UmigameError if it cannot."""


class _Turn(Enum):
    """Why a call stopped serving a peer."""

    OVER = auto()
    LOST = auto()
    REPLACED = auto()


class Call:
    def __init__(
        self,
        conversation: Conversation,
        line: Line,
        talk: Talk,
        admission: Admission,
        ring: Callable[[], None],
        limits: LimitSettings,
    ) -> None:
        self.call_id = conversation.call_id
        self.moved = asyncio.Event()
        """Set whenever the queue moved."""
        self.line = line
        self._conversation, self._talk = conversation, talk
        self._admission, self._ring, self._limits = admission, ring, limits
        self._successor: Peer | None = None
        self._ended: UmigameError | None = None
        self._hung_up = self._talking = False
        self._began_s = now()

    def hang_up(self) -> None:
        """End the call soon; `run` returns when it has."""
        self._hung_up = True

    async def go_on_with(self, peer: Peer) -> None:
        """`peer` resumes the call as soon as it is connected."""
        if self._successor is not None:
            await self._successor.close()
        self._successor = peer

    async def run(self, peer: Peer) -> None:
        """From the first peer's answer to the end."""
        current: Peer | None = peer
        try:
            while current is not None:
                current = await self._serve(current)
        finally:
            for each in (current, self._successor):
                if each is not None:
                    await each.close()

    async def _serve(self, peer: Peer) -> Peer | None:
        """Until `peer` is lost or replaced; gives the peer to go on with, None at the end."""
        name = self.call_id
        async with asyncio.TaskGroup() as tasks:
            served = [
                tasks.create_task(self.line.write(peer), name=f"{name} write"),
                tasks.create_task(self.line.read(peer), name=f"{name} read"),
                tasks.create_task(self._live(peer), name=f"{name} live"),
            ]
            turn = await self._watch(peer)
            if turn is _Turn.OVER:
                peer.received.close()
                await asyncio.wait(served[-1:], timeout=FLUSH_S)
            for task in served:
                task.cancel()
        if turn is _Turn.LOST:
            return await self._wait_for_return(peer)
        if self._ended is not None:
            self.line.tell_error(peer, self._ended)
        await peer.close()
        return self._take_successor() if turn is _Turn.REPLACED else None

    async def _live(self, peer: Peer) -> None:
        """Wait for a place, then talk. Whatever goes wrong ends this call and no other."""
        try:
            await self._admitted(peer)
            self._talking = True
            await self._talk(self._conversation, peer)
        except UmigameError as error:
            self._ended = error
        except Exception:
            log.exception("call %s failed", self.call_id)
            self._ended = UmigameError("The call failed.", hint="Start a new one.")

    async def _admitted(self, peer: Peer) -> None:
        await asyncio.shield(peer.connected)  # it is not ours to cancel
        waited = False
        while (place := self._admission.place(self.call_id)).position:
            waited = True
            self.line.tell_place(peer, place)
            self.moved.clear()
            await self.moved.wait()
        if waited:
            self.line.tell_place(peer, place)

    async def _watch(self, peer: Peer) -> _Turn:
        since_s = now()
        while True:
            if self._over(peer, since_s):
                return _Turn.OVER
            if self._successor is not None and self._successor.connected.done():
                return _Turn.REPLACED
            if peer.closed.done() or now() - peer.heard_at_s() > LOST_S:
                return _Turn.LOST if self._talking else _Turn.OVER
            await asyncio.sleep(LOOK_S)

    def _over(self, peer: Peer, since_s: float) -> bool:
        if self._hung_up or self._ended is not None:
            return True
        at_s, limits = now(), self._limits
        if not peer.connected.done() and at_s - since_s > limits.connect_s:
            self._ended = UmigameError(
                f"No connection within {limits.connect_s:.0f} s.",
                hint="A firewall may block UDP: see TURN in the README.",
            )
        elif at_s - self._began_s > limits.length_s:
            self._ended = UmigameError("The call reached its longest allowed length.")
        elif at_s - self._conversation.active_s > limits.idle_s:
            self._ended = UmigameError("Nobody spoke for a long time.")
        return self._ended is not None

    async def _wait_for_return(self, lost: Peer) -> Peer | None:
        """The place is free for others; the conversation waits `grace_s` for its caller."""
        self._admission.lose(self.call_id, now())
        self._ring()
        until_s = now() + self._limits.grace_s
        back: Peer | None = None
        while back is None and now() < until_s and not self._hung_up:
            await asyncio.sleep(LOOK_S)
            if self._successor is not None and self._successor.connected.done():
                back = self._take_successor()
            elif not lost.closed.done() and now() - lost.heard_at_s() < LOST_S:
                back = lost
        if back is not lost:
            await lost.close()
        if back is not None:
            self._admission.resume(self.call_id, now())
        return back

    def _take_successor(self) -> Peer | None:
        successor, self._successor = self._successor, None
        return successor
