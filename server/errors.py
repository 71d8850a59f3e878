"""Errors of the HTTP surface, and how every error of the tree reads to a client.

InputError
 ├── RequestError      a field of their JSON is wrong (server/realtime/errors.py)
 ├── Unauthorised      no bearer, a wrong one or an expired one
 ├── Forbidden         this Host or Origin may not talk to us
 ├── UnknownCall       no such call, or it is over
 ├── TooLarge          the body is longer than any real one
 └── UnsupportedMedia  the body is of a type we do not read
UmigameError
 └── TooBusy           all places are taken, those in the queue too
      ├── LockedOut    too many wrong secrets came from this address
      └── Draining     the server is about to stop
"""

import math
from dataclasses import dataclass, field
from typing import Any

from pipeline.errors import EngineError, InputError, ServiceError, UmigameError
from server.realtime.errors import RequestError
from server.rtc.sdp import IceRestartUnsupported


class Unauthorised(InputError):
    """The caller did not show a valid bearer."""


class Forbidden(InputError):
    """The request comes from, or was sent to, a name that is not allowed."""


class UnknownCall(InputError):
    """There is no call of this id (any more)."""

    def __init__(self) -> None:
        super().__init__("There is no such call, or it is over.", hint="Start a new one.")


class TooLarge(InputError):
    """The body exceeds the limit."""


class UnsupportedMedia(InputError):
    """The body's Content-Type is not one this route reads."""


class TooBusy(UmigameError):
    """No place now; one may be free in `retry_after_s`."""

    def __init__(self, message: str, *, retry_after_s: float, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.retry_after_s = retry_after_s


class LockedOut(TooBusy):
    """This address has been wrong about the secret too often."""

    def __init__(self, retry_after_s: float) -> None:
        super().__init__(
            "There were too many wrong secrets from this address.",
            retry_after_s=retry_after_s,
            hint="Wait a minute, then try again.",
        )


class Draining(TooBusy):
    """The server finishes its calls and takes no new ones."""

    def __init__(self) -> None:
        super().__init__(
            "The server is shutting down.", retry_after_s=10, hint="Try again in a moment."
        )


_KINDS: dict[type[UmigameError], tuple[int, str, str]] = {
    InputError: (400, "invalid_request_error", "invalid_request"),
    Unauthorised: (401, "invalid_request_error", "invalid_api_key"),
    Forbidden: (403, "invalid_request_error", "forbidden"),
    UnknownCall: (404, "invalid_request_error", "call_not_found"),
    TooLarge: (413, "invalid_request_error", "body_too_large"),
    UnsupportedMedia: (415, "invalid_request_error", "unsupported_media_type"),
    IceRestartUnsupported: (422, "invalid_request_error", "ice_restart_unsupported"),
    TooBusy: (429, "rate_limit_exceeded", "too_busy"),
    LockedOut: (429, "rate_limit_exceeded", "too_many_guesses"),
    Draining: (503, "server_error", "shutting_down"),
    EngineError: (503, "server_error", "engine_failed"),
    ServiceError: (503, "server_error", "service_failed"),
    UmigameError: (500, "server_error", "internal_error"),
}
"""HTTP status, and OpenAI's `type` and `code`; the nearest class of an error's tree counts."""


@dataclass(frozen=True, slots=True)
class ErrorReply:
    """An error as it goes over HTTP."""

    status: int
    body: dict[str, Any]
    headers: dict[str, str] = field(default_factory=dict)


def describe(error: UmigameError) -> ErrorReply:
    """What to answer when a request ended with `error`."""
    status, kind, code = next(_KINDS[c] for c in type(error).__mro__ if c in _KINDS)
    param = None
    if isinstance(error, RequestError):
        code, param = error.code, error.param
    headers = {}
    if isinstance(error, Unauthorised):
        headers["WWW-Authenticate"] = "Bearer"  # RFC 9110 section 15.5.2 demands it
    if isinstance(error, TooBusy):
        headers["Retry-After"] = str(max(1, math.ceil(error.retry_after_s)))
    return ErrorReply(status, error_body(error.message, kind, code, error.hint, param), headers)


def error_body(
    message: str, kind: str, code: str, hint: str = "", param: str | None = None
) -> dict[str, Any]:
    """OpenAI's error object, with our hint beside it."""
    error = {"message": message, "type": kind, "code": code, "param": param}
    return {"error": error | ({"hint": hint} if hint else {})}
