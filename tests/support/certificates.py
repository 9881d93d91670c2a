"""Certificates for tests of TLS."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID


@dataclass(frozen=True)
class Issued:
    """A certificate and its key, in PEM."""

    certificate: bytes
    key: bytes


class Authority:
    """Signs certificates."""

    def __init__(self, name: str, lasts: timedelta = timedelta(days=1)) -> None:
        self._lasts = lasts
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self._key = ec.generate_private_key(ec.SECP256R1())
        ca = x509.BasicConstraints(ca=True, path_length=None)
        self.certificate = self._sign(self._name, self._key, ca, serial=1).public_bytes(Encoding.PEM)

    def issue(
        self, serial: int, name: str = "127.0.0.1", group: str = "", hosts: Sequence[str] = ("localhost", "127.0.0.1")
    ) -> Issued:
        key = ec.generate_private_key(ec.SECP256R1())
        said = [x509.NameAttribute(NameOID.COMMON_NAME, name)]
        if group:
            said.append(x509.NameAttribute(NameOID.ORGANIZATION_NAME, group))
        names = x509.SubjectAlternativeName([general_name(host) for host in hosts])
        signed = self._sign(x509.Name(said), key, names, serial)
        private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        return Issued(signed.public_bytes(Encoding.PEM), private)

    def _sign(
        self, subject: x509.Name, key: ec.EllipticCurvePrivateKey, extension: x509.ExtensionType, serial: int
    ) -> x509.Certificate:
        now = datetime.now(UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(serial)
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + self._lasts)
            .add_extension(extension, critical=False)
            .sign(self._key, hashes.SHA256())
        )


def general_name(host: str) -> x509.GeneralName:
    """An address or a name."""
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)
