"""Who may use the server: bearers, and the Host and Origin of a request. Pure.

Without a secret (loopback only) nobody needs a bearer, but Host and Origin are still checked:
a browser lets any site send a multipart POST to localhost, and a site that re-points its own
name at 127.0.0.1 (DNS rebinding) can even read the answers.
"""

import hmac
import ipaddress
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import jwt

from server.errors import Forbidden, TooLarge, Unauthorised
from server.guesses import Guesses

TTL_S = 600
MIN_TTL_S = 10
MAX_TTL_S = 7200
"""Life of a client secret: OpenAI's default and bounds."""

MAX_SESSION_BYTES = 4096
"""Of session settings inside a client secret: a bearer must fit a header line of 8 KiB."""

_PREFIX = "ek_"
_ALGORITHM = "HS256"


@dataclass(frozen=True, slots=True)
class ClientSecret:
    """A bearer that a browser may hold."""

    value: str = field(repr=False)
    expires_at: int
    """Unix seconds."""


class Auth:
    """Checks bearers, and makes short-lived ones. `now` is Unix seconds throughout.

    Client secrets are signed with `key` (at least 32 bytes), which should be random and not be
    made from the operator's secret: whoever holds one could then guess that secret offline.
    """

    def __init__(self, secret: str | None, key: bytes) -> None:
        self._secret = secret.encode() if secret else None
        self._key = key
        self._guesses = Guesses()

    def mint(self, session: Mapping[str, Any], ttl_s: int, now: float) -> ClientSecret:
        """A client secret that carries `session`, the settings of calls opened with it.

        Raises TooLarge if the settings are too long to travel in a header.
        """
        if len(json.dumps(session)) > MAX_SESSION_BYTES:
            raise TooLarge(
                f"session is longer than {MAX_SESSION_BYTES} bytes.",
                hint="Send it with the call or in session.update.",
            )
        expires_at = int(now) + ttl_s
        claims = {"exp": expires_at, "session": dict(session)}
        value = _PREFIX + jwt.encode(claims, self._key, algorithm=_ALGORITHM)
        return ClientSecret(value, expires_at)

    def check_operator(self, authorization: str, client_ip: str, now: float) -> None:
        """Raises Unauthorised unless the Authorization header holds the operator's secret.

        Raises LockedOut for an address that has been wrong too often.
        """
        if self._secret is None:
            return
        bearer = _bearer(authorization)
        if bearer:
            self._guesses.check(client_ip, now)
        if not hmac.compare_digest(bearer.encode(), self._secret):
            if bearer:
                self._guesses.wrong(client_ip, now)
            raise Unauthorised(
                "The server's secret is missing or wrong.",
                hint="Send it as Authorization: Bearer.",
            )

    def check_caller(self, authorization: str, client_ip: str, now: float) -> Mapping[str, Any]:
        """The session settings that came with the bearer: a client secret or the operator's.

        Raises Unauthorised if it is neither, or has expired, LockedOut as check_operator does.
        """
        bearer = _bearer(authorization)
        if bearer.startswith(_PREFIX):
            try:
                return self._session_in(bearer, now)
            except Unauthorised:
                # A page may still hold the bearer of a server that had a secret.
                if self._secret is not None:
                    raise
        self.check_operator(authorization, client_ip, now)
        return {}

    def _session_in(self, bearer: str, now: float) -> Mapping[str, Any]:
        hint = "Get a new one from /v1/realtime/client_secrets."
        try:
            claims = jwt.decode(
                bearer.removeprefix(_PREFIX),
                self._key,
                algorithms=[_ALGORITHM],
                options={"verify_exp": False, "require": ["exp", "session"]},  # `now` is ours
            )
        except jwt.InvalidTokenError:
            raise Unauthorised("The client secret is not valid here.", hint=hint) from None
        if claims["exp"] <= now:
            raise Unauthorised("The client secret has expired.", hint=hint)
        session: Mapping[str, Any] = claims["session"]
        return session


def _bearer(authorization: str) -> str:
    scheme, _, value = authorization.partition(" ")
    # No secret of ours is anything but ASCII, and compare_digest takes nothing else.
    return value.strip() if scheme.lower() == "bearer" and value.isascii() else ""


class Gate:
    """Which names a request may be sent to (Host) and come from (Origin)."""

    def __init__(self, hosts: Collection[str] = (), origins: Collection[str] = ()) -> None:
        self._hosts = {host.lower() for host in hosts}
        self._origins = {origin.lower().rstrip("/") for origin in origins}

    def check(self, host: str, origin: str | None) -> None:
        """Raises Forbidden. `origin` is None for what is not a browser's cross-site request."""
        name = _hostname(host)
        if not (_is_address(name) or _is_local(name) or name in self._hosts):
            raise Forbidden(
                "This server does not answer to that host name.",
                hint="The operator can add it to server.allowed_hosts.",
            )
        if origin is not None and not (_same_origin(origin, host) or self.shares_with(origin)):
            raise Forbidden(
                "Pages of that origin may not use this server.",
                hint="The operator can add it to server.allowed_origins.",
            )

    def shares_with(self, origin: str | None) -> bool:
        """True if pages of another origin may read our answers (CORS)."""
        return origin is not None and origin.lower() in self._origins


def _hostname(host: str) -> str:
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def _is_address(name: str) -> bool:
    """An address cannot be rebound: only names can."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _is_local(name: str) -> bool:
    return name == "localhost" or name.endswith(".localhost")  # RFC 6761 section 6.3


def _same_origin(origin: str, host: str) -> bool:
    # Schemes may differ: a proxy in front may speak TLS for us.
    scheme, separator, netloc = origin.lower().partition("://")
    return bool(separator) and scheme in ("http", "https") and netloc == host.lower()
