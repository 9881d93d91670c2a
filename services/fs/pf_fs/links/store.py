"""Where links are kept."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Protocol

from pf_fs.domain import Secrets
from pf_fs.links.domain import Link
from pf_kit.unit import Change, View


class LinkStore(Protocol):
    """The port to the rows of links. They go with their filesystem. Whoever writes holds the lock of filesystems."""

    async def links(self, view: View, filesystem_id: str) -> Sequence[Link]:
        """All links of a filesystem, by path."""

    async def add(self, change: Change, link: Link) -> None:
        """Keeps a link where there is none."""

    async def remove(self, change: Change, filesystem_id: str, path: PurePosixPath) -> bool:
        """Forgets a link; False if there is none."""

    async def sealed_with(self, view: View, keys: Collection[str], limit: int) -> Sequence[Link]:
        """Some links with secrets that one of these keys sealed."""

    async def reseal(self, change: Change, link: Link, secrets: Secrets) -> None:
        """Keeps the same secrets, sealed with another key."""

    async def secret_keys(self, view: View) -> Mapping[str, int]:
        """Which keys sealed secrets, and of how many links each."""
