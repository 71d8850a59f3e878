"""The conversation's events as a client sees them: see the package for their order. Pure.

One RealtimeEvents a call. It outlives the call's peers, so that ids and the order of items
hold over a resume.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import assert_never

from pipeline.errors import UmigameError
from pipeline.events import (
    Configured,
    Event,
    Heard,
    Latency,
    OracleAsked,
    OracleChosen,
    OracleFate,
    OracleSpent,
    OracleText,
    Overload,
    ReplyEnded,
    ReplyStarted,
    ReplyWord,
    ServiceState,
    Speech,
    Typed,
)
from pipeline.types import SessionConfig
from server.errors import describe
from server.realtime.errors import RequestError
from server.realtime.listening import Listening
from server.realtime.session import Offered, describe_session
from server.realtime.speaking import Speaking
from server.realtime.timeline import ms, timeline_entry
from server.realtime.writer import JsonObject, NewId, Writer, random_id

_State = (
    OracleAsked
    | OracleText
    | OracleChosen
    | OracleSpent
    | OracleFate
    | ServiceState
    | Overload
    | Latency
    | Configured
)


@dataclass(frozen=True, slots=True)
class _Answer:
    """What an LLM says now."""

    epoch: int
    source: str
    prompt: str
    text: str = ""
    final: bool = False


class RealtimeEvents:
    """`config` gives what is in force when it is called."""

    def __init__(
        self,
        call_id: str,
        config: Callable[[], SessionConfig],
        offered: Offered,
        new_id: NewId = random_id,
    ) -> None:
        self._call_id = call_id
        self._config = config
        self._offered = offered
        self._writer = Writer(new_id)
        self._listening = Listening(self._writer)
        self.speaking = Speaking(self._writer)
        self._event = self._writer.event
        self._session_id = new_id("sess")
        self._answer = _Answer(epoch=0, source="", prompt="")
        self._latency: Latency | None = None

    def happened(self, event: Event, at_s: float) -> list[JsonObject]:
        """What a client is told of `event`, noted `at_s` seconds into the conversation."""
        told = self._told(event, at_s)
        entry = timeline_entry(event, at_s)
        return told if entry is None else [*told, self._event("umigame.timeline", entries=[entry])]

    def connected(self, token: str) -> list[JsonObject]:
        """A data channel opened, the first or one after a resume; `token` resumes next time."""
        return [
            self._session("session.created"),
            self._event("umigame.session", token=token, call_id=self._call_id),
        ]

    def queued(self, position: int, eta_s: float | None) -> JsonObject:
        """Position 1 is served next, 0 waits no longer."""
        return self._event("umigame.queue", position=position, eta_s=eta_s)

    def ended(self) -> JsonObject:
        """The call is over; its token resumes nothing."""
        return self._event("umigame.ended")

    def error(self, error: UmigameError, event_id: str | None = None) -> JsonObject:
        """What went wrong, as HTTP tells it too; `event_id` is the client's that led to it."""
        if isinstance(error, RequestError):
            event_id = error.event_id or event_id
        return self._event("error", error=describe(error).body["error"] | {"event_id": event_id})

    def _told(self, event: Event, at_s: float) -> list[JsonObject]:
        match event:
            case Speech():
                return self._listening.speech(event.event)
            case Heard():
                return self._listening.heard(event.transcript)
            case Typed():
                return self._listening.typed(event)
            case ReplyStarted():
                return self.speaking.started(event, at_s) + self._response_time(event)
            case ReplyWord():
                return self.speaking.word(event, at_s)
            case ReplyEnded():
                return self.speaking.ended(event)
            case _:
                return self._state(event)

    def _state(self, event: _State) -> list[JsonObject]:
        match event:
            case OracleAsked() | OracleText():
                return [self._oracle(event)]
            case OracleFate() | OracleChosen() | OracleSpent():
                return []  # a line of the timeline is all of it, or a metric
            case ServiceState():
                return self._service(event)
            case Overload(where=where, frames=frames):
                return [self._event("umigame.overload", where=where, frames=frames)]
            case Latency():
                self._latency = event
                return [self._latency_event(response_s=None)]
            case Configured():
                return [self._session("session.updated")]
            case _:
                assert_never(event)

    def _session(self, kind: str) -> JsonObject:
        session = describe_session(self._session_id, self._config(), self._offered)
        return self._event(kind, session=session)

    def _oracle(self, event: OracleAsked | OracleText) -> JsonObject:
        """A text of another epoch than was asked last is shown without its question."""
        answer = self._answer
        if isinstance(event, OracleAsked):
            answer = _Answer(event.epoch, event.source, event.prompt)
        elif event.epoch != answer.epoch:
            answer = _Answer(event.epoch, event.source, "", event.text, event.final)
        else:
            text = answer.text + event.text
            answer = replace(answer, source=event.source, text=text, final=event.final)
        self._answer = answer
        return self._event("umigame.oracle", **asdict(answer))

    def _service(self, event: ServiceState) -> list[JsonObject]:
        told = self._event(
            "umigame.service", service=event.service, up=event.up, message=event.message
        )
        if event.service == "stt" and not event.up:
            return [told, *self._listening.failed(event.message)]
        return [told]

    def _response_time(self, event: ReplyStarted) -> list[JsonObject]:
        return [] if event.response_s is None else [self._latency_event(event.response_s)]

    def _latency_event(self, response_s: float | None) -> JsonObject:
        """What was measured last, and a response time just when there is a new one."""
        last = self._latency
        return self._event(
            "umigame.latency",
            rtt_ms=ms(last.rtt_s) if last else None,
            jitter_ms=ms(last.jitter_s) if last else None,
            server_ms=ms(last.server_s) if last else None,
            response_ms=ms(response_s),
            concealed_pct=round(last.concealed * 100, 2) if last else None,
            relayed=last.relayed if last else None,
        )
