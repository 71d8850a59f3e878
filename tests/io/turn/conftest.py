"""A real coturn on an address of this machine, and calls that go through it."""

import datetime
import ipaddress
import shutil
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from server.rtc.interfaces import addresses, usable
from turn.coturn import Coturn
from turn.runner import coturn

SECRET = "as secret as tests are"


@dataclass(frozen=True, slots=True)
class Certificate:
    cert: Path
    key: Path


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
    return certify(address, tmp_path_factory.mktemp("tls"))


def certify(address: str, folder: Path) -> Certificate:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test relay")])
    now = datetime.datetime.now(datetime.UTC)
    names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(address))])
    cert = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=2))
        .add_extension(names, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    made = Certificate(folder / "cert.pem", folder / "key.pem")
    made.cert.write_bytes(cert.public_bytes(serialization.Encoding.PEM))
    pem = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    made.key.write_bytes(key.private_bytes(*pem, serialization.NoEncryption()))
    return made


def free_port(address: str) -> int:
    with socket.socket() as probe:
        probe.bind((address, 0))
        port: int = probe.getsockname()[1]
        return port


StartCoturn = Callable[..., Awaitable[Coturn]]


@pytest.fixture
async def start_coturn(address: str, certificate: Certificate) -> AsyncIterator[StartCoturn]:
    """Starts one; what is given replaces its settings."""
    config = Coturn(
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
    async with AsyncExitStack() as stack:

        async def start(**changes: object) -> Coturn:
            changed = replace(config, **changes)  # type: ignore[arg-type]
            await stack.enter_async_context(coturn(changed))
            return changed

        yield start
