"""All calls of this server: opens, resumes, ends and drains them."""

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

from pipeline.clock import now
from pipeline.conversation import Conversation
from pipeline.events import ServiceState
from server.admission import Admission
from server.call import Call, Talk
from server.errors import UnknownCall
from server.life import Life
from server.line import Line
from server.rtc.peer import Peer
from server.settings import LimitSettings
from server.signalling import Opened

log = logging.getLogger(__name__)

NewPeer = Callable[[str], Awaitable[Peer]]
"""By the name of its call."""
NewConversation = Callable[[str, Mapping[str, Any]], Conversation]
"""From a call id and OpenAI's session object; raises InputError if that is wrong."""
NewLine = Callable[[Conversation, Callable[[], str]], Line]
"""For a conversation, and what gives it a fresh token to resume with."""


class Calls:
    """Enter it as a context: calls run in its TaskGroup and are over when it is left."""

    def __init__(
        self,
        admission: Admission,
        limits: LimitSettings,
        new_peer: NewPeer,
        new_conversation: NewConversation,
        new_line: NewLine,
        talk: Talk,
    ) -> None:
        self._admission, self._limits = admission, limits
        self._new_peer, self._talk = new_peer, talk
        self._new_conversation, self._new_line = new_conversation, new_line
        self._calls: dict[str, Call] = {}
        self._running: dict[str, asyncio.Task[None]] = {}
        self._peers: dict[str, Peer] = {}
        self._tokens: dict[str, str] = {}
        self._down: dict[str, ServiceState] = {}
        self._tasks = asyncio.TaskGroup()

    async def __aenter__(self) -> "Calls":
        await self._tasks.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> None:
        await self._tasks.__aexit__(*error)

    async def open(
        self, offer: str, session: Mapping[str, Any], *, client_ip: str, resume: str | None
    ) -> Opened:
        """Answer an offer: a new call, or a new peer for the call that `resume` names.

        Raises InputError, TooBusy, or UnknownCall for a token that is not (any more) good.
        """
        if resume is not None:
            return await self._resume(offer, resume)
        call_id = f"call_{secrets.token_hex(12)}"
        conversation = self._new_conversation(call_id, session)
        conversation.note(*self._down.values())
        self._admission.enter(call_id, client_ip)
        try:
            peer, answer = await self._answer(offer, call_id)
        except BaseException:
            self._leave(call_id)
            raise
        line = self._new_line(conversation, partial(self._new_token, call_id))
        life = Life(self._limits)
        call = Call(conversation, line, self._talk, self._admission, self._ring, life)
        self._calls[call_id], self._peers[call_id] = call, peer
        self._running[call_id] = self._tasks.create_task(self._run(call, peer), name=call_id)
        return Opened(call_id, answer)

    async def trickle(self, call_id: str, fragment: str) -> None:
        """Candidates for a call's newest peer. Raises UnknownCall, InputError."""
        if call_id not in self._peers:
            raise UnknownCall
        await self._peers[call_id].add_candidates(fragment)

    async def hang_up(self, call_id: str) -> None:
        """Returns once the call's place is free for another. Raises UnknownCall."""
        self._find(call_id).life.hang_up()
        await asyncio.wait([self._running[call_id]])

    def tell(self, state: ServiceState) -> None:
        """A back-end that all calls share went or came back; who calls meanwhile is told too."""
        self._down.pop(state.service, None)
        if not state.up:
            self._down[state.service] = state
        for call in self._calls.values():
            call.note(state)

    def drain(self) -> None:
        """Let nobody in any more, and end every call once its reply has been said."""
        self._admission.close()
        for call in self._calls.values():
            call.life.drain()

    async def _resume(self, offer: str, token: str) -> Opened:
        call = self._find(self._tokens.get(token, ""))
        peer, answer = await self._answer(offer, call.call_id)
        if self._calls.get(call.call_id) is not call:  # it ended meanwhile
            await peer.close()
            raise UnknownCall
        self._peers[call.call_id] = peer
        await call.go_on_with(peer)
        return Opened(call.call_id, answer)

    async def _answer(self, offer: str, call_id: str) -> tuple[Peer, str]:
        peer = await self._new_peer(call_id)
        try:
            return peer, await peer.answer(offer)
        except BaseException:
            await peer.close()
            raise

    async def _run(self, call: Call, peer: Peer) -> None:
        try:
            await call.run(peer)
        except Exception:  # one call's end must not be another's
            log.exception("%s ended badly", call.call_id)
        finally:
            self._leave(call.call_id)

    def _leave(self, call_id: str) -> None:
        self._admission.leave(call_id, now())
        self._calls.pop(call_id, None)
        self._running.pop(call_id, None)
        self._peers.pop(call_id, None)
        self._forget_token(call_id)
        self._ring()

    def _ring(self) -> None:
        """The queue moved: whoever waits looks where it stands."""
        for call in self._calls.values():
            call.moved.set()

    def _new_token(self, call_id: str) -> str:
        """The older one was good until now: a peer that never connects has used up nothing."""
        self._forget_token(call_id)
        token = secrets.token_urlsafe(24)
        self._tokens[token] = call_id
        return token

    def _forget_token(self, call_id: str) -> None:
        self._tokens = {token: of for token, of in self._tokens.items() if of != call_id}

    def _find(self, call_id: str) -> Call:
        try:
            return self._calls[call_id]
        except KeyError:
            raise UnknownCall from None
