"""Keeps the secrets of filesystems so that whoever reads the database cannot use them."""

from __future__ import annotations

import json
from collections.abc import Mapping

from paddleflow.problems import SecretsUnreadable
from pf_fs.domain import SEALED_NOTHING, Filesystem, Secrets
from pf_kit.sealing import KeyRing, SealBroken, Sealed


class Vault:
    """Seals and opens the secrets of filesystems.

    A seal holds for one filesystem, its owner and the names of what is in it.
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

    def seal(self, filesystem_id: str, owner: str, secrets: Mapping[str, str]) -> Secrets:
        """The secrets of a filesystem, sealed. Raises SecretsUnreadable if there is no key."""
        if not secrets:
            return SEALED_NOTHING
        names = tuple(sorted(secrets))
        plain = json.dumps({name: secrets[name] for name in names}).encode()
        try:
            sealed = self._keys.seal(plain, _bound_to(filesystem_id, owner, names))
        except SealBroken:
            raise SecretsUnreadable(
                "this service has no key to seal secrets with; the administrator sets PF_FS_CREDENTIAL_KEYS"
            ) from None
        return Secrets(names, sealed.key, sealed.data)

    def open(self, filesystem: Filesystem) -> dict[str, str]:
        """The secrets of a filesystem again. Raises SecretsUnreadable."""
        kept = filesystem.secrets
        if not kept.names:
            return {}
        bound_to = _bound_to(filesystem.id, filesystem.owner, kept.names)
        try:
            plain = self._keys.open(Sealed(kept.key, kept.data), bound_to)
        except SealBroken as broken:
            raise SecretsUnreadable(
                f"the secrets of {filesystem.id} cannot be read: {broken}; the administrator restores the key from a"
                f" back-up, or its owner gives all of them anew: {', '.join(kept.names)}"
            ) from None
        opened: dict[str, str] = json.loads(plain)
        return opened


def _bound_to(filesystem_id: str, owner: str, names: tuple[str, ...]) -> tuple[str, ...]:
    return ("filesystem", owner, filesystem_id, *names)
