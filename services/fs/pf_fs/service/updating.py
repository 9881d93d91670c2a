"""Changing the properties and the quotas of filesystems."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from paddleflow.problems import EtagMismatch, Problem
from pf_fs.domain import Filesystem, FilesystemChanged
from pf_fs.properties import property_violations
from pf_fs.service.filesystems import Refused, require_etag
from pf_fs.service.naming import Naming
from pf_fs.service.settling import Settling, Wish
from pf_fs.store import FilesystemStore
from pf_fs.urls import place_of
from pf_fs.vault import Vault
from pf_kit.changes import ChangeKind
from pf_kit.fields import require
from pf_kit.principal import Principal
from pf_kit.unit import Change, View


@dataclass(frozen=True, slots=True)
class Edit:
    """What is to be changed of properties and quota."""

    given: Mapping[str, str] = field(repr=False)
    """These properties get new values."""
    removed: frozenset[str] = frozenset()
    whole: bool = False
    """True if all that are no secrets go before."""
    quota: Mapping[str, int] = field(default_factory=dict)
    """New amounts by the names of their fields."""

    @property
    def settles(self) -> bool:
        """True if it changes what opens the place."""
        return bool(self.given or self.removed or self.whole)

    def applied(self, plain: Mapping[str, str], secret: Mapping[str, str]) -> dict[str, str]:
        """All properties after it."""
        before = dict(secret) if self.whole else {**plain, **secret}
        return {name: value for name, value in before.items() if name not in self.removed} | dict(self.given)

    def covers(self, names: tuple[str, ...]) -> bool:
        """True if nothing stays of the properties of these names."""
        return set(names) <= self.removed | set(self.given)


class Updates:
    """Changes of filesystems, as callers may make them."""

    def __init__(self, *, store: FilesystemStore, naming: Naming, settling: Settling, vault: Vault) -> None:
        self._store = store
        self._naming = naming
        self._settling = settling
        self._vault = vault

    async def judge(
        self, view: View, caller: Principal, filesystem_id: str, etag: str, edit: Edit
    ) -> Filesystem | Refused:
        """The filesystem as it is to be, with the version that it has; or why it cannot be so.

        Its server is asked before the change, as when it is made, but for nothing that is no business of its.
        """
        try:
            filesystem = await self._naming.owned(view, caller, filesystem_id)
            require_etag(etag, filesystem)
            limited = replace(filesystem, quota=replace(filesystem.quota, **edit.quota))
            return await self._edited(limited, edit) if edit.settles else limited
        except Problem as problem:
            return Refused(problem)

    async def apply(self, change: Change, caller: Principal, judged: Filesystem | Refused) -> Filesystem:
        """Keeps it. Raises why it was refused, and EtagMismatch if the filesystem was changed meanwhile."""
        if isinstance(judged, Refused):
            raise judged.problem
        if (await self._naming.owned(change, caller, judged.id)).version != judged.version:
            raise EtagMismatch(f"{judged.id} was changed by somebody else just now; read it again")
        version = await self._store.next_version(change)
        filesystem = replace(judged, version=version)
        await self._store.update(change, filesystem)
        change.emit(FilesystemChanged(ChangeKind.UPDATED, filesystem, version))
        return filesystem

    async def _edited(self, filesystem: Filesystem, edit: Edit) -> Filesystem:
        # With all secrets given anew it does not matter whether the old ones can be read.
        secrets = {} if edit.covers(filesystem.secrets.names) else self._vault.open(filesystem)
        properties = edit.applied(filesystem.properties, secrets)
        require(property_violations(filesystem.kind, properties))
        wish = Wish(place_of(filesystem.url), filesystem.owner, filesystem.confined, properties)
        settled = await self._settling.settle(wish, filesystem.bound_to)
        return replace(filesystem, properties=settled.properties, secrets=settled.secrets)
