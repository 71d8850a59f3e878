"""A certificate that vouches for itself."""

import datetime
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclass(frozen=True, slots=True)
class Certificate:
    cert: Path
    key: Path


def certify(addresses: Sequence[str], folder: Path) -> Certificate:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test relay")])
    now = datetime.datetime.now(datetime.UTC)
    parsed = map(ipaddress.ip_address, addresses)
    names = x509.SubjectAlternativeName([x509.IPAddress(each) for each in parsed])
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
