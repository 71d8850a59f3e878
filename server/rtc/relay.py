"""Allocations at a TURN server (RFC 8656), and in words why one could not be had."""

import asyncio
import socket
import ssl
import time

import aioice
import aioice.stun
import aioice.turn

from turn.credentials import expired
from turn.urls import IceUrl

SAID = {
    401: "refused the credentials",
    403: "forbids it",
    437: "holds an older allocation of this port",
    486: "says that the quota is used up",
    508: "has no port left",
}
"""RFC 8656 section 19."""


def why_not(error: BaseException | None, username: str) -> str:
    """What follows after "The relay …"; `username` is what was shown to it."""
    if isinstance(error, aioice.stun.TransactionFailed):
        number, reason = error.response.attributes.get("ERROR-CODE", (0, "no reason"))
        said = SAID.get(number, f"answered {reason}")
        if number == 401:
            late = expired(username, time.time())
            said += ", which have expired" if late else ": wrong secret, or clocks that differ"
        return f"{said} ({number})"
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"has a certificate that is not trusted: {error.verify_message}"
    if isinstance(error, socket.gaierror):
        return "has a name that cannot be resolved"
    if isinstance(error, OSError) and not isinstance(error, TimeoutError):
        return f"cannot be reached: {error.strerror or error}"
    if isinstance(error, aioice.stun.TransactionTimeout | TimeoutError | asyncio.CancelledError):
        return "did not answer"
    return f"failed: {error!r}"


async def try_relay(url: IceUrl, username: str, credential: str) -> tuple[str, int]:
    """Make an allocation and give it back; its address. Raises what why_not explains."""
    transport, _ = await aioice.turn.create_turn_endpoint(
        asyncio.DatagramProtocol,
        (url.host, url.port),
        username,
        credential,
        ssl=url.secure or None,
        transport=url.transport,
    )
    address: tuple[str, int] = transport.get_extra_info("sockname")
    transport.close()
    return address


async def external_address(stun: IceUrl, patience_s: float) -> str | None:
    """Ours, as a STUN server sees it (IPv4); None if it does not answer."""
    connection = aioice.Connection(ice_controlling=False, stun_server=(stun.host, stun.port))
    try:
        async with asyncio.timeout(patience_s):
            await connection.gather_candidates()
    except TimeoutError:
        return None
    finally:
        found = connection.local_candidates
        await connection.close()
    return next((each.host for each in found if each.type == "srflx"), None)
