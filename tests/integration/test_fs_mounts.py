"""How mounts are described, to whom, and what happens when a folder is not what it was."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from paddleflow.fs.v1 import fs_pb2
from paddleflow.problems import (
    FilesystemNotFound,
    FilesystemNotGranted,
    FilesystemReadOnly,
    FolderNotAllowed,
    FolderUnusable,
    InvalidArgument,
    PathEscapes,
)
from support.fs_process import FsProcess
from support.fs_site import READ, READ_WRITE, FsSite, Member, named, opened_fs_site


async def described(
    site: FsSite, user: str, owner: str, sub_path: str = "", *, read_only: bool = False
) -> fs_pb2.Mount:
    request = fs_pb2.DescribeMountRequest(filesystem=named("data", owner), sub_path=sub_path, read_only=read_only)
    mount: fs_pb2.Mount = (await site.acting(user)(request)).mount
    return mount


async def test_a_mount_names_the_folder_that_was_found(fs_site: FsSite) -> None:
    alice = await fs_site.add_user("alice")
    made = await fs_site.make(alice)
    inner = alice.folder / "data" / "ä b" / "c"
    inner.mkdir(parents=True)
    for sub_path, folder in {"": alice.folder / "data", "ä b//./c/": inner}.items():
        mount = await described(fs_site, alice.name, alice.name, sub_path)
        found = folder.stat()
        assert mount == fs_pb2.Mount(
            filesystem_id=made.id,
            read_only=False,
            etag=made.etag,
            local=fs_pb2.LocalFolder(path=str(folder), device=found.st_dev, inode=found.st_ino),
        )


async def test_a_user_and_a_service_that_acts_for_it_are_told(fs_site: FsSite) -> None:
    alice, bobby = await fs_site.add_user("alice"), await fs_site.add_user("bobby")
    await fs_site.make(alice)
    request = fs_pb2.DescribeMountRequest(filesystem=named("data", alice.name))
    assert await alice.call(request) == await fs_site.acting(alice.name)(request)
    with pytest.raises(FilesystemNotGranted):
        await bobby.call(request)
    with pytest.raises(InvalidArgument, match="on-behalf-of"):
        await fs_site.acting("")(request)


async def test_writing_is_for_those_it_is_granted_to(fs_site: FsSite) -> None:
    alice, bobby = await fs_site.add_user("alice"), await fs_site.add_user("bobby")
    made = await fs_site.make(alice)
    with pytest.raises(FilesystemNotGranted):
        await described(fs_site, bobby.name, alice.name)
    with pytest.raises(FilesystemNotFound):
        await described(fs_site, bobby.name, "")
    await fs_site.share(alice, "data", bobby.name, READ)
    with pytest.raises(FilesystemReadOnly):
        await described(fs_site, bobby.name, alice.name)
    assert (await described(fs_site, bobby.name, "", read_only=True)).read_only
    await fs_site.share(alice, "data", bobby.name, READ_WRITE)
    assert not (await described(fs_site, bobby.name, alice.name)).read_only
    await alice.call(fs_pb2.RevokeFilesystemRequest(filesystem=fs_pb2.FilesystemKey(id=made.id), user=bobby.name))
    with pytest.raises(FilesystemNotGranted):
        await described(fs_site, bobby.name, alice.name, read_only=True)


@pytest.mark.parametrize("sub_path", ["..", "a/../../b", "/etc", "a\0b", "\n", "x" * 256, "x/" * 3000, "\u202e"])
async def test_a_malformed_path_is_refused(fs_site: FsSite, sub_path: str) -> None:
    alice = await fs_site.add_user("alice")
    await fs_site.make(alice)
    with pytest.raises(InvalidArgument, match="sub_path"):
        await described(fs_site, alice.name, alice.name, sub_path)


async def test_links_lead_about_in_a_filesystem_and_never_out(fs_site: FsSite, tmp_path: Path) -> None:
    alice, bobby = await fs_site.add_user("alice"), await fs_site.add_user("bobby")
    await fs_site.make(alice)
    await fs_site.make(bobby)
    folder = alice.folder / "data"
    (folder / "real").mkdir()
    links = {
        "inside": "real",
        "above": "..",
        "etc": "/etc",
        "neighbour": str(bobby.folder / "data"),
        "beside": f"{folder}2",
        "dangling": str(tmp_path / "nothing"),
    }
    for name, target in links.items():
        (folder / name).symlink_to(target)
    assert (await described(fs_site, alice.name, alice.name, "inside")).local.path == str(folder / "real")
    for name in ("above", "etc", "neighbour", "beside", "dangling", "inside/../../x"):
        with pytest.raises((PathEscapes, InvalidArgument)):
            await described(fs_site, alice.name, alice.name, name)
    (folder / "deep").symlink_to("etc/ssl")
    with pytest.raises(PathEscapes):
        await described(fs_site, alice.name, alice.name, "deep")


async def test_a_folder_swapped_for_a_link_is_noticed(fs_site: FsSite, tmp_path: Path) -> None:
    alice = await fs_site.add_user("alice")
    await fs_site.make(alice)
    folder = alice.folder / "data"
    folder.rename(alice.folder / "moved")
    for target in ("/etc", str(tmp_path), str(alice.folder / "moved")):
        folder.symlink_to(target)
        with pytest.raises(PathEscapes, match="is a link now"):
            await described(fs_site, alice.name, alice.name)
        folder.unlink()
    with pytest.raises(FolderUnusable, match="No such file"):
        await described(fs_site, alice.name, alice.name)
    folder.write_text("a file")
    with pytest.raises(FolderUnusable, match="Not a directory"):
        await described(fs_site, alice.name, alice.name)


async def test_another_folder_in_its_place_is_told_by_its_number(fs_site: FsSite) -> None:
    alice = await fs_site.add_user("alice")
    await fs_site.make(alice)
    folder = alice.folder / "data"
    before = await described(fs_site, alice.name, alice.name)
    folder.rename(alice.folder / "moved")
    folder.mkdir()
    after = await described(fs_site, alice.name, alice.name)
    assert (before.local.path, before.local.inode) != (after.local.path, after.local.inode)
    assert after.local.inode == folder.stat().st_ino


async def test_secrets_below_a_filesystem_are_not_mounted_by_themselves(fs_site: FsSite) -> None:
    alice = await fs_site.add_user("alice")
    await fs_site.make(alice)
    (alice.folder / "data" / ".ssh").mkdir()
    with pytest.raises(FolderNotAllowed):
        await described(fs_site, alice.name, alice.name, ".ssh")


async def test_rules_that_became_stricter_hold_for_what_users_made_before(
    fs_process: FsProcess, tmp_path: Path
) -> None:
    async with opened_fs_site(fs_process) as site:
        alice = await site.add_user("alice")
        await site.make(alice)
        by_root = fs_pb2.Filesystem(owner=alice.name, name="extra", url=f"local://{tmp_path}")
        await site.root(fs_pb2.CreateFilesystemRequest(filesystem=by_root))
    stricter = FsProcess(fs_process.queue, {"PF_FS_LOCAL_ROOTS": ""})
    stricter.start()
    try:
        async with opened_fs_site(stricter) as site:
            await _judged(site, alice, tmp_path)
    finally:
        stricter.remove()


async def _judged(site: FsSite, alice: Member, folder: Path) -> None:
    acting = site.acting(alice.name)
    with pytest.raises(FolderNotAllowed, match="no folder is set aside"):
        await acting(fs_pb2.DescribeMountRequest(filesystem=named("data")))
    mount = (await acting(fs_pb2.DescribeMountRequest(filesystem=named("extra")))).mount
    assert mount.local.path == os.path.realpath(folder)
