"""What coturn writes, as an operator wants to read it. Pure."""

import logging
import re

_PREFIX = re.compile(r"^\d+: : ?(?:(?:INFO|WARNING|ERROR): )?")
_USER = r"<(?:\d+:)?([^>]+)>"

_SAID: tuple[tuple[re.Pattern[str], int, str], ...] = (
    (re.compile(r"(\w+) listener opened on ?: (\S+)"), logging.INFO, r"listens on \2, \1"),
    (re.compile(rf"session \d+: new, .*username={_USER}"), logging.INFO, r"relays for \1"),
    (
        re.compile(rf"closed \(2nd stage\), user {_USER}.* remote (\S+?),? reason: (.+)"),
        logging.INFO,
        r"relays no more for \1 at \2: \3",
    ),
    (
        re.compile(rf"Cannot find credentials of user {_USER}"),
        logging.WARNING,
        r"refused \1: the credentials are wrong or have expired",
    ),
    (
        re.compile(rf"user {_USER}: .* error 403: (.+)"),
        logging.WARNING,
        r"refused \1: the peer's address is not allowed (\2)",
    ),
    (
        re.compile(rf"user {_USER}: .* error (486|508): (.+)"),
        logging.WARNING,
        r"refused \1: \3 (\2)",
    ),
)


def read_line(line: str) -> tuple[int, str] | None:
    """Level and text for our own log, or None for what nobody needs to know."""
    for pattern, level, text in _SAID:
        if found := pattern.search(line):
            return level, found.expand(text)
    if "ERROR" in line or re.search(r"cannot|failure", line, re.IGNORECASE):
        return logging.WARNING, _PREFIX.sub("", line).strip()
    return None
