"""Tokens: JSON Web Tokens signed with an Ed25519 key of the installation.

The times in a token are those of the clock of the machine that made it. By the clock of each verifier a token is good
up to its end and not a moment longer. A clock that is behind does not make a token invalid, though it then seems to
come from the future: the signature proves that the installation made it, and its end stands.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256

import jwt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)

from paddleflow.problems import TokenExpired, TokenInvalid
from pf_kit.clock import Clock

ALGORITHM = "EdDSA"
MAX_SECRET = 4096
"""Characters in a token; ours have about 400."""


@dataclass(frozen=True, slots=True)
class Claims:
    """What a token says."""

    issuer: str
    """The installation."""
    subject: str
    """``user/<name>``, ``service/<name>`` or ``job/<id>``."""
    id: str
    issued: int
    """Seconds since the epoch."""
    expires: int
    """Seconds since the epoch."""


def new_private_key() -> bytes:
    """A fresh key to sign with, in PEM."""
    return Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


class Signer:
    """Makes tokens. Equal claims give equal tokens, so that a repeated request gets the token it got before."""

    def __init__(self, private_key: bytes) -> None:
        key = load_pem_private_key(private_key, password=None)
        if not isinstance(key, Ed25519PrivateKey):
            raise ValueError("The key that signs tokens must be an Ed25519 key.")  # noqa: TRY004  # wrong content
        self._key = key
        self.public_key = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        """In PEM."""
        self.key_id = key_id(self.public_key)

    def sign(self, claims: Claims) -> str:
        payload = {
            "iss": claims.issuer,
            "sub": claims.subject,
            "jti": claims.id,
            "iat": claims.issued,
            "exp": claims.expires,
        }
        return jwt.encode(payload, self._key, algorithm=ALGORITHM, headers={"kid": self.key_id})


def key_id(public_key: bytes) -> str:
    """The name of a public key (PEM) in the header of the tokens it checks."""
    return sha256(public_key.strip()).hexdigest()[:16]


class Verifier:
    """Checks tokens."""

    def __init__(self, keys: Mapping[str, bytes], *, issuer: str, clock: Clock) -> None:
        """The keys are public keys in PEM by their ids."""
        self._keys = {name: _public_key(pem) for name, pem in keys.items()}
        self._issuer = issuer
        self._clock = clock

    def verify(self, secret: str) -> Claims:
        """What the token says, if it is of this installation and its time is not over."""
        claims = self._read(secret)
        if self._clock.now().timestamp() >= claims.expires:
            raise TokenExpired
        return claims

    def _read(self, secret: str) -> Claims:
        if len(secret) > MAX_SECRET:
            raise TokenInvalid
        try:
            key = self._keys[jwt.get_unverified_header(secret)["kid"]]
            payload = jwt.decode(secret, key, algorithms=[ALGORITHM], issuer=self._issuer, options=_OPTIONS)
            claims = Claims(
                str(payload["iss"]), payload["sub"], payload["jti"], int(payload["iat"]), int(payload["exp"])
            )
        except (jwt.InvalidTokenError, LookupError, TypeError, ValueError):
            raise TokenInvalid from None
        if claims.issued > claims.expires:
            raise TokenInvalid
        return claims


def _public_key(pem: bytes) -> Ed25519PublicKey:
    key = load_pem_public_key(pem)
    if not isinstance(key, Ed25519PublicKey):
        raise ValueError("The keys that check tokens must be Ed25519 keys.")  # noqa: TRY004  # wrong content
    return key


# The times are compared with our own clock.
_OPTIONS: jwt.types.Options = {
    "require": ["iss", "sub", "jti", "iat", "exp"],
    "verify_exp": False,
    "verify_iat": False,
    "verify_nbf": False,
    "verify_aud": False,
}
