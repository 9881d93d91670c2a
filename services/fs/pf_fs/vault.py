"""Keeps secret properties so that whoever reads the database cannot use them."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping

from paddleflow.problems import SecretsUnreadable
from pf_fs.domain import SEALED_NOTHING, Placed, Secrets
from pf_kit.sealing import KeyRing, SealBroken, Sealed


class Vault:
    """Seals and opens secrets.

    A seal holds for one thing, its owner and the names of what is in it.
    """

    def __init__(self, keys: KeyRing) -> None:
        self._keys = keys

    @property
    def newest(self) -> str:
        """Tells the key that seals; empty if there is none."""
        return self._keys.newest

    def has(self, key: str) -> bool:
        """True if what is sealed with this key can be opened."""
        return key in self._keys

    def outdated(self, keys: Collection[str]) -> list[str]:
        """Those of these keys that open and do not seal any more."""
        return [key for key in keys if self.has(key) and key != self.newest]

    def seal(self, bound_to: tuple[str, ...], secrets: Mapping[str, str]) -> Secrets:
        """Secrets, sealed. Raises SecretsUnreadable if there is no key."""
        if not secrets:
            return SEALED_NOTHING
        names = tuple(sorted(secrets))
        plain = json.dumps({name: secrets[name] for name in names}).encode()
        try:
            sealed = self._keys.seal(plain, (*bound_to, *names))
        except SealBroken:
            raise SecretsUnreadable(
                "this service has no key to seal secrets with; the administrator sets PF_FS_CREDENTIAL_KEYS"
            ) from None
        return Secrets(names, sealed.key, sealed.data)

    def open(self, placed: Placed) -> dict[str, str]:
        """The secrets of a place again. Raises SecretsUnreadable."""
        kept = placed.secrets
        if not kept.names:
            return {}
        try:
            plain = self._keys.open(Sealed(kept.key, kept.data), (*placed.bound_to, *kept.names))
        except SealBroken as broken:
            raise SecretsUnreadable(
                f"the secrets of {placed.called} cannot be read: {broken}; the administrator restores the key from a"
                f" back-up, or {placed.owner} gives all of them anew: {', '.join(kept.names)}"
            ) from None
        opened: dict[str, str] = json.loads(plain)
        return opened

    def resealed(self, placed: Placed) -> Secrets:
        """The same secrets, sealed with the newest key."""
        return self.seal(placed.bound_to, self.open(placed))
