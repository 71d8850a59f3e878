"""Makes what a call is made of, from the parts all calls share."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pipeline.clock import now
from pipeline.conversation import Conversation
from pipeline.engine.face import Engine
from pipeline.graph import Services
from pipeline.hearing.endpoint import Endpoint
from pipeline.hearing.hearing import Hearing
from pipeline.hearing.vad import SileroVad
from pipeline.oracle.history import History
from pipeline.oracle.oracle import Oracle
from pipeline.session import run_session
from pipeline.types import Mode, SessionConfig
from server.groups import port_range
from server.ice import IceServers
from server.line import Line
from server.llms import Llms
from server.metrics import CallMeter, Metrics
from server.realtime.errors import RequestError
from server.realtime.session import Offered, SessionRequest, read_session
from server.rtc.gather import IceConfig
from server.rtc.peer import Peer
from server.settings import Settings
from turn.ice import IceServer

CASCADE_SILENCE_S = 0.8
"""Ends a cascade's turn unless the settings say otherwise; longer than most pauses within one."""

FIXED = {"mode", "language"}
"""Fields of SessionConfig on which the front-end and hearing were built."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What a server runs once, for everybody."""

    settings: Settings
    metrics: Metrics
    engine: Engine
    services: Services
    vad: SileroVad
    llms: Llms
    offered: Offered
    base: SessionConfig
    """What a session has unless it asks for something else."""


class CallFactory:
    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._ice_servers = IceServers(parts.settings)

    async def new_peer(self, call_id: str) -> Peer:
        """With credentials of its own for the relays."""
        return Peer(call_id, ice_config(self._parts.settings, await self._ice_servers.now()))

    def new_conversation(self, call_id: str, session: Mapping[str, Any]) -> Conversation:
        """Raises RequestError if the session object asks for what is not to be had."""
        parts = self._parts
        config = read_session(dict(session), parts.base, parts.offered).config
        history = History(parts.settings.oracle.history_tokens)
        race = parts.llms.race(config.llm)
        oracle = Oracle(race, parts.settings.oracle, history, config)
        return Conversation(call_id, config, oracle, history, now)

    def new_line(self, conversation: Conversation, new_token: Callable[[], str]) -> Line:
        meter = CallMeter(self._parts.metrics)
        return Line(conversation, self._parts.offered, self._reconfigure, meter, new_token)

    async def talk(self, conversation: Conversation, peer: Peer) -> None:
        """A session from now until the peer is gone. Raises UmigameError."""
        parts = self._parts
        hearing = Hearing(
            parts.vad.listener(), conversation.next_utterance, self._endpoint(conversation.config)
        )
        await run_session(conversation, peer, parts.engine, hearing, parts.services)

    def _endpoint(self, config: SessionConfig) -> Endpoint:
        """A cascade waits for a fixed silence, as its kind does."""
        hearing = self._parts.settings.hearing
        if config.mode is Mode.CASCADE and hearing.fixed_silence_s is None:
            hearing = hearing.model_copy(update={"fixed_silence_s": CASCADE_SILENCE_S})
        return Endpoint(hearing, config.language)

    def _reconfigure(self, conversation: Conversation, request: SessionRequest) -> None:
        """Raises RequestError for what only a new call can choose."""
        for field in FIXED & set(request.changed):
            raise RequestError(
                f"{field}: cannot be changed in mid-call.", hint="Start a new call with it."
            )
        race = self._parts.llms.race(request.config.llm)
        conversation.oracle.configure(request.config, race)
        conversation.configure(request.config, *request.changed)


def ice_config(settings: Settings, servers: tuple[IceServer, ...]) -> IceConfig:
    """How our peers look for a path."""
    network = settings.network
    return IceConfig(
        servers,
        relay_only=settings.turn.relay_only,
        loopback=settings.server.loopback,
        ports=port_range(network.ports) if network.ports else None,
        advertised=network.advertised,
        interfaces=network.interfaces,
    )
