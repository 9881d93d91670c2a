"""Filesystems in memory, for tests: as durable as the process, and every list is sorted anew."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from paddleflow.problems import FilesystemExists
from pf_fs.domain import Filesystem, FilesystemFilter, Grant, GrantFilter, GrantKey, Secrets
from pf_kit.memory import tables
from pf_kit.unit import Change, View

GOING_WITH_IT = ("caches", "links", "mounts")
"""Tables of what goes with a filesystem. Their keys are its id, or begin with it."""


class MemoryFilesystemStore:
    """Fulfils `FilesystemStore` over a `MemoryDatabase`."""

    async def next_version(self, change: Change) -> int:
        numbers: dict[str, int] = tables(change).table("numbers")
        numbers["filesystem"] = numbers.get("filesystem", 0) + 1
        return numbers["filesystem"]

    async def filesystem(self, view: View, filesystem_id: str) -> Filesystem | None:
        return _filesystems(view).get(filesystem_id)

    async def filesystems(self, view: View, chosen: FilesystemFilter, after: str, limit: int) -> Sequence[Filesystem]:
        kept = _filesystems(view)
        return [kept[key] for key in sorted(kept) if key > after and _is_chosen(view, chosen, kept[key])][:limit]

    async def users(self, view: View) -> frozenset[str]:
        owners = (filesystem.owner for filesystem in _filesystems(view).values())
        return frozenset((*owners, *(key.user for key in _grants(view))))

    async def add(self, change: Change, filesystem: Filesystem) -> None:
        if filesystem.id in _filesystems(change):
            raise FilesystemExists(f"{filesystem.owner} has a filesystem {filesystem.name!r}")
        _filesystems(change)[filesystem.id] = filesystem

    async def update(self, change: Change, filesystem: Filesystem) -> None:
        _filesystems(change)[filesystem.id] = filesystem

    async def sealed_with(self, view: View, keys: Collection[str], limit: int) -> Sequence[Filesystem]:
        return [each for each in _filesystems(view).values() if each.secrets.names and each.secrets.key in keys][:limit]

    async def reseal(self, change: Change, filesystem: Filesystem, secrets: Secrets) -> None:
        _filesystems(change)[filesystem.id] = replace(filesystem, secrets=secrets)

    async def secret_keys(self, view: View) -> Mapping[str, int]:
        return Counter(each.secrets.key for each in _filesystems(view).values() if each.secrets.key)

    async def remove(self, change: Change, filesystem_id: str) -> None:
        del _filesystems(change)[filesystem_id]
        for name in GOING_WITH_IT:
            kept = tables(change).table(name)
            for key in [each for each in kept if filesystem_id in (each, each[0])]:
                del kept[key]

    async def grant(self, view: View, key: GrantKey) -> Grant | None:
        return _grants(view).get(key)

    async def grants(self, view: View, chosen: GrantFilter, after: GrantKey | None, limit: int) -> Sequence[Grant]:
        kept = _grants(view)
        return [kept[key] for key in _matching(view, chosen) if after is None or key > after][:limit]

    async def set_grant(self, change: Change, grant: Grant) -> None:
        _grants(change)[grant.key] = grant

    async def remove_grants(self, change: Change, filesystem_id: str, user: str = "") -> Sequence[Grant]:
        kept = _grants(change)
        return [kept.pop(key) for key in _matching(change, GrantFilter(filesystem_id, user))]


def _filesystems(view: View) -> dict[str, Filesystem]:
    return tables(view).table("filesystems")


def _grants(view: View) -> dict[GrantKey, Grant]:
    return tables(view).table("grants")


def _is_chosen(view: View, chosen: FilesystemFilter, filesystem: Filesystem) -> bool:
    seen_by = chosen.seen_by
    return (
        chosen.owner in ("", filesystem.owner)
        and chosen.name in ("", filesystem.name)
        and filesystem.name.startswith(chosen.name_prefix)
        and (seen_by in (None, filesystem.owner) or GrantKey(filesystem.id, seen_by or "") in _grants(view))
    )


def _matching(view: View, chosen: GrantFilter) -> list[GrantKey]:
    owners = {key: filesystem.owner for key, filesystem in _filesystems(view).items()}
    return sorted(
        key
        for key in _grants(view)
        if chosen.filesystem_id in ("", key.filesystem_id)
        and chosen.user in ("", key.user)
        and chosen.seen_by in (None, key.user, owners.get(key.filesystem_id))
    )
