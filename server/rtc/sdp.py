"""Session descriptions (RFC 8866, RFC 9429) in and out, and trickled candidates (RFC 8840).

Pure: text in, text or values out. What a caller sends is untrusted: whatever is wrong with it
becomes an InputError that says what.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from aiortc import RTCIceCandidate, RTCIceParameters
from aiortc.rtcrtpparameters import RTCRtcpFeedback
from aiortc.sdp import (
    GroupDescription,
    MediaDescription,
    SessionDescription,
    candidate_from_sdp,
)

from pipeline.errors import InputError

MAX_SDP_BYTES = 64_000
"""A browser's offer with every candidate is about 6,000."""
MAX_MEDIA = 16
MAX_CANDIDATES = 64


class IceRestartUnsupported(InputError):
    """The fragment starts ICE anew, which aiortc cannot (RFC 9725 section 4.3.3: answer 422)."""

    def __init__(self) -> None:
        super().__init__(
            "ICE cannot be restarted on this call.",
            hint="Make a new call with the token of umigame.session: it resumes this one.",
        )


@dataclass(frozen=True, slots=True)
class Rejected:
    """An m-line that is answered with port 0 (RFC 3264 section 6)."""

    index: int
    kind: str
    profile: str
    format: str
    mid: str


@dataclass(frozen=True, slots=True)
class Offer:
    """What of an offer we take."""

    sdp: str
    """One audio and at most one data channel m-line, bundled; no mDNS candidates."""
    mid: str
    """Of the m-line whose transport all share: trickled candidates belong to it."""
    ufrag: str
    rejected: tuple[Rejected, ...]


def parse_offer(text: str) -> Offer:
    """Check an offer and leave out what we do not take: video, more audio, `.local` candidates.

    A browser behind an mDNS name (aioice#14) is found as peer-reflexive when it checks ours;
    resolving the name would only hold up the answer. For the same reason we never hear of an end
    of candidates: aioice would give up when it knows of none. Raises InputError.
    """
    session = _parse(text, "offer")
    audio = next((m for m in session.media if m.kind == "audio" and m.port), None)
    if audio is None:
        raise InputError(
            "The offer has no audio m-line.", hint="Add an audio track or transceiver."
        )
    data = next((m for m in session.media if m.kind == "application" and m.port), None)
    kept = [m for m in session.media if m is audio or m is data]
    _check_audio(audio)
    _check_transport(session, kept)
    for media in kept:
        media.ice_candidates = _usable(media.ice_candidates)
        media.ice_candidates_complete = False
        media.host = media.rtcp_host = None  # candidates say where the browser is
    audio.direction = audio.direction or "sendrecv"  # RFC 8866 section 6.7
    rejected = tuple(
        Rejected(index, m.kind, m.profile, str(next(iter(m.fmt), 0)), m.rtp.muxId)
        for index, m in enumerate(session.media)
        if m not in kept
    )
    session.media = kept
    # Audio first, wherever its m-line is: aiortc carries all on the first one's transport.
    mids = [m.rtp.muxId for m in sorted(kept, key=lambda m: m is not audio)]
    session.group = [GroupDescription("BUNDLE", [*mids])]
    return Offer(str(session), mids[0], _ufrag(audio), rejected)


def finish_answer(text: str, offer: Offer) -> str:
    """Ask the browser for FEC and retransmission, and answer the m-lines that were left out."""
    session = _with_recovery(text)
    for each in offer.rejected:
        media = MediaDescription(each.kind, 0, each.profile, [each.format])
        media.direction = "inactive"
        media.host = "0.0.0.0"  # noqa: S104 (an address in SDP, not one to bind)
        media.rtp.muxId = each.mid
        media.ice = RTCIceParameters()
        session.media.insert(each.index, media)
    return str(session)


def finish_offer(text: str) -> str:
    """Ask the server for FEC and retransmission."""
    return str(_with_recovery(text))


