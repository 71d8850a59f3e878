"""What Google's errors mean, and what to do about them."""

from google.api_core.exceptions import GoogleAPICallError
from grpc import StatusCode

from pipeline.errors import ServiceError
from pipeline.stt.streams import Unexplained


class Refused(ServiceError):
    """Nothing will change until somebody changes the settings."""


_CAUSES = {
    StatusCode.UNAUTHENTICATED: (
        "refuses the credentials",
        "Check google_credentials under [stt]: is the key revoked, or the clock wrong?",
    ),
    StatusCode.PERMISSION_DENIED: (
        "does not let these credentials in",
        "Enable the Speech-to-Text API in the project, and give the account the role Cloud"
        " Speech Client; check google_project under [stt].",
    ),
    StatusCode.NOT_FOUND: (
        "does not know the project, location or model",
        "Check google_project, google_location and google_model under [stt].",
    ),
    StatusCode.INVALID_ARGUMENT: (
        "refuses the request",
        "Does the model know the language, in that location? Check google_model,"
        " google_location and google_punctuation under [stt].",
    ),
}
"""What only a person can mend."""

_TROUBLES = {
    StatusCode.UNAVAILABLE: "cannot be reached",
    StatusCode.RESOURCE_EXHAUSTED: "has no quota left for us",
    StatusCode.ABORTED: "broke the stream off",
    StatusCode.DEADLINE_EXCEEDED: "did not answer in time",
    StatusCode.OUT_OF_RANGE: "ended the stream, which was too long or too quiet",
}

_KEYLESS = "metadata from plugin failed"
"""How gRPC says, under UNAVAILABLE, that the credentials gave no token."""


_MASKED = "Internal error from Core"
"""What gRPC makes of any status that comes while it writes: asked again, the cause may show."""


def explained(error: GoogleAPICallError) -> ServiceError:
    """The same in our words. Never Google's own text: it may quote what was sent."""
    code = error.grpc_status_code
    if code is StatusCode.UNAVAILABLE and _KEYLESS in str(error.message):
        return Refused(
            "stt",
            "The credentials for Google's STT are no longer accepted.",
            hint="Check google_credentials under [stt], or log in again with gcloud.",
        )
    if code is StatusCode.INTERNAL and error.message == _MASKED:
        return Unexplained("stt", f"Google's STT {_TROUBLES[StatusCode.ABORTED]}.")
    if code in _CAUSES:
        what, hint = _CAUSES[code]
        return Refused("stt", f"Google's STT {what}.", hint=hint)
    failed = f"failed ({code.name if code else type(error).__name__})"
    return ServiceError("stt", f"Google's STT {_TROUBLES.get(code, failed)}.")
