"""Makes the keys, passwords and certificates that docker-compose.yml reads, in a folder of their own.

Each installation gets its own; nothing has a default. Only you can enter the folder. Whoever is inside can read the
files: compose shows them to containers as they are, and those run under other accounts.
"""

from __future__ import annotations

import argparse
import base64
import json
import secrets
import sys
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePrivateKey, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

LIFETIME = timedelta(days=825)
"""The longest that common clients accept of a server's certificate."""
NAMES = ("localhost", "queue", "fs", "job", "pipeline")
"""How clients call the servers: from the host, and from other containers."""


def passwords() -> dict[str, str]:
    """All that is nothing but chance, and what holds it."""
    database, bus = secrets.token_urlsafe(24), secrets.token_urlsafe(24)
    identity = {
        "name": "paddleflow",
        "credentials": [{"accessKey": secrets.token_hex(10), "secretKey": secrets.token_urlsafe(30)}],
        "actions": ["Admin", "Read", "Write", "List", "Tagging"],
    }
    return {
        "postgres-password": database,
        "database-dsn": f"postgresql://paddleflow:{database}@postgres:5432/paddleflow",
        "valkey.conf": f"requirepass {bus}\n",
        "valkey-password": bus,
        "redis-url": f"redis://:{bus}@valkey:6379",
        "root-password": f"{secrets.token_urlsafe(12)}a1",
        "credential-key": base64.b64encode(secrets.token_bytes(32)).decode(),
        "filesystem-keys": base64.b64encode(secrets.token_bytes(32)).decode(),
        "s3.json": json.dumps({"identities": [identity]}, indent=2),
    }


def keys(now: datetime) -> dict[str, str]:
    """The key that signs tokens, and a certificate for the services, signed by an authority of its own."""
    authority, server = generate_private_key(SECP256R1()), generate_private_key(SECP256R1())
    trusted = sign(authority, authority, "PaddleFlow", now).add_extension(x509.BasicConstraints(True, 0), critical=True)
    names = [*map(x509.DNSName, NAMES), x509.IPAddress(IPv4Address("127.0.0.1"))]
    served = sign(server, authority, NAMES[0], now).add_extension(x509.SubjectAlternativeName(names), critical=False)
    return {
        "signing-key.pem": pem(Ed25519PrivateKey.generate()),
        "ca.pem": trusted.sign(authority, hashes.SHA256()).public_bytes(Encoding.PEM).decode(),
        "server-certificate.pem": served.sign(authority, hashes.SHA256()).public_bytes(Encoding.PEM).decode(),
        "server-key.pem": pem(server),
    }


def sign(
    key: EllipticCurvePrivateKey, authority: EllipticCurvePrivateKey, name: str, now: datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "PaddleFlow")]))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(minutes=5))
        .not_valid_after(now + LIFETIME)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.public_key()), critical=False)
    )


def pem(key: EllipticCurvePrivateKey | Ed25519PrivateKey) -> str:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


def write(folder: Path, files: Mapping[str, str]) -> None:
    folder.mkdir(mode=0o700, parents=True)
    for name, content in files.items():
        path = folder / name
        path.write_text(content)
        path.chmod(0o444)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path, help="where to put them; must not exist")
    folder: Path = parser.parse_args().folder
    if folder.exists():
        print(
            f"{folder} exists: what is encrypted or signed with its keys would be lost. Name another.", file=sys.stderr
        )
        return 1
    write(folder, passwords() | keys(datetime.now(UTC)))
    print(f"Made {folder}; keep a copy in a safe place. The user root has the password in {folder}/root-password.")
    print(f"Start: PADDLEFLOW_SECRETS={folder.resolve()} docker compose up --detach --wait")
    return 0


if __name__ == "__main__":
    sys.exit(main())
