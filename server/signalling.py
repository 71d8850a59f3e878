"""The HTTP surface: OpenAI's Realtime calls over WebRTC, with trickle ICE, and health.

Bodies are checked here; what they ask for is done by Calls. Errors are raised, and written as
JSON by guard.py.
"""

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.web_request import FileField

from pipeline.errors import InputError
from server.auth import MAX_TTL_S, MIN_TTL_S, TTL_S, Auth
from server.errors import TooLarge, UnsupportedMedia
from server.guard import BEARER_SESSION, CLIENT_IP, CLIENT_SECRETS

CALLS = "/v1/realtime/calls"
CALL = CALLS + "/{call_id:[A-Za-z0-9_-]+}"

MAX_BODY_BYTES = 256 * 1024
"""A browser's offer is some 3 KB, with every codec and many candidates 30."""

BODY_TIMEOUT_S = 10.0
"""A caller that dribbles its body is not waited for."""

SDP = "application/sdp"
FRAGMENT = "application/trickle-ice-sdpfrag"  # RFC 8840 section 9

_BROKEN = (ValueError, LookupError, RuntimeError, HttpProcessingError, web.RequestPayloadError)
"""What aiohttp's parsers raise for forms, encodings and character sets that are not right."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A call that was taken, perhaps into the queue."""

    call_id: str
    answer: str
    """SDP."""


class Calls(Protocol):
    """Everybody who talks or waits."""

    async def open(
        self, offer: str, session: Mapping[str, Any], *, client_ip: str, resume: str | None
    ) -> Opened:
        """Answer an SDP offer. `session` is OpenAI's session object, `resume` a session token.

        Raises InputError, TooBusy, UnknownCall (nothing to resume) or EngineError.
        """

    async def trickle(self, call_id: str, fragment: str) -> None:
        """Add a browser's candidates. Raises UnknownCall, InputError, IceRestartUnsupported."""

    async def hang_up(self, call_id: str) -> None:
        """End the call; its place is free afterwards. Raises UnknownCall."""


class Signalling:
    """Routes over `calls`. `ice` says which relays a page may use, with credentials made for it
    now: `ice_servers`, and `ice_transport_policy` if it is not "all". `not_ready` says why no
    call can be taken, "" if one can.
    """

    def __init__(
        self,
        calls: Calls,
        auth: Auth,
        ice: Callable[[], Awaitable[Mapping[str, Any]]],
        not_ready: Callable[[], str],
    ) -> None:
        self._calls = calls
        self._auth = auth
        self._ice = ice
        self._not_ready = not_ready

    def routes(self) -> list[web.RouteDef]:
        return [
            web.post(CALLS, self.open),
            web.patch(CALL, self.trickle),
            web.delete(CALL, self.hang_up),
            web.post(CALL + "/hangup", self.hang_up),
            web.post(CLIENT_SECRETS, self.client_secret),
            web.get("/v1/realtime/ice-servers", self.ice_servers),
            web.get("/healthz", self.alive),
            web.get("/readyz", self.ready),
        ]

    async def open(self, request: web.Request) -> web.Response:
        offer, asked = await read_offer(request)
        session = request[BEARER_SESSION] | asked
        opened = await self._calls.open(
            offer, session, client_ip=request[CLIENT_IP], resume=resume_token(session)
        )
        return web.Response(
            status=201,
            text=opened.answer,
            content_type=SDP,
            headers={"Location": f"{CALLS}/{opened.call_id}"},
        )

    async def trickle(self, request: web.Request) -> web.Response:
        if request.content_type != FRAGMENT:
            raise UnsupportedMedia(f"PATCH takes {FRAGMENT}.")
        fragment = await read_text(request)
        await self._calls.trickle(request.match_info["call_id"], fragment)
        return web.Response(status=204)

    async def hang_up(self, request: web.Request) -> web.Response:
        await self._calls.hang_up(request.match_info["call_id"])
        return web.Response(status=204)

    async def client_secret(self, request: web.Request) -> web.Response:
        asked = parse_object(await read_text(request) or "{}", "the body")
        session = _member(asked, "session")
        ttl_s = _member(asked, "expires_after").get("seconds", TTL_S)
        if type(ttl_s) is not int or not MIN_TTL_S <= ttl_s <= MAX_TTL_S:
            raise InputError(f"expires_after.seconds must be from {MIN_TTL_S} to {MAX_TTL_S}.")
        secret = self._auth.mint(session, ttl_s, time.time())
        body = {"value": secret.value, "expires_at": secret.expires_at, "session": session}
        return web.json_response(body, headers={"Cache-Control": "no-store"})

    async def ice_servers(self, request: web.Request) -> web.Response:
        body = dict(await self._ice())
        return web.json_response(body, headers={"Cache-Control": "no-store"})

    async def alive(self, request: web.Request) -> web.Response:
        return web.json_response({"status": "ok"})

    async def ready(self, request: web.Request) -> web.Response:
        reason = self._not_ready()
        body = {"status": "not ready", "reason": reason} if reason else {"status": "ready"}
        return web.json_response(body, status=503 if reason else 200)


