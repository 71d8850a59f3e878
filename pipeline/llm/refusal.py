"""What a provider's refusal means, in our words, whichever client library told it.

Never the API's own text: it may quote a key, or what was said.
"""

import ssl
from collections.abc import Iterator, Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime

from pipeline.errors import ServiceError

MEND_S = 60.0
"""Nothing but a person mends a wrong key or an empty account; until then each ask costs time."""

_BY_STATUS = {
    400: (
        "refuses the request",
        "Is the prompt too long for its context, or the model's name off?",
        0.0,
    ),
    401: ("refuses the key", "Check the key in the settings.", MEND_S),
    402: ("wants to be paid: the account has no credit left", "", MEND_S),
    403: ("does not let this key use the model", "Check the key's rights, or the region.", MEND_S),
    404: (
        "does not know the model or the address",
        "Check model and base_url in the settings.",
        MEND_S,
    ),
    429: ("is asked too often", "", 0.0),
    529: ("is overloaded", "", 0.0),
}
_ELSEWHERE = range(300, 400)


def refused(
    name: str, status: int, headers: Mapping[str, str], *, no_credit: bool = False
) -> ServiceError:
    """For an HTTP status that is no success."""
    if status in _ELSEWHERE:
        return ServiceError(
            "llm",
            f"{name} sends us to another address, which the key is not for.",
            hint="Set base_url to where it really is.",
            retry_after_s=MEND_S,
        )
    failed = (f"failed with HTTP status {status}", "", 0.0)
    what, hint, rest_s = _BY_STATUS.get(402 if no_credit else status, failed)
    wait_s = max(retry_after_s(headers), rest_s)
    return ServiceError("llm", f"{name} {what}.", hint=hint, retry_after_s=wait_s)


def unreachable(name: str, error: BaseException) -> ServiceError:
    """For a connection that could not be made, or broke."""
    hint = "Check that it runs, and base_url in the settings."
    causes = list(_causes(error))
    for cause in causes:
        if isinstance(cause, ssl.SSLCertVerificationError):
            why = cause.verify_message or "certificate not valid"
            return ServiceError("llm", f"{name} cannot prove who it is (TLS: {why}).", hint=hint)
        if isinstance(cause, ssl.SSLError):
            why = cause.reason or "handshake failed"
            return ServiceError("llm", f"{name} speaks no TLS that we do ({why}).", hint=hint)
    kind = type(causes[1] if len(causes) > 1 else error).__name__
    return ServiceError("llm", f"{name} cannot be reached ({kind}).", hint=hint)


def too_slow(name: str) -> ServiceError:
    return ServiceError("llm", f"{name} did not answer in time.")


def broke_off(name: str, how: str) -> ServiceError:
    return ServiceError("llm", f"{name} broke off its answer ({how}).")


def senseless(name: str, error: Exception) -> ServiceError:
    """For what a client library trips over: a server may send anything."""
    kind = type(error).__name__
    return ServiceError("llm", f"{name} sent what nobody expects ({kind}).")


def retry_after_s(headers: Mapping[str, str]) -> float:
    """Retry-After in seconds (RFC 9110 section 10.2.3), a date being counted from the answer's
    own; 0 if it says nothing that can be read."""
    said = headers.get("retry-after", "")
    try:
        return max(0.0, float(said))
    except ValueError:
        until, sent = _date(said), _date(headers.get("date", ""))
        return max(0.0, (until - sent).total_seconds()) if until and sent else 0.0


def _date(text: str) -> datetime | None:
    try:
        return parsedate_to_datetime(text)
    except ValueError:
        return None


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
