"""What must not happen to a filesystem while it is mounted."""

from __future__ import annotations

from collections.abc import Sequence

from paddleflow.problems import FilesystemMounted, Problem
from pf_fs.domain import Filesystem
from pf_fs.mounts.domain import SILENT, MountFilter
from pf_fs.mounts.store import MountStore
from pf_fs.ports import Use
from pf_kit.unit import Change

MOST_NAMED = 5
"""Mounts, or others who use a filesystem, that a message names."""


async def require_unmounted(store: MountStore, change: Change, filesystem: Filesystem) -> None:
    """Raises FilesystemMounted if it is mounted somewhere."""
    chosen, since = MountFilter(filesystem_id=filesystem.id), change.time - SILENT
    if found := await store.mounts(change, chosen, since, None, MOST_NAMED + 1):
        places = _named([f"{each.node}:{each.path} ({each.user})" for each in found])
        raise FilesystemMounted(f"{filesystem.id} is mounted: {places}; end these mounts first")


def require_unused(filesystem: Filesystem, uses: Sequence[Use] | Problem) -> None:
    """Raises FilesystemMounted if something uses it, and the problem if nobody can tell."""
    if isinstance(uses, Problem):
        raise uses
    if uses:
        users = _named([f"{each.kind} {each.id} ({each.owner})" for each in uses])
        raise FilesystemMounted(f"{filesystem.id} is used by {users}; stop these first")


def _named(each: Sequence[str]) -> str:
    more = ["…"] if len(each) > MOST_NAMED else []
    return ", ".join([*each[:MOST_NAMED], *more])
