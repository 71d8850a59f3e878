"""One call: serves its peers, one after another, until the call's life is over.

A call outlives its peers. When one falls silent its place is given back and the conversation
kept for a while; a new peer that knows the call's token goes on with it, and so does the old
one should its path revive. What is decided, and when, is in life.py.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress

from pipeline.clock import now
from pipeline.conversation import Conversation
from pipeline.errors import UmigameError
from pipeline.events import Event
from server.admission import Admission
from server.life import Life, Seen, Turn, returned
from server.line import Line
from server.rtc.peer import Peer

log = logging.getLogger(__name__)

FLUSH_S = 0.5
"""What is still inside a call that ends may take so long to flow out."""

QUEUE_S = 1.0
"""How often a call that waits asks whether the engine has room by now."""

LOOK_S = 0.1
"""How often a call looks after its peer."""

Talk = Callable[[Conversation, Peer], Awaitable[None]]
"""Runs a session until the peer is gone; raises UmigameError if it cannot."""


class Call:
    def __init__(
        self,
        conversation: Conversation,
        line: Line,
        talk: Talk,
        admission: Admission,
        ring: Callable[[], None],
        life: Life,
    ) -> None:
        self.call_id = conversation.call_id
        self.life = life
        self.moved = asyncio.Event()
        """Set whenever the queue moved."""
        self._conversation, self._line, self._talk = conversation, line, talk
        self._admission, self._ring = admission, ring
        self._successor: Peer | None = None

    def note(self, event: Event) -> None:
        """Something happened that concerns this call too."""
        self._conversation.note(event)

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
        self.life.serves(now())
        async with asyncio.TaskGroup() as tasks:
            live = tasks.create_task(self._live(peer), name=f"{name} live")
            write = tasks.create_task(self._line.write(peer), name=f"{name} write")
            read = tasks.create_task(self._line.read(peer), name=f"{name} read")
            turn = await self._watch(peer)
            if turn is Turn.OVER:
                peer.received.close()
                await asyncio.wait([live], timeout=FLUSH_S)
            for task in (live, write, read):
                task.cancel()
        if turn is Turn.LOST:
            return await self._wait_for_return(peer)
        self._say_farewell(peer)
        await peer.close()
        return self._take_successor() if turn is Turn.REPLACED else None

    async def _live(self, peer: Peer) -> None:
        """Wait for a place, then talk. Whatever goes wrong ends this call and no other."""
        try:
            await self._admitted(peer)
            self.life.talks(now())
            await self._talk(self._conversation, peer)
        except UmigameError as error:
            self.life.fail(error)
        except Exception:
            log.exception("%s failed", self.call_id)
            self.life.fail(UmigameError("The call failed.", hint="Start a new one."))

    async def _admitted(self, peer: Peer) -> None:
        await asyncio.shield(peer.connected)  # it is not ours to cancel
        self._admission.connected(self.call_id, now())
        waited = False
        while (place := self._admission.place(self.call_id)).position:
            waited = True
            self._line.tell_place(peer, place)
            await self._queue_moves()
        if waited:
            self._line.tell_place(peer, place)

    async def _queue_moves(self) -> None:
        self.moved.clear()
        while not self.moved.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self.moved.wait(), QUEUE_S)
            if self._admission.admit(now()):
                self._ring()

    async def _watch(self, peer: Peer) -> Turn:
        while (turn := self.life.turn(self._seen(peer), now())) is None:  # noqa: ASYNC110
            await asyncio.sleep(LOOK_S)
        return turn

    async def _wait_for_return(self, lost: Peer) -> Peer | None:
        """The place is free for others while the conversation waits for its caller."""
        self.life.lost(now())
        self._admission.lose(self.call_id, now())
        self._ring()
        back: Peer | None = None
        while back is None and self.life.waits(now()):
            await asyncio.sleep(LOOK_S)
            seen = self._seen(lost)
            if seen.replaced:
                back = self._take_successor()
            elif returned(seen, now()):
                back = lost
        if not self.life.waits(now()):  # too late, whoever came
            for peer in {lost, back or lost}:
                await peer.close()
            return None
        assert back is not None
        if back is not lost:
            await lost.close()
        self._admission.resume(self.call_id, now())
        return back

    def _seen(self, peer: Peer) -> Seen:
        successor = self._successor
        return Seen(
            connected=peer.connected.done(),
            closed=peer.closed.done(),
            heard_at_s=peer.heard_at_s(),
            replaced=successor is not None and successor.connected.done(),
            active_s=self._conversation.active_s,
            speaking=self._conversation.speaking,
        )

    def _say_farewell(self, peer: Peer) -> None:
        if self.life.ended is not None:
            self._line.tell_end(peer, self.life.ended)
        if not peer.connected.done() and peer.closed.done():
            log.info("%s never connected: %s", self.call_id, peer.closed.result())

    def _take_successor(self) -> Peer | None:
        successor, self._successor = self._successor, None
        return successor
