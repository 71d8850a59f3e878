"""The contract with aiortc's private parts; tests/io/rtc shows that they do what we need."""

import aioice.ice
import aiortc.rtcrtpreceiver
import pytest
from aiortc import RTCPeerConnection

from pipeline.errors import ConfigError
from server.rtc import seam
from server.rtc.gather import Gathering, IceConfig


def test_every_private_name_is_where_it_was() -> None:
    seam.check()


@pytest.mark.parametrize(
    "gone",
    [
        (aiortc.rtcrtpreceiver, "RTCRtpReceiver._RTCRtpReceiver__moved"),
        (aiortc.rtcrtpreceiver, "Moved._handle_rtp_packet"),
        (aioice.ice, "CONSENT_MOVED"),
    ],
)
def test_a_moved_name_is_named(gone: tuple[object, str]) -> None:
    with pytest.raises(ConfigError, match=gone[1]):
        seam.check([*seam.NEEDED, gone])


def test_consent_is_checked_each_second_and_expires_after_half_a_minute() -> None:
    waiting_s = aioice.stun.RETRY_RTO
    assert aioice.ice.CONSENT_INTERVAL == 1
    assert 25 <= aioice.ice.CONSENT_FAILURES * (1 + waiting_s) <= 35


async def test_a_peer_may_send_on_another_path_than_the_one_we_chose() -> None:
    transport = RTCPeerConnection().addTransceiver("audio").receiver.transport.transport
    connection = transport._connection
    checks: list[object] = []
    connection.check_incoming = lambda *check: checks.append(check)
    path = seam.IcePath(transport, Gathering(connection, IceConfig()).candidates)
    connection.check_incoming("a check with the right password", ("192.0.2.1", 4000), "socket")
    assert path.from_peer(("192.0.2.1", 4000))
    assert not path.from_peer(("192.0.2.1", 4001)), "a stranger"
    assert checks, "aioice sees it too"