async def read_offer(request: web.Request) -> tuple[str, dict[str, Any]]:
    """The SDP and session of a POST, either as bare SDP or as a form.

    Raises InputError, UnsupportedMedia, TooLarge.
    """
    if request.content_type == SDP:
        offer, session = await read_text(request), ""
    elif request.content_type == "multipart/form-data":
        form = await read_form(request)
        offer, session = form.get("sdp", ""), form.get("session", "")
    else:
        raise UnsupportedMedia(
            f"A call is opened with {SDP} or multipart/form-data.",
            hint="Send the offer as it is, or as field sdp beside session.",
        )
    if not offer.startswith("v=0"):  # RFC 8866 section 5.1
        raise InputError("The SDP offer is missing or is none.")
    return offer, parse_object(session or "{}", "session")


async def read_text(request: web.Request) -> str:
    """The whole body. Raises InputError, TooLarge."""
    async with _reading():
        return (await request.read()).decode()


async def read_form(request: web.Request) -> dict[str, str]:
    """The fields of a form, files among them. Raises InputError, TooLarge."""
    async with _reading():
        return {name: _field_text(value) for name, value in (await request.post()).items()}


@contextlib.asynccontextmanager
async def _reading() -> AsyncGenerator[None, None]:
    """Whatever can be wrong with a body, as errors of ours."""
    try:
        async with asyncio.timeout(BODY_TIMEOUT_S):
            yield
    except TimeoutError:
        raise InputError(f"The body did not come within {BODY_TIMEOUT_S:.0f} s.") from None
    except web.HTTPRequestEntityTooLarge:
        raise TooLarge(f"The body is longer than {MAX_BODY_BYTES // 1024} KiB.") from None
    except _BROKEN:
        raise InputError("The body cannot be read.") from None


def _field_text(value: str | bytes | bytearray | FileField) -> str:
    if isinstance(value, FileField):
        value = value.file.read()
    return value if isinstance(value, str) else value.decode()


def parse_object(text: str, name: str) -> dict[str, Any]:
    """Raises InputError unless `text` is a JSON object."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise InputError(f"{name} is not JSON.") from None
    if not isinstance(value, dict):
        raise InputError(f"{name} must be a JSON object.")
    return value


def _member(asked: Mapping[str, Any], name: str) -> dict[str, Any]:
    value = asked.get(name) or {}
    if not isinstance(value, dict):
        raise InputError(f"{name} must be an object.")
    return value


def resume_token(session: Mapping[str, Any]) -> str | None:
    """`umigame.resume` of a session object. Raises InputError if it is not a string."""
    token = _member(session, "umigame").get("resume")
    if token is not None and not isinstance(token, str):
        raise InputError("umigame.resume must be a string.")
    return token
