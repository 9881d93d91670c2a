"""Links in memory, for tests: as durable as the process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from pf_fs.domain import Secrets
from pf_fs.links.domain import Link
from pf_kit.memory import tables
from pf_kit.unit import Change, View


class MemoryLinkStore:
    """Fulfils `LinkStore` over a `MemoryDatabase`."""

    async def links(self, view: View, filesystem_id: str) -> Sequence[Link]:
        found = [each for each in _links(view).values() if each.filesystem_id == filesystem_id]
        return sorted(found, key=lambda each: str(each.path))

    async def add(self, change: Change, link: Link) -> None:
        _links(change)[link.filesystem_id, link.path] = link

    async def remove(self, change: Change, filesystem_id: str, path: PurePosixPath) -> bool:
        return _links(change).pop((filesystem_id, path), None) is not None

    async def sealed_with(self, view: View, keys: Collection[str], limit: int) -> Sequence[Link]:
        return [each for each in _links(view).values() if each.secrets.names and each.secrets.key in keys][:limit]

    async def reseal(self, change: Change, link: Link, secrets: Secrets) -> None:
        _links(change)[link.filesystem_id, link.path] = replace(link, secrets=secrets)

    async def secret_keys(self, view: View) -> Mapping[str, int]:
        return Counter(each.secrets.key for each in _links(view).values() if each.secrets.key)


def _links(view: View) -> dict[tuple[str, PurePosixPath], Link]:
    return tables(view).table("links")