def parse_fragment(text: str, offer: Offer) -> list[RTCIceCandidate]:
    """The usable candidates of an `application/trickle-ice-sdpfrag` body.

    Raises InputError if it is none, IceRestartUnsupported if it names another ufrag.
    """
    if len(text) > MAX_SDP_BYTES:
        raise InputError("The fragment is too large.")
    candidates = []
    for line in text.splitlines():
        name, _, value = line.strip().partition(":")
        if name == "a=ice-ufrag" and value != offer.ufrag:
            raise IceRestartUnsupported
        if name == "a=candidate":
            candidates.append(_candidate(value))
        elif line.strip() and not line.startswith(("a=", "m=")):
            raise InputError(f"Not an SDP fragment: {line[:40]!r}")
    if len(candidates) > MAX_CANDIDATES:
        raise InputError("The fragment has too many candidates.")
    for candidate in candidates:
        candidate.sdpMid = offer.mid
    return _usable(candidates)


def _parse(text: str, what: str) -> SessionDescription:
    if len(text) > MAX_SDP_BYTES:
        raise InputError(f"The {what} is too large: {len(text)} bytes.")
    if not text.startswith("v=0"):
        raise InputError(f"The {what} is not SDP.", hint="Send what createOffer() gave.")
    try:
        session = SessionDescription.parse(text)
    except Exception as error:  # aiortc's parser raises whatever its code trips over
        raise InputError(f"The {what} is not valid SDP: {error!r}") from error
    if len(session.media) > MAX_MEDIA:
        raise InputError(f"The {what} has too many m-lines.")
    return session


def _check_audio(audio: MediaDescription) -> None:
    if not any(codec.mimeType.lower() == "audio/opus" for codec in audio.rtp.codecs):
        raise InputError(
            "The offer's audio has no Opus.", hint="Opus is the only codec spoken here."
        )
    if not audio.rtcp_mux:
        raise InputError("The offer does not multiplex RTP and RTCP (a=rtcp-mux).")


def _check_transport(session: SessionDescription, kept: list[MediaDescription]) -> None:
    for media in kept:
        if not (media.ice and media.ice.usernameFragment and media.ice.password):
            raise InputError("The offer has no ICE user name or password.")
        if media.dtls is None or not media.dtls.fingerprints:
            raise InputError("The offer has no DTLS fingerprint or setup role.")
        if len(media.ice_candidates) > MAX_CANDIDATES:
            raise InputError("The offer has too many candidates.")
    bundled = {mid for g in session.group if g.semantic == "BUNDLE" for mid in g.items}
    if len(kept) > 1 and not all(m.rtp.muxId in bundled for m in kept):
        raise InputError(
            "The offer does not bundle audio and data channel.",
            hint='Use bundlePolicy "balanced" or "max-bundle".',
        )


def _candidate(value: str) -> RTCIceCandidate:
    try:
        return candidate_from_sdp(value)
    except Exception as error:  # as above
        raise InputError(f"Not an ICE candidate: {value[:80]!r}") from error


def _usable(candidates: Iterable[RTCIceCandidate]) -> list[RTCIceCandidate]:
    """Those that aioice can use at once: UDP, and not behind an mDNS name."""
    return [c for c in candidates if c.protocol.lower() == "udp" and not c.ip.endswith(".local")]


def _ufrag(media: MediaDescription) -> str:
    return (media.ice and media.ice.usernameFragment) or ""


def _with_recovery(text: str) -> SessionDescription:
    """In-band FEC (RFC 7587 section 6.1) and generic NACK (RFC 4585 section 4.2) for Opus.

    Never `usedtx`: it leaves holes of 280 ms that the far side conceals.
    """
    session = SessionDescription.parse(text)
    for media in session.media:
        for codec in media.rtp.codecs:
            if codec.mimeType.lower() == "audio/opus":
                codec.parameters = {"minptime": 10, "useinbandfec": 1}
                codec.rtcpFeedback = [RTCRtcpFeedback(type="nack")]
    return session
