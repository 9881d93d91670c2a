"""What must not happen to a filesystem while it is mounted."""

from __future__ import annotations

from paddleflow.problems import FilesystemMounted
from pf_fs.domain import Filesystem
from pf_fs.mounts.domain import SILENT, MountFilter
from pf_fs.mounts.store import MountStore
from pf_kit.unit import Change

MOST_NAMED = 5
"""Mounts that a message names."""


async def require_unmounted(store: MountStore, change: Change, filesystem: Filesystem) -> None:
    """Raises FilesystemMounted if it is mounted somewhere."""
    chosen, since = MountFilter(filesystem_id=filesystem.id), change.time - SILENT
    if found := await store.mounts(change, chosen, since, None, MOST_NAMED + 1):
        named = [f"{each.node}:{each.path} ({each.user})" for each in found[:MOST_NAMED]]
        more = ["…"] if len(found) > MOST_NAMED else []
        places = ", ".join(named + more)
        raise FilesystemMounted(f"{filesystem.id} is mounted: {places}; end these mounts first")
