"""Links in Postgres."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import PurePosixPath

from pf_fs.domain import Kind, Secrets
from pf_fs.links.domain import Link
from pf_kit.postgres.queries import load_queries
from pf_kit.postgres.views import Row, rows
from pf_kit.unit import Change, View


class PostgresLinkStore:
    """Fulfils `LinkStore` over a `PostgresDatabase`."""

    def __init__(self) -> None:
        self._sql: Mapping[str, str] = load_queries("pf_fs", "sql/links.sql")

    async def links(self, view: View, filesystem_id: str) -> Sequence[Link]:
        return [_link(row) for row in await rows(view).fetch(self._sql["links"], filesystem_id)]

    async def add(self, change: Change, link: Link) -> None:
        await rows(change).execute(
            self._sql["add"],
            link.filesystem_id,
            str(link.path),
            link.url,
            link.kind,
            str(link.folder) if link.folder else None,
            link.confined,
            dict(link.properties),
            list(link.secrets.names),
            link.secrets.key,
            link.secrets.data,
            link.create_time,
        )

    async def remove(self, change: Change, filesystem_id: str, path: PurePosixPath) -> bool:
        return await rows(change).fetchval(self._sql["remove"], filesystem_id, str(path)) is not None

    async def sealed_with(self, view: View, keys: Collection[str], limit: int) -> Sequence[Link]:
        return [_link(row) for row in await rows(view).fetch(self._sql["sealed_with"], list(keys), limit)]

    async def reseal(self, change: Change, link: Link, secrets: Secrets) -> None:
        await rows(change).execute(self._sql["reseal"], link.filesystem_id, str(link.path), secrets.key, secrets.data)

    async def secret_keys(self, view: View) -> Mapping[str, int]:
        found = await rows(view).fetch(self._sql["secret_keys"])
        return {row["secret_key"]: row["things"] for row in found}


def _link(row: Row) -> Link:
    return Link(
        filesystem_id=row["filesystem_id"],
        path=PurePosixPath(row["path"]),
        url=row["url"],
        kind=Kind(row["kind"]),
        folder=PurePosixPath(row["folder"]) if row["folder"] else None,
        confined=row["confined"],
        properties=row["properties"],
        secrets=Secrets(tuple(row["secret_names"]), row["secret_key"], row["secret_data"]),
        create_time=row["create_time"],
    )
