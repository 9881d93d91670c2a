"""Keeps secrets so that whoever reads the database cannot use them, under keys that can be replaced."""

from __future__ import annotations

import json
import secrets
from base64 import b64decode
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

KEY_BYTES = 32
_NONCE_BYTES = 12
_FORM = b"\x01"
"""How sealed bytes are laid out: this byte, the nonce, then the ciphertext with its tag."""


class SealBroken(Exception):
    """What is sealed cannot be opened: it belongs elsewhere, it was changed, or there is no key for it."""


@dataclass(frozen=True, slots=True)
class Sealed:
    """A secret that nobody can read."""

    key: str
    """Tells the key that opens it."""
    data: bytes


class KeyRing:
    """Seals with its first key, and opens with any, by AES-256-GCM.

    A seal holds for the words it was bound to: its bytes are worth nothing anywhere else.
    """

    def __init__(self, keys: Sequence[bytes]) -> None:
        """Raises ValueError if a key is not as long as it must be."""
        if wrong := [len(key) for key in keys if len(key) != KEY_BYTES]:
            raise ValueError(f"a key must have {KEY_BYTES} bytes, and one has {wrong[0]}")
        self._ciphers = {key_name(key): AESGCM(key) for key in keys}

    @classmethod
    def parse(cls, words: str) -> KeyRing:
        """The keys of a text with one in base64 on each line; empty lines and those with ``#`` do not count.

        Raises ValueError if a line is no key.
        """
        lines = (line.strip() for line in words.splitlines())
        return cls([b64decode(line, validate=True) for line in lines if line and not line.startswith("#")])

    @property
    def newest(self) -> str:
        """Tells the key that seals; empty if there is none."""
        return next(iter(self._ciphers), "")

    def __contains__(self, key: str) -> bool:
        return key in self._ciphers

    def seal(self, secret: bytes, bound_to: Sequence[str]) -> Sealed:
        """The secret, sealed. Raises SealBroken if there is no key at all."""
        if not self._ciphers:
            raise SealBroken("there is no key to seal with")
        nonce = secrets.token_bytes(_NONCE_BYTES)
        ciphertext = self._ciphers[self.newest].encrypt(nonce, secret, _bound(_FORM, self.newest, bound_to))
        return Sealed(self.newest, _FORM + nonce + ciphertext)

    def open(self, sealed: Sealed, bound_to: Sequence[str]) -> bytes:
        """The secret again. Raises SealBroken."""
        if sealed.key not in self._ciphers:
            raise SealBroken(f"it is sealed with the key {sealed.key}, which is not there")
        form, nonce, ciphertext = sealed.data[:1], sealed.data[1 : 1 + _NONCE_BYTES], sealed.data[1 + _NONCE_BYTES :]
        try:
            return self._ciphers[sealed.key].decrypt(nonce, ciphertext, _bound(form, sealed.key, bound_to))
        except (InvalidTag, ValueError):
            raise SealBroken(f"it was changed, or belongs elsewhere: the key {sealed.key} does not open it") from None


def key_name(key: bytes) -> str:
    """What a key is called, which says nothing about it."""
    return sha256(b"name of a key\0" + key).hexdigest()[:8]


def _bound(form: bytes, key: str, words: Sequence[str]) -> bytes:
    return form + json.dumps([key, *words]).encode()
