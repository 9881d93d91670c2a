"""Links: where they may be, and what a mount makes of them."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddleflow.problems import (
    FilesystemMounted,
    LinkExists,
    LinkNotFound,
    LinkNotPossible,
    PermissionDenied,
    TooManyLinks,
)
from pf_fs.domain import Key, Kind, Opened
from pf_fs.links.domain import MOST_LINKS, Link, around, below, in_the_way
from pf_fs.mounts.domain import SILENT, Cache, MountFilter, Usage
from pf_fs.mounts.service import Told
from pf_fs.ports import Folder
from pf_fs.service import Mount
from pf_fs.store import LOCK
from pf_kit.principal import Principal
from support.fs_parts import ALICE, BOBBY, ROOT, FsParts

KEY = Key(owner="alice", name="data")
PATHS = st.lists(st.sampled_from("ab"), min_size=1, max_size=3).map(lambda parts: PurePosixPath(*parts))


@pytest.fixture
def parts() -> FsParts:
    return FsParts()


def link_at(path: PurePosixPath) -> Link:
    return Link(filesystem_id="fs-alice-data", path=path, url="s3://b", kind=Kind.S3, folder=None, confined=True)


async def described(parts: FsParts, folder: str = "") -> Mount:
    return await parts.mounts.describe(parts.database.newest, ALICE, KEY, PurePosixPath(folder), read_only=False)


@given(st.lists(PATHS, max_size=6), PATHS)
def test_links_never_lie_in_one_another_and_each_path_has_one_place(
    wanted: list[PurePosixPath], path: PurePosixPath
) -> None:
    links: list[Link] = []
    for each in wanted:
        if in_the_way(each, links) is None:
            links.append(link_at(each))
    assert not any(one != other and one.path.is_relative_to(other.path) for one in links for other in links)
    outer, inner = around(path, links), below(path, links)
    assert not (outer and any(link != outer for _, link in inner))
    assert all(path / where == link.path for where, link in inner)


async def test_a_link_shows_in_the_mount_wherever_that_begins(parts: FsParts) -> None:
    made = await parts.make()
    await parts.link("a/link", "sftp://host:22/far", {"user": "u", "password": "p"})
    far = {"user": "u"}
    whole = await described(parts)
    assert [(str(path), source) for path, source in whole.links] == [
        ("a/link", Opened("sftp://host:22/far", far, {"password": "p"}))
    ]
    assert whole.filesystem.etag != made.etag, "who has mounted it learns that it is another one"
    assert [str(path) for path, _ in (await described(parts, "a")).links] == ["link"]
    assert (await described(parts, "b")).links == []
    inner = await described(parts, "a/link/deep")
    assert (inner.source, inner.links) == (Opened("sftp://host:22/far/deep", far, {"password": "p"}), [])


async def test_a_link_may_lead_to_a_folder_of_the_machine(parts: FsParts, tmp_path: PurePosixPath) -> None:
    await parts.make()
    await parts.link("local", f"local://{tmp_path}", {}, caller=ROOT)
    ((_, source),) = (await described(parts)).links
    assert isinstance(source, Folder)
    assert str(source.path) == str(tmp_path)


@pytest.mark.parametrize("path", ["a", "a/b", "a/b/c"])
async def test_links_do_not_lie_in_one_another(parts: FsParts, path: str) -> None:
    await parts.make()
    await parts.link("a/b")
    with pytest.raises(LinkExists, match="there is a link at 'a/b'"):
        await parts.link(path)


async def test_a_link_needs_a_place_where_nothing_is(parts: FsParts) -> None:
    await parts.make()
    parts.servers.occupied.add("full")
    with pytest.raises(LinkNotPossible, match="there is something at 'full'"):
        await parts.link("full")


async def test_a_folder_of_the_machine_has_no_links(parts: FsParts, tmp_path: PurePosixPath) -> None:
    await parts.make(f"local://{tmp_path}", {}, caller=ROOT)
    with pytest.raises(LinkNotPossible, match="is a folder of the machines"):
        await parts.link("a", caller=ROOT, filesystem_id="fs-root-data")


async def test_links_are_found_listed_and_removed(parts: FsParts) -> None:
    await parts.make()
    await parts.link("b")
    await parts.link("a")
    view = parts.database.newest
    assert [str(each.path) for each in await parts.links.all(view, ALICE, KEY)] == ["a", "b"]
    assert (await parts.links.get(view, ALICE, KEY, PurePosixPath("b"))).url == "s3://other/x"
    with pytest.raises(PermissionDenied):
        async with parts.database.change(LOCK) as change:
            await parts.links.delete(change, BOBBY, "fs-alice-data", PurePosixPath("b"))
    async with parts.database.change(LOCK) as change:
        await parts.links.delete(change, ALICE, "fs-alice-data", PurePosixPath("b"))
    with pytest.raises(LinkNotFound):
        await parts.links.get(view, ALICE, KEY, PurePosixPath("b"))
    with pytest.raises(LinkNotFound):
        async with parts.database.change(LOCK) as change:
            await parts.links.delete(change, ALICE, "fs-alice-data", PurePosixPath("b"))


async def test_there_are_not_too_many(parts: FsParts) -> None:
    await parts.make()
    for number in range(MOST_LINKS):
        await parts.link(f"link-{number}", properties={"endpoint": "x.org"})
    with pytest.raises(TooManyLinks):
        await parts.link("one-more")


def told(mount_id: str = "m1") -> Told:
    return Told(mount_id=mount_id, node="n1", path="/mnt", read_only=False, etag="1", usage=Usage(used_bytes=7))


async def report(parts: FsParts, caller: Principal = ALICE, mount_id: str = "m1") -> None:
    async with parts.database.change() as change:
        await parts.reports.keep(change, caller, KEY, told(mount_id))


async def mounted(parts: FsParts, caller: Principal = ALICE) -> list[str]:
    found = await parts.reports.page(parts.database.newest, caller, MountFilter(), "", 100)
    return [each.mount_id for each in found]


async def test_while_it_is_mounted_a_filesystem_stays_and_so_does_its_cache(parts: FsParts) -> None:
    await parts.make()
    await report(parts)
    mounted_at = pytest.raises(FilesystemMounted, match=r"fs-alice-data is mounted: n1:/mnt \(alice\)")
    with mounted_at:
        await parts.delete()
    with mounted_at:
        await parts.set_cache(Cache(size=1))
    with mounted_at:
        await parts.delete_cache()
    parts.clock.move(SILENT.total_seconds() + 1)
    assert await mounted(parts) == [], "whoever is silent is gone"
    await parts.set_cache(Cache(size=1))
    await parts.delete()
    await parts.make()
    assert (await described(parts)).cache is None, "what was said of the old one is gone with it"


async def test_a_mount_is_its_users_and_root_sees_and_ends_all(parts: FsParts) -> None:
    await parts.make()
    await report(parts)
    await report(parts)
    assert await mounted(parts) == await mounted(parts, ROOT) == ["m1"]
    assert await mounted(parts, BOBBY) == []
    async with parts.database.change() as change:
        await parts.reports.end(change, BOBBY, "fs-alice-data", "m1")
    assert await mounted(parts) == ["m1"]
    async with parts.database.change() as change:
        await parts.reports.end(change, ROOT, "fs-alice-data", "m1")
    assert await mounted(parts) == []


async def test_the_cache_of_a_mount_is_what_the_owner_said(parts: FsParts) -> None:
    await parts.make()
    assert (await described(parts)).cache is None
    cache = Cache(folders=("/nvme",), size=10, node_labels={"a": "b"})
    await parts.set_cache(cache)
    assert (await described(parts)).cache == cache
    assert (await parts.caches.get(parts.database.newest, ALICE, KEY))[1] == cache
    await parts.delete_cache()
    assert (await described(parts)).cache is None
