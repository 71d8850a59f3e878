"""A server whose calls are only counted: no media, no engine."""

import asyncio
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from pipeline.engine.face import EngineLoad
from pipeline.errors import EngineError, InputError
from server.admission import Admission
from server.app import Choice
from server.errors import UnknownCall
from server.rtc.sdp import IceRestartUnsupported
from server.signalling import Opened

ANSWER = "v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\n"


class FakePhone:
    """Calls and Service in one: takes offers while there is room, or fails with `broken`."""

    choices: Sequence[Choice] = (Choice("TTS", "whistle", "the only one [here]"),)

    def __init__(self, calls: int = 2, queue: int = 0) -> None:
        self.admission = Admission(calls, queue)
        self.sessions: dict[str, Mapping[str, Any]] = {}
        self.resumed: list[str] = []
        self.fragments: list[str] = []
        self.broken: Exception | None = None
        self.drained = False

    @property
    def calls(self) -> "FakePhone":
        return self

    async def open(
        self, offer: str, session: Mapping[str, Any], *, client_ip: str, resume: str | None
    ) -> Opened:
        if self.broken is not None:
            raise self.broken
        if "m=audio" not in offer:
            raise InputError("The offer has no audio.")
        call_id = f"call_{len(self.sessions)}"
        self.admission.enter(call_id, client_ip)
        self.admission.connected(call_id, 0)
        self.sessions[call_id] = session
        self.resumed += [resume] if resume else []
        return Opened(call_id, ANSWER)

    async def trickle(self, call_id: str, fragment: str) -> None:
        self._find(call_id)
        if "a=ice-ufrag:new" in fragment:
            raise IceRestartUnsupported
        self.fragments.append(fragment)

    async def hang_up(self, call_id: str) -> None:
        self._find(call_id)
        self.admission.leave(call_id, 0)
        del self.sessions[call_id]

    @cached_property
    def failed(self) -> "asyncio.Future[None]":
        return asyncio.get_running_loop().create_future()

    def load(self) -> EngineLoad:
        return EngineLoad(live=len(self.sessions), step_p95_s=0.004, shed=7, fits=True)

    def not_ready(self) -> str:
        return self.broken.message if isinstance(self.broken, EngineError) else ""

    def drain(self) -> None:
        self.drained = True
        self.admission.close()

    def _find(self, call_id: str) -> None:
        if call_id not in self.sessions:
            raise UnknownCall
