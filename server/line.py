"""A call's data channel: events of the conversation out, commands of the client in."""

import json
from collections.abc import Callable
from contextlib import suppress

from pipeline.clock import now
from pipeline.conversation import Conversation
from pipeline.errors import UmigameError
from server.admission import Place
from server.metrics import CallMeter
from server.realtime.commands import (
    CancelResponse,
    ClearOutput,
    Command,
    CreateItem,
    CreateResponse,
    TruncateItem,
    UpdateSession,
    read_command,
)
from server.realtime.errors import RequestError
from server.realtime.events import RealtimeEvents
from server.realtime.session import Offered, SessionRequest, read_session
from server.realtime.writer import JsonObject
from server.rtc.peer import Peer

Reconfigure = Callable[[Conversation, SessionRequest], None]
"""Puts a session's new settings in force."""


class Line:
    """Outlives the call's peers, so that ids and the order of items hold over a resume."""

    def __init__(
        self,
        conversation: Conversation,
        offered: Offered,
        reconfigure: Reconfigure,
        meter: CallMeter,
        new_token: Callable[[], str],
    ) -> None:
        self._conversation, self._offered = conversation, offered
        self._reconfigure, self._meter = reconfigure, meter
        self._new_token = new_token
        self._realtime = RealtimeEvents(conversation.call_id, lambda: conversation.config, offered)

    async def write(self, peer: Peer) -> None:
        """Tell `peer` all that happens, until cancelled."""
        self._send(peer, *self._realtime.connected(self._new_token()))
        async for happened in self._conversation.events:
            self._meter.see(happened.event, now())
            self._send(peer, *self._realtime.happened(happened.event, happened.at_s))

    async def read(self, peer: Peer) -> None:
        """Do what `peer` asks until its channel ends. What cannot be done is told to it alone."""
        async for message in peer.commands:
            command: Command | None = None
            try:
                command = read_command(message)
                self._obey(peer, command)
            except UmigameError as error:
                event_id = command.event_id if command else None
                self._send(peer, self._realtime.error(error, event_id))

    def tell_place(self, peer: Peer, place: Place) -> None:
        """Where the call stands in the queue; position 0 ends the waiting."""
        self._send(peer, self._realtime.queued(place.position, place.eta_s))

    def tell_end(self, peer: Peer, cause: UmigameError) -> None:
        """The call is over, and not by the caller's wish: there is nothing to go back to."""
        self._send(peer, self._realtime.error(cause), self._realtime.ended())

    def _obey(self, peer: Peer, command: Command) -> None:
        conversation = self._conversation
        match command:
            case UpdateSession():
                request = read_session(
                    command.session, conversation.config, self._offered, command.event_id
                )
                self._reconfigure(conversation, request)
            case CreateItem():
                conversation.wrote(command.text, command.item.id or "")
            case CreateResponse():
                conversation.answer_now()
            case CancelResponse():
                self._realtime.speaking.cancel(command.response_id)
                conversation.stop()
            case ClearOutput():
                with suppress(RequestError):  # nothing to clear is as good as cleared
                    self._realtime.speaking.cancel()
                conversation.stop()
            case TruncateItem():
                heard = self._realtime.speaking.truncate(command.item_id, command.audio_end_ms)
                conversation.heard_less(heard.reply, heard.text)
                self._send(peer, heard.event)

    def _send(self, peer: Peer, *events: JsonObject) -> None:
        for event in events:
            peer.send_event(json.dumps(event))
