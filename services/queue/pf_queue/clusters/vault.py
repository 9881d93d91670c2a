"""Keeps credentials so that whoever reads the database cannot use them."""

from __future__ import annotations

import secrets

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from paddleflow.problems import Internal

KEY_BYTES = 32
_NONCE_BYTES = 12
_FORM = b"\x01"
"""How sealed bytes are laid out: this byte, the nonce, then the ciphertext with its tag."""


class SealBroken(Internal):
    """The key does not open what is sealed: it is another one, or the bytes belong elsewhere or were changed."""


class Vault:
    """Seals and opens the credentials of clusters with AES-256-GCM.

    A seal holds for one cluster: its bytes are worth nothing in the row of another.
    """

    def __init__(self, key: bytes) -> None:
        if len(key) != KEY_BYTES:
            raise ValueError(f"the key of credentials must have {KEY_BYTES} bytes, and has {len(key)}")
        self._cipher = AESGCM(key)

    def seal(self, cluster: str, credential: bytes) -> bytes:
        """The credential, sealed; an empty one stays empty."""
        if not credential:
            return b""
        nonce = secrets.token_bytes(_NONCE_BYTES)
        return _FORM + nonce + self._cipher.encrypt(nonce, credential, _bound_to(cluster, _FORM))

    def open(self, cluster: str, sealed: bytes) -> bytes:
        """The credential again. Raises SealBroken."""
        if not sealed:
            return b""
        form, nonce, ciphertext = sealed[:1], sealed[1 : 1 + _NONCE_BYTES], sealed[1 + _NONCE_BYTES :]
        try:
            return self._cipher.decrypt(nonce, ciphertext, _bound_to(cluster, form))
        except (InvalidTag, ValueError):
            raise SealBroken(f"the key does not open the credential of cluster {cluster!r}") from None


def _bound_to(cluster: str, form: bytes) -> bytes:
    return form + f"cluster/{cluster}/credential".encode()
