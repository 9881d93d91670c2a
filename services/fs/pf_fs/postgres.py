"""Filesystems in Postgres."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import PurePosixPath

from paddleflow.problems import FilesystemExists
from pf_fs.domain import Access, Filesystem, FilesystemFilter, Grant, GrantFilter, GrantKey, Kind, Quota, Secrets
from pf_kit.postgres.queries import load_queries
from pf_kit.postgres.views import Row, on_constraint, rows
from pf_kit.unit import Change, View


class PostgresFilesystemStore:
    """Fulfils `FilesystemStore` over a `PostgresDatabase`."""

    def __init__(self) -> None:
        self._sql: Mapping[str, str] = load_queries("pf_fs")

    async def next_version(self, change: Change) -> int:
        version: int = await rows(change).fetchval(self._sql["next_version"])
        return version

    async def filesystem(self, view: View, filesystem_id: str) -> Filesystem | None:
        row = await rows(view).fetchrow(self._sql["filesystem"], filesystem_id)
        return _filesystem(row) if row else None

    async def filesystems(self, view: View, chosen: FilesystemFilter, after: str, limit: int) -> Sequence[Filesystem]:
        found = await rows(view).fetch(
            self._sql["filesystems"],
            after,
            limit,
            chosen.owner or None,
            chosen.name or None,
            chosen.name_prefix,
            chosen.seen_by,
        )
        return [_filesystem(row) for row in found]

    async def users(self, view: View) -> frozenset[str]:
        return frozenset(row["name"] for row in await rows(view).fetch(self._sql["users"]))

    async def add(self, change: Change, filesystem: Filesystem) -> None:
        with on_constraint(
            filesystems_pkey=FilesystemExists(f"{filesystem.owner} has a filesystem {filesystem.name!r}")
        ):
            await rows(change).execute(
                self._sql["add"],
                filesystem.id,
                filesystem.owner,
                filesystem.name,
                filesystem.url,
                filesystem.kind,
                str(filesystem.folder) if filesystem.folder else None,
                filesystem.confined,
                *_settings(filesystem),
                filesystem.version,
                filesystem.create_time,
            )

    async def update(self, change: Change, filesystem: Filesystem) -> None:
        await rows(change).execute(self._sql["update"], filesystem.id, *_settings(filesystem), filesystem.version)

    async def sealed_with(self, view: View, keys: Collection[str], limit: int) -> Sequence[Filesystem]:
        found = await rows(view).fetch(self._sql["sealed_with"], list(keys), limit)
        return [_filesystem(row) for row in found]

    async def reseal(self, change: Change, filesystem: Filesystem, secrets: Secrets) -> None:
        await rows(change).execute(self._sql["reseal"], filesystem.id, secrets.key, secrets.data)

    async def secret_keys(self, view: View) -> Mapping[str, int]:
        found = await rows(view).fetch(self._sql["secret_keys"])
        return {row["secret_key"]: row["things"] for row in found}

    async def remove(self, change: Change, filesystem_id: str) -> None:
        await rows(change).execute(self._sql["remove"], filesystem_id)

    async def grant(self, view: View, key: GrantKey) -> Grant | None:
        row = await rows(view).fetchrow(self._sql["grant"], key.filesystem_id, key.user)
        return _grant(row) if row else None

    async def grants(self, view: View, chosen: GrantFilter, after: GrantKey | None, limit: int) -> Sequence[Grant]:
        place = (after.filesystem_id, after.user) if after else (None, None)
        words = (chosen.filesystem_id or None, chosen.user or None, chosen.seen_by)
        found = await rows(view).fetch(self._sql["grants"], *words, *place, limit)
        return [_grant(row) for row in found]

    async def set_grant(self, change: Change, grant: Grant) -> None:
        key = grant.key
        await rows(change).execute(
            self._sql["set_grant"], key.filesystem_id, key.user, grant.access, grant.version, grant.create_time
        )

    async def remove_grants(self, change: Change, filesystem_id: str, user: str = "") -> Sequence[Grant]:
        found = await rows(change).fetch(self._sql["remove_grants"], filesystem_id, user or None)
        return sorted(map(_grant, found), key=lambda grant: grant.key)


def _settings(filesystem: Filesystem) -> tuple[dict[str, str], list[str], str, bytes, int, int]:
    secrets, quota = filesystem.secrets, filesystem.quota
    return dict(filesystem.properties), list(secrets.names), secrets.key, secrets.data, quota.bytes, quota.files


def _filesystem(row: Row) -> Filesystem:
    return Filesystem(
        owner=row["owner"],
        name=row["name"],
        url=row["url"],
        kind=Kind(row["kind"]),
        folder=PurePosixPath(row["folder"]) if row["folder"] else None,
        confined=row["confined"],
        properties=row["properties"],
        secrets=Secrets(tuple(row["secret_names"]), row["secret_key"], row["secret_data"]),
        quota=Quota(row["quota_bytes"], row["quota_files"]),
        create_time=row["create_time"],
        version=row["version"],
    )


def _grant(row: Row) -> Grant:
    key = GrantKey(row["filesystem_id"], row["user_name"])
    return Grant(key, Access(row["access"]), row["version"], row["create_time"])
