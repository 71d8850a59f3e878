"""A real coturn on an address of this machine, and calls that go through it."""

import shutil
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import replace

import pytest

from server.rtc.interfaces import addresses, usable
from tests.fakes.certificate import Certificate, certify
from turn.coturn import Coturn
from turn.runner import coturn

SECRET = "as secret as tests are"


@pytest.fixture(scope="session")
def address() -> str:
    """Of this machine, and not loopback, to which coturn relays nothing."""
    if shutil.which("turnserver") is None:
        pytest.skip("coturn is not installed: apt install coturn")
    found = [each for each in usable(addresses()) if "." in each]
    if not found:
        pytest.skip("the machine has no IPv4 address but loopback, to which coturn does not relay")
    return found[0]


@pytest.fixture(scope="session")
def certificate(address: str, tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    """Self-signed, for the address."""
    return certify([address], tmp_path_factory.mktemp("tls"))


def free_port(address: str) -> int:
    with socket.socket() as probe:
        probe.bind((address, 0))
        port: int = probe.getsockname()[1]
        return port


StartCoturn = Callable[..., Awaitable[Coturn]]


@pytest.fixture
def config(address: str, certificate: Certificate) -> Coturn:
    return Coturn(
        secret=SECRET,
        realm="test",
        port=free_port(address),
        tls_port=free_port(address),
        cert=certificate.cert,
        key=certificate.key,
        listen=(address,),
        relay_ports=(41_000, 41_999),
        allowed_peers=(address,),
    )


@pytest.fixture
async def start_coturn(config: Coturn) -> AsyncIterator[StartCoturn]:
    """Starts one; what is given replaces its settings."""
    async with AsyncExitStack() as stack:

        async def start(**changes: object) -> Coturn:
            changed = replace(config, **changes)  # type: ignore[arg-type]
            await stack.enter_async_context(coturn(changed))
            return changed

        yield start
