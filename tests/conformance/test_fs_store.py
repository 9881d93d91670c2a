"""What every store of filesystems promises, asked of each."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import PurePosixPath

import pytest

from paddleflow.problems import FilesystemExists
from pf_fs.convert import encode
from pf_fs.domain import Access, Filesystem, FilesystemFilter, Grant, GrantFilter, GrantKey, Kind, Quota, Secrets
from pf_fs.memory import MemoryFilesystemStore
from pf_fs.postgres import PostgresFilesystemStore
from pf_fs.store import LOCK, FilesystemStore
from pf_kit.clock import SystemClock
from pf_kit.memory import MemoryDatabase
from pf_kit.unit import Database
from support.databases import fresh_database, migrated

MIGRATIONS = files("pf_fs") / "sql" / "migrations"
BEGAN = datetime(2030, 1, 1, tzinfo=UTC)
Kept = tuple[Database, FilesystemStore]


@pytest.fixture(params=["memory", "postgres"])
async def kept(request: pytest.FixtureRequest) -> AsyncIterator[Kept]:
    if request.param == "memory":
        yield MemoryDatabase(encode=encode, clock=SystemClock()), MemoryFilesystemStore()
        return
    async with (
        fresh_database(request.getfixturevalue("postgres_server")) as dsn,
        migrated(dsn, encode, schema="fs", folders=[MIGRATIONS]) as database,
    ):
        yield database, PostgresFilesystemStore()


def filesystem(owner: str, name: str) -> Filesystem:
    return Filesystem(
        owner=owner,
        name=name,
        url=f"local:///data/{name}",
        kind=Kind.LOCAL,
        folder=PurePosixPath("/disk1/data") / name,
        confined=True,
        properties={"a": "b"},
        create_time=BEGAN,
        version=7,
    )


def grant(filesystem_id: str, user: str, access: Access = Access.READ) -> Grant:
    return Grant(GrantKey(filesystem_id, user), access, 8, BEGAN)


async def keep(kept: Kept, *things: Filesystem | Grant) -> None:
    database, store = kept
    async with database.change(LOCK) as change:
        for thing in things:
            await (store.add(change, thing) if isinstance(thing, Filesystem) else store.set_grant(change, thing))


SECRETS = Secrets(("password", "secretKey"), "abcd1234", b"\x01\x00sealed")


def far(owner: str, name: str, secrets: Secrets = SECRETS) -> Filesystem:
    """One behind a server."""
    return replace(filesystem(owner, name), url="s3://b/x", kind=Kind.S3, folder=None, secrets=secrets)


async def ids(kept: Kept, chosen: FilesystemFilter, after: str = "", limit: int = 100) -> list[str]:
    database, store = kept
    return [found.id for found in await store.filesystems(database.newest, chosen, after, limit)]


async def granted(kept: Kept, chosen: GrantFilter, after: GrantKey | None = None, limit: int = 100) -> list[str]:
    database, store = kept
    return [str(found.key) for found in await store.grants(database.newest, chosen, after, limit)]


async def test_a_filesystem_is_kept_as_it_was_given(kept: Kept) -> None:
    database, store = kept
    odd = replace(filesystem("alice", "data"), folder=PurePosixPath("/ä b/日本"), confined=False, properties={})
    await keep(kept, odd)
    assert await store.filesystem(database.newest, "fs-alice-data") == odd
    assert await store.filesystem(database.newest, "fs-alice-other") is None


async def test_a_quota_is_kept_and_found_in_lists(kept: Kept) -> None:
    database, store = kept
    limited = replace(far("alice", "data"), quota=Quota(1 << 40, 1000))
    await keep(kept, limited, far("alice", "free"))
    found = await store.filesystems(database.newest, FilesystemFilter(), "", 9)
    assert [each.quota for each in found] == [Quota(1 << 40, 1000), Quota()]


@pytest.mark.parametrize("kind", list(Kind))
async def test_one_of_each_kind_is_kept(kept: Kept, kind: Kind) -> None:
    database, store = kept
    one = replace(far("alice", "data"), kind=kind, folder=None if kind.remote else PurePosixPath("/mnt/x"))
    await keep(kept, one)
    assert await store.filesystem(database.newest, "fs-alice-data") == one


async def test_an_update_changes_properties_secrets_quota_and_version_alone(kept: Kept) -> None:
    database, store = kept
    before, other = far("alice", "data"), far("alice", "other")
    await keep(kept, before, other)
    after = replace(
        before, properties={"c": "d"}, secrets=Secrets(("p",), "k", b"x"), quota=Quota(2**53, 7), version=99
    )
    async with database.change(LOCK) as change:
        await store.update(change, after)
    assert await store.filesystem(database.newest, after.id) == after
    assert await store.filesystem(database.newest, other.id) == other


async def test_secrets_are_found_by_their_key_and_sealed_anew(kept: Kept) -> None:
    database, store = kept
    old, new = Secrets(("p",), "old", b"x"), Secrets(("p",), "new", b"y")
    await keep(kept, *(far("alice", name, old) for name in "abc"), far("alice", "d", new), filesystem("alice", "e"))
    assert await store.secret_keys(database.newest) == {"old": 3, "new": 1}
    assert len(await store.sealed_with(database.newest, ["old"], 2)) == 2
    assert await store.sealed_with(database.newest, ["", "other"], 9) == []
    async with database.change(LOCK) as change:
        for each in await store.sealed_with(change, ["old", "other"], 9):
            await store.reseal(change, each, new)
    assert await store.secret_keys(database.newest) == {"new": 4}
    assert await store.filesystem(database.newest, "fs-alice-a") == far("alice", "a", new)


async def test_an_owner_has_one_of_a_name(kept: Kept) -> None:
    await keep(kept, filesystem("alice", "data"), filesystem("bobby", "data"))
    with pytest.raises(FilesystemExists, match="alice has a filesystem 'data'"):
        await keep(kept, filesystem("alice", "data"))


async def test_they_come_by_owner_and_name_a_page_at_a_time(kept: Kept) -> None:
    # An owner whose name is the beginning of another's comes first, whatever its filesystems are called.
    named = [("alice", "A"), ("alice", "z"), ("alice1", "a"), ("bobby", "-"), ("bobby", "_")]
    await keep(kept, *(filesystem(owner, name) for owner, name in reversed(named)))
    wanted = [f"fs-{owner}-{name}" for owner, name in named]
    assert await ids(kept, FilesystemFilter()) == wanted
    assert await ids(kept, FilesystemFilter(), limit=2) == wanted[:2]
    assert await ids(kept, FilesystemFilter(), after=wanted[1], limit=2) == wanted[2:4]
    assert await ids(kept, FilesystemFilter(), after=wanted[4]) == []


async def test_filters_must_all_match(kept: Kept) -> None:
    await keep(kept, filesystem("alice", "a_1"), filesystem("alice", "a-2"), filesystem("bobby", "a_1"))
    assert await ids(kept, FilesystemFilter(owner="alice")) == ["fs-alice-a-2", "fs-alice-a_1"]
    assert await ids(kept, FilesystemFilter(name="a_1")) == ["fs-alice-a_1", "fs-bobby-a_1"]
    assert await ids(kept, FilesystemFilter(name_prefix="a_")) == ["fs-alice-a_1", "fs-bobby-a_1"]
    assert await ids(kept, FilesystemFilter(owner="bobby", name_prefix="a-")) == []


async def test_a_user_sees_its_own_and_what_is_shared_with_it(kept: Kept) -> None:
    await keep(kept, filesystem("alice", "own"), filesystem("bobby", "shared"), filesystem("bobby", "secret"))
    await keep(kept, grant("fs-bobby-shared", "alice"), grant("fs-bobby-secret", "carol"))
    assert await ids(kept, FilesystemFilter(seen_by="alice")) == ["fs-alice-own", "fs-bobby-shared"]
    assert await ids(kept, FilesystemFilter(seen_by="alice", owner="bobby")) == ["fs-bobby-shared"]
    assert await ids(kept, FilesystemFilter(seen_by="dave")) == []


async def test_a_second_grant_takes_the_place_of_the_first(kept: Kept) -> None:
    database, store = kept
    await keep(kept, filesystem("alice", "data"), grant("fs-alice-data", "bobby"))
    second = grant("fs-alice-data", "bobby", Access.READ_WRITE)
    await keep(kept, replace(second, version=9))
    assert await store.grant(database.newest, second.key) == replace(second, version=9)
    assert await granted(kept, GrantFilter()) == ["fs-alice-data/bobby"]


async def test_grants_come_by_filesystem_and_user_a_page_at_a_time(kept: Kept) -> None:
    await keep(kept, filesystem("alice", "a"), filesystem("alice", "a-b"), filesystem("bobby", "c"))
    wanted = ["fs-alice-a/bobby", "fs-alice-a/carol", "fs-alice-a-b/bobby", "fs-bobby-c/carol"]
    keys = [GrantKey.parse(text) for text in wanted]
    await keep(kept, *(grant(key.filesystem_id, key.user) for key in reversed(keys)))
    assert await granted(kept, GrantFilter()) == wanted
    assert await granted(kept, GrantFilter(), limit=2) == wanted[:2]
    assert await granted(kept, GrantFilter(), after=keys[1], limit=2) == wanted[2:]


async def test_grants_are_found_by_what_is_shared_and_by_who_sees_them(kept: Kept) -> None:
    await keep(kept, filesystem("alice", "a"), filesystem("bobby", "b"))
    await keep(kept, grant("fs-alice-a", "bobby"), grant("fs-alice-a", "carol"), grant("fs-bobby-b", "carol"))
    assert await granted(kept, GrantFilter(filesystem_id="fs-bobby-b")) == ["fs-bobby-b/carol"]
    assert await granted(kept, GrantFilter(user="carol")) == ["fs-alice-a/carol", "fs-bobby-b/carol"]
    assert await granted(kept, GrantFilter(seen_by="alice")) == ["fs-alice-a/bobby", "fs-alice-a/carol"]
    assert await granted(kept, GrantFilter(seen_by="bobby")) == ["fs-alice-a/bobby", "fs-bobby-b/carol"]
    assert await granted(kept, GrantFilter(seen_by="bobby", user="carol")) == ["fs-bobby-b/carol"]


async def test_what_is_removed_is_told_and_gone(kept: Kept) -> None:
    database, store = kept
    await keep(kept, filesystem("alice", "a"), filesystem("alice", "b"))
    await keep(kept, *(grant("fs-alice-a", user) for user in ("carol", "bobby", "david")), grant("fs-alice-b", "carol"))
    async with database.change(LOCK) as change:
        one = await store.remove_grants(change, "fs-alice-a", "bobby")
        others = await store.remove_grants(change, "fs-alice-a")
        await store.remove(change, "fs-alice-a")
        assert await store.remove_grants(change, "fs-alice-a") == []
    assert [found.key.user for found in (*one, *others)] == ["bobby", "carol", "david"]
    assert await ids(kept, FilesystemFilter()) == ["fs-alice-b"]
    assert await granted(kept, GrantFilter()) == ["fs-alice-b/carol"]


async def test_all_users_are_known_who_have_anything(kept: Kept) -> None:
    database, store = kept
    assert await store.users(database.newest) == frozenset()
    await keep(kept, filesystem("alice", "a"), filesystem("alice", "b"), filesystem("bobby", "c"))
    await keep(kept, grant("fs-alice-a", "bobby"), grant("fs-alice-a", "carol"))
    assert await store.users(database.newest) == {"alice", "bobby", "carol"}


async def test_no_version_is_given_out_twice(kept: Kept) -> None:
    database, store = kept
    versions = []
    for _ in range(3):
        async with database.change(LOCK) as change:
            versions += [await store.next_version(change), await store.next_version(change)]
    assert versions == sorted(set(versions))
