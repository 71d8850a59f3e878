"""Time-limited TURN credentials (draft-uberti-behave-turn-rest-00). Pure.

The username is `<unix expiry>:<user>`, the password base64(HMAC-SHA1(secret, username)): coturn,
which knows the secret, needs no list of users. It checks the expiry when an allocation is made;
one that exists is refreshed for as long as its owner likes, so a call outlives its credentials.
"""

import base64
import hmac
import math
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Credentials:
    """What a TURN client shows."""

    username: str
    password: str = field(repr=False)


def mint(secret: str, user: str, ttl_s: int, now: float) -> Credentials:
    """For `ttl_s` at least from `now` (Unix seconds). coturn counts its quota by `user`."""
    username = f"{math.ceil(now) + ttl_s}:{user}"
    # SHA-1 is the draft's, and all that coturn offers here; as an HMAC it is not broken.
    digest = hmac.digest(secret.encode(), username.encode(), "sha1")
    return Credentials(username, base64.b64encode(digest).decode())


def expired(username: str, now: float) -> bool:
    """Whether these were time-limited credentials, and are over."""
    expiry, separator, _ = username.partition(":")
    return bool(separator) and expiry.isdecimal() and int(expiry) < now
