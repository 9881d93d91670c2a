"""What every store of mounts, caches and links promises, asked of each."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from pathlib import PurePosixPath

import pytest

from paddleflow.problems import FilesystemNotFound
from pf_fs.convert import encode
from pf_fs.domain import Filesystem, Kind, Secrets
from pf_fs.links.domain import Link
from pf_fs.links.memory import MemoryLinkStore
from pf_fs.links.postgres import PostgresLinkStore
from pf_fs.links.store import LinkStore
from pf_fs.memory import MemoryFilesystemStore
from pf_fs.mounts.domain import Cache, MetaDriver, MountFilter, MountPlace, Report, Usage
from pf_fs.mounts.memory import MemoryMountStore
from pf_fs.mounts.postgres import PostgresMountStore
from pf_fs.mounts.store import MountStore
from pf_fs.postgres import PostgresFilesystemStore
from pf_fs.store import LOCK, FilesystemStore
from pf_kit.clock import SystemClock
from pf_kit.memory import MemoryDatabase
from pf_kit.unit import Database
from support.databases import fresh_database, migrated

MIGRATIONS = files("pf_fs") / "sql" / "migrations"
BEGAN = datetime(2030, 1, 1, tzinfo=UTC)
LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)
ANY = MountFilter()
SECRETS = Secrets(("password",), "old", b"\x01sealed")


@dataclass(frozen=True)
class Kept:
    """A database with the stores of a service."""

    database: Database
    filesystems: FilesystemStore
    mounts: MountStore
    links: LinkStore

    async def report(self, *reports: Report) -> None:
        async with self.database.change() as change:
            for each in reports:
                await self.mounts.keep(change, each)

    async def listed(self, chosen: MountFilter = ANY, after: MountPlace | None = None, limit: int = 100) -> list[str]:
        found = await self.mounts.mounts(self.database.newest, chosen, LONG_AGO, after, limit)
        return [str(each.place) for each in found]


@pytest.fixture(params=["memory", "postgres"])
async def kept(request: pytest.FixtureRequest) -> AsyncIterator[Kept]:
    if request.param == "memory":
        database = MemoryDatabase(encode=encode, clock=SystemClock())
        yield await filled(Kept(database, MemoryFilesystemStore(), MemoryMountStore(), MemoryLinkStore()))
        return
    async with (
        fresh_database(request.getfixturevalue("postgres_server")) as dsn,
        migrated(dsn, encode, schema="fs", folders=[MIGRATIONS]) as postgres,
    ):
        yield await filled(Kept(postgres, PostgresFilesystemStore(), PostgresMountStore(), PostgresLinkStore()))


async def filled(kept: Kept) -> Kept:
    """With filesystems of alice and bobby."""
    async with kept.database.change(LOCK) as change:
        for owner in ("alice", "bobby"):
            made = Filesystem(owner=owner, name="data", url="s3://b", kind=Kind.S3, folder=None, confined=True)
            await kept.filesystems.add(change, made)
    return kept


def report(mount_id: str, user: str = "alice", node: str = "n1", owner: str = "alice", seconds: int = 0) -> Report:
    return Report(
        filesystem_id=f"fs-{owner}-data",
        mount_id=mount_id,
        user=user,
        node=node,
        path="/mnt/ä b",
        read_only=True,
        etag="a",
        usage=Usage(folders=("/nvme/1", "/nvme/2"), used_bytes=2**52, hit_bytes=1),
        create_time=BEGAN + timedelta(seconds=seconds),
        report_time=BEGAN + timedelta(seconds=seconds),
    )


async def test_a_report_takes_the_place_of_the_one_before(kept: Kept) -> None:
    await kept.report(report("m"))
    later = replace(report("m", node="n2", seconds=30), read_only=False, usage=Usage(files=3), etag="b")
    await kept.report(later)
    (found,) = await kept.mounts.mounts(kept.database.newest, MountFilter(), LONG_AGO, None, 9)
    assert found == replace(later, create_time=BEGAN)


async def test_what_is_gone_cannot_be_mounted(kept: Kept) -> None:
    with pytest.raises(FilesystemNotFound):
        await kept.report(report("m", owner="carol"))


async def test_mounts_come_by_place_a_page_at_a_time(kept: Kept) -> None:
    wanted = [report("b", "bobby"), report("c", "bobby"), report("a", "alice", "n2"), report("a", owner="bobby")]
    await kept.report(*reversed(wanted))
    places = [str(each.place) for each in wanted]
    assert await kept.listed() == places
    assert await kept.listed(limit=2) == places[:2]
    assert await kept.listed(after=wanted[1].place) == places[2:]
    assert MountPlace.parse(places[0]) == wanted[0].place


async def test_mounts_are_found_by_what_and_where_and_by_who_sees_them(kept: Kept) -> None:
    await kept.report(report("a"), report("b", "bobby"), report("c", "carol", "n2", "bobby"))
    assert len(await kept.listed(MountFilter(filesystem_id="fs-alice-data"))) == 2
    assert await kept.listed(MountFilter(node="n2")) == ["fs-bobby-data/n2/carol/c"]
    assert len(await kept.listed(MountFilter(seen_by="alice"))) == 2
    assert len(await kept.listed(MountFilter(seen_by="bobby"))) == 2
    assert await kept.listed(MountFilter(seen_by="carol")) == ["fs-bobby-data/n2/carol/c"]
    assert await kept.listed(MountFilter(seen_by="carol", node="n1")) == []


async def test_who_is_silent_is_not_told_of(kept: Kept) -> None:
    await kept.report(report("a"), report("b", seconds=60))
    view, since = kept.database.newest, BEGAN + timedelta(seconds=30)
    assert [each.mount_id for each in await kept.mounts.mounts(view, MountFilter(), since, None, 9)] == ["b"]
    assert await kept.mounts.others(view, report("c"), LONG_AGO) == 2
    assert await kept.mounts.others(view, report("a"), since) == 1
    assert await kept.mounts.others(view, report("b"), since) == 0
    assert await kept.mounts.others(view, report("c", "bobby"), LONG_AGO) == 0


async def test_a_mount_is_ended_by_its_user_or_by_anybody(kept: Kept) -> None:
    await kept.report(report("a"), report("a", "bobby"), report("b"))
    async with kept.database.change() as change:
        await kept.mounts.end(change, "fs-alice-data", "a", "bobby")
        await kept.mounts.end(change, "fs-alice-data", "b", "bobby")
        await kept.mounts.end(change, "fs-bobby-data", "a", None)
    assert await kept.listed() == ["fs-alice-data/n1/alice/a", "fs-alice-data/n1/alice/b"]
    async with kept.database.change() as change:
        await kept.mounts.end(change, "fs-alice-data", "b", None)
    assert await kept.listed() == ["fs-alice-data/n1/alice/a"]


async def test_a_cache_is_kept_as_it_was_given(kept: Kept) -> None:
    store, newest = kept.mounts, kept.database.newest
    whole = Cache(
        folders=("/a", "/b"),
        meta_driver=MetaDriver.DISK,
        block_size=2**20,
        size=2**53,
        clean=True,
        debug=True,
        cpu=500,
        memory=2**30,
        node_labels={"disk": "nvme"},
        extra={"ä": "b"},
    )
    assert await store.cache(newest, "fs-alice-data") is None
    for cache in (whole, Cache()):
        async with kept.database.change(LOCK) as change:
            await store.set_cache(change, "fs-alice-data", cache)
        assert await store.cache(newest, "fs-alice-data") == cache
    async with kept.database.change(LOCK) as change:
        assert await store.remove_cache(change, "fs-alice-data")
        assert not await store.remove_cache(change, "fs-alice-data")
    assert await store.cache(newest, "fs-alice-data") is None


def link(path: str, owner: str = "alice", secrets: Secrets = SECRETS) -> Link:
    return Link(
        filesystem_id=f"fs-{owner}-data",
        path=PurePosixPath(path),
        url="sftp://host:22/x",
        kind=Kind.SFTP,
        folder=None,
        confined=False,
        properties={"user": "ä"},
        secrets=secrets,
        create_time=BEGAN,
    )


async def test_links_are_kept_by_path(kept: Kept) -> None:
    long = "/".join(["x" * 250] * 16)
    local = replace(link("b"), kind=Kind.LOCAL, folder=PurePosixPath("/ä b"), secrets=Secrets((), "", b""))
    async with kept.database.change(LOCK) as change:
        for each in (link(long), local, link("a/ä"), link("a", "bobby")):
            await kept.links.add(change, each)
    newest = kept.database.newest
    assert await kept.links.links(newest, "fs-alice-data") == [link("a/ä"), local, link(long)]
    assert await kept.links.links(newest, "fs-carol-data") == []
    async with kept.database.change(LOCK) as change:
        assert await kept.links.remove(change, "fs-alice-data", PurePosixPath(long))
        assert not await kept.links.remove(change, "fs-alice-data", PurePosixPath("a"))
    assert len(await kept.links.links(newest, "fs-alice-data")) == 2


async def test_the_secrets_of_links_are_found_by_their_key_and_sealed_anew(kept: Kept) -> None:
    new = Secrets(("password",), "new", b"other")
    async with kept.database.change(LOCK) as change:
        for each in (link("a"), link("b"), link("c", "bobby", new)):
            await kept.links.add(change, each)
    newest = kept.database.newest
    assert await kept.links.secret_keys(newest) == {"old": 2, "new": 1}
    async with kept.database.change(LOCK) as change:
        for each in await kept.links.sealed_with(change, ["old"], 9):
            await kept.links.reseal(change, each, new)
    assert await kept.links.secret_keys(newest) == {"new": 3}
    assert await kept.links.links(newest, "fs-alice-data") == [link("a", secrets=new), link("b", secrets=new)]


async def test_all_of_it_goes_with_its_filesystem(kept: Kept) -> None:
    await kept.report(report("a"), report("b", owner="bobby"))
    async with kept.database.change(LOCK) as change:
        await kept.mounts.set_cache(change, "fs-alice-data", Cache(size=1))
        await kept.links.add(change, link("a"))
        await kept.filesystems.remove(change, "fs-alice-data")
    assert await kept.listed() == ["fs-bobby-data/n1/alice/b"]
    again = Filesystem(owner="alice", name="data", url="s3://b", kind=Kind.S3, folder=None, confined=True)
    async with kept.database.change(LOCK) as change:
        await kept.filesystems.add(change, again)
    newest = kept.database.newest
    assert await kept.mounts.cache(newest, "fs-alice-data") is None
    assert await kept.links.links(newest, "fs-alice-data") == []
    assert await kept.listed() == ["fs-bobby-data/n1/alice/b"]
