"""Where filesystems are kept."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from pf_fs.domain import Filesystem, FilesystemFilter, Grant, GrantFilter, GrantKey, Secrets
from pf_kit.unit import Change, View

LOCK = "filesystems"
"""Held by every change. There are few of them, and so the order of events is the order of commits."""

ALL = 1_000_000
"""More filesystems, and more grants, than there are."""


class FilesystemStore(Protocol):
    """The port to the rows of filesystems and grants. Whoever writes holds `LOCK`.

    Words that are asked for are well-formed; services see to it.
    """

    async def next_version(self, change: Change) -> int:
        """A number above all it gave before."""

    async def filesystem(self, view: View, filesystem_id: str) -> Filesystem | None:
        """The filesystem of this id."""

    async def filesystems(self, view: View, chosen: FilesystemFilter, after: str, limit: int) -> Sequence[Filesystem]:
        """The filesystems whose ids come after this one, by id, which is by owner and name."""

    async def users(self, view: View) -> frozenset[str]:
        """All who own a filesystem, or with whom one is shared."""

    async def add(self, change: Change, filesystem: Filesystem) -> None:
        """Keeps a new filesystem. Raises FilesystemExists if its owner has one of its name."""

    async def update(self, change: Change, filesystem: Filesystem) -> None:
        """Keeps the properties, the secrets, the quota and the version of a filesystem that there is."""

    async def sealed_with(self, view: View, keys: Collection[str], limit: int) -> Sequence[Filesystem]:
        """Some filesystems with secrets that one of these keys sealed."""

    async def reseal(self, change: Change, filesystem: Filesystem, secrets: Secrets) -> None:
        """Keeps the same secrets, sealed with another key."""

    async def secret_keys(self, view: View) -> Mapping[str, int]:
        """Which keys sealed secrets, and of how many filesystems each."""

    async def remove(self, change: Change, filesystem_id: str) -> None:
        """Forgets a filesystem that is granted to nobody."""

    async def grant(self, view: View, key: GrantKey) -> Grant | None:
        """The grant of this key."""

    async def grants(self, view: View, chosen: GrantFilter, after: GrantKey | None, limit: int) -> Sequence[Grant]:
        """The grants after this one, by key."""

    async def set_grant(self, change: Change, grant: Grant) -> None:
        """Keeps a grant on an existing filesystem, in place of the one of its key if there is one."""

    async def remove_grants(self, change: Change, filesystem_id: str, user: str = "") -> Sequence[Grant]:
        """Forgets the grants on a filesystem, to all or to one user, and returns them, by key."""
