"""The aiohttp middlewares around every handler, outermost first.

secured   headers that tell browsers what our pages may do
answered  errors become JSON; what nobody foresaw becomes a 500 that tells no secrets
gated     Host, Origin and bearer are checked
"""

import logging
import time
from collections.abc import Mapping, MutableMapping
from typing import Any

from aiohttp import hdrs, web
from aiohttp.typedefs import Handler, Middleware

from pipeline.errors import UmigameError
from server.auth import Auth, Gate
from server.errors import describe, error_body
from server.proxies import Proxies

log = logging.getLogger(__name__)

BEARER_SESSION = web.RequestKey("bearer_session", dict[str, Any])
"""Session settings that came inside the caller's client secret."""

CLIENT_IP = web.RequestKey("client_ip", str)

API = "/v1/"
CLIENT_SECRETS = "/v1/realtime/client_secrets"
METRICS = "/metrics"

_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
        "media-src 'self' blob:; connect-src 'self'; font-src 'self'; manifest-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Permissions-Policy": "microphone=(self), camera=(), geolocation=()",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}

_METHODS = "GET, POST, PATCH, DELETE"
_PREFLIGHT_S = 600


def guards(auth: Auth, gate: Gate, proxies: Proxies) -> list[Middleware]:
    """The middlewares of the app."""

    @web.middleware
    async def gated(request: web.Request, handler: Handler) -> web.StreamResponse:
        forwarded_for = request.headers.getall(hdrs.X_FORWARDED_FOR, ())
        request[CLIENT_IP] = proxies.client_ip(request.remote or "", forwarded_for)
        gate.check(request.host, request.headers.get(hdrs.ORIGIN))
        if request.method == hdrs.METH_OPTIONS:
            return web.Response(status=204)
        authorise(auth, request)
        return await handler(request)

    @web.middleware
    async def secured(request: web.Request, handler: Handler) -> web.StreamResponse:
        response = await handler(request)
        response.headers.update(_HEADERS)
        origin = request.headers.get(hdrs.ORIGIN)
        if origin is not None and gate.shares_with(origin):
            share(response.headers, request.headers, origin)
        return response

    return [secured, answered, gated]


def authorise(auth: Auth, request: web.Request) -> None:
    """Raises Unauthorised if what is behind the path needs a bearer and there is none.

    Raises LockedOut for an address that has been wrong too often.
    """
    client_ip, now = request[CLIENT_IP], time.time()
    authorization = request.headers.get(hdrs.AUTHORIZATION, "")
    if request.path in (CLIENT_SECRETS, METRICS):
        auth.check_operator(authorization, client_ip, now)
    elif request.path.startswith(API):
        request[BEARER_SESSION] = dict(auth.check_caller(authorization, client_ip, now))


def share(answer: MutableMapping[str, str], asked: Mapping[str, str], origin: str) -> None:
    """Let a page of an allowed origin read the answer (Fetch standard, CORS protocol)."""
    answer[hdrs.ACCESS_CONTROL_ALLOW_ORIGIN] = origin
    answer[hdrs.ACCESS_CONTROL_EXPOSE_HEADERS] = f"{hdrs.LOCATION}, {hdrs.RETRY_AFTER}"
    answer[hdrs.VARY] = hdrs.ORIGIN
    wanted = asked.get(hdrs.ACCESS_CONTROL_REQUEST_HEADERS)
    if hdrs.ACCESS_CONTROL_REQUEST_METHOD in asked:
        answer[hdrs.ACCESS_CONTROL_ALLOW_METHODS] = _METHODS
        answer[hdrs.ACCESS_CONTROL_MAX_AGE] = str(_PREFLIGHT_S)
        if wanted:
            # "*" would not cover Authorization.
            answer[hdrs.ACCESS_CONTROL_ALLOW_HEADERS] = wanted


@web.middleware
async def answered(request: web.Request, handler: Handler) -> web.StreamResponse:
    try:
        return await handler(request)
    except UmigameError as error:
        reply = describe(error)
        if reply.status >= 500:
            log.warning("%s %s: %s", request.method, request.path, error)
        return web.json_response(reply.body, status=reply.status, headers=reply.headers)
    except web.HTTPException as error:
        return _plain(error)
    except Exception:
        log.exception("%s %s failed", request.method, request.path)
        body = error_body("Something went wrong in the server.", "server_error", "internal_error")
        return web.json_response(body, status=500)


def _plain(error: web.HTTPException) -> web.Response:
    """What aiohttp itself found wrong: no such route, a method, a body too large."""
    kept = {hdrs.ALLOW: error.headers[hdrs.ALLOW]} if hdrs.ALLOW in error.headers else {}
    code = error.reason.lower().replace(" ", "_")
    body = error_body(f"{error.reason}.", "invalid_request_error", code)
    return web.json_response(body, status=error.status, headers=kept)
