"""The files of filesystems, as services see them in the name of users."""

from __future__ import annotations

import os
import stat
from typing import Any

import pytest

from paddleflow.fs.v1 import errors_pb2, file_pb2
from paddleflow.problems import (
    FilesystemNotFound,
    FilesystemNotGranted,
    FilesystemReadOnly,
    InvalidArgument,
    PathEscapes,
    PermissionDenied,
)
from support.fs_site import READ, READ_WRITE, FsSite, Member, named

MIB = 1024 * 1024
CHANGES = (file_pb2.MakeFoldersRequest, file_pb2.RemoveFilesRequest, file_pb2.PreparePathsRequest)
LOOKS = (file_pb2.StatFilesRequest, file_pb2.DigestFilesRequest)


async def given(site: FsSite) -> Member:
    """A user with a filesystem that has something in it."""
    alice = await site.add_user("alice")
    await site.make(alice)
    data = alice.folder / "data"
    (data / "folder").mkdir()
    (data / "folder" / "file").write_bytes(b"0123456789")
    (data / "out").symlink_to("/etc/passwd")
    os.mkfifo(data / "pipe")
    return alice


async def asked(site: FsSite, user: Member, kind: Any, *paths: str, owner: str = "", **more: Any) -> Any:
    return await site.acting(user.name)(kind(filesystem=named("data", owner), paths=paths, **more))


def reason(fault: file_pb2.FileFault) -> str:
    return errors_pb2.FilesystemReason.Name(fault.reason).removeprefix("FILESYSTEM_REASON_")


async def test_what_lies_at_paths_is_told(fs_site: FsSite) -> None:
    alice = await given(fs_site)
    paths = ("", "folder", "folder/file", "pipe", "nothing", "out", ".ssh/id")
    reply = await asked(fs_site, alice, file_pb2.StatFilesRequest, *paths)
    assert [each.path for each in reply.files] == list(paths)
    kinds = [file_pb2.FileKind.Name(each.kind).removeprefix("FILE_KIND_") for each in reply.files]
    assert kinds == ["FOLDER", "FOLDER", "REGULAR", "OTHER"] + ["UNSPECIFIED"] * 3
    assert [reason(each.fault) for each in reply.files[4:]] == ["FILE_NOT_FOUND", "PATH_ESCAPES", "FOLDER_NOT_ALLOWED"]
    file = reply.files[2]
    assert (file.size, file.fault.message) == (10, "")
    assert file.modify_time.ToNanoseconds() // 1000 == (alice.folder / "data/folder/file").stat().st_mtime_ns // 1000


async def test_a_file_of_any_year_can_be_told_of(fs_site: FsSite) -> None:
    alice = await given(fs_site)
    for seconds in (-(2**31), 2**33, 0):
        os.utime(alice.folder / "data/folder/file", (seconds, seconds))
        (told,) = (await asked(fs_site, alice, file_pb2.StatFilesRequest, "folder/file")).files
        assert told.modify_time.seconds == int((alice.folder / "data/folder/file").stat().st_mtime)


@pytest.mark.parametrize(
    ("offset", "length", "data"), [(0, 100, b"0123456789"), (3, 4, b"3456"), (9, 1, b"9"), (10, 5, b""), (0, 0, b"")]
)
async def test_pieces_are_read(fs_site: FsSite, offset: int, length: int, data: bytes) -> None:
    alice = await given(fs_site)
    ranges = [file_pb2.FileRange(path="folder/file", offset=offset, length=length)]
    request = file_pb2.ReadFilesRequest(filesystem=named("data"), ranges=ranges)
    (piece,) = (await fs_site.acting(alice.name)(request)).pieces
    assert (piece.path, piece.data, piece.size) == ("folder/file", data, 10)


async def test_only_files_are_read_and_nothing_waits(fs_site: FsSite) -> None:
    alice = await given(fs_site)
    ranges = [file_pb2.FileRange(path=path, length=10) for path in ("folder", "pipe", "out", "nothing", "folder/file")]
    request = file_pb2.ReadFilesRequest(filesystem=named("data"), ranges=ranges)
    pieces = (await fs_site.acting(alice.name)(request)).pieces
    found = [reason(piece.fault) for piece in pieces]
    assert found == ["FILE_UNUSABLE", "FILE_UNUSABLE", "PATH_ESCAPES", "FILE_NOT_FOUND", "UNSPECIFIED"]
    assert "a folder" in pieces[0].fault.message
    assert "pipe" in pieces[1].fault.message


@pytest.mark.parametrize(
    "ranges",
    [
        [file_pb2.FileRange(path="a", offset=-1)],
        [file_pb2.FileRange(path="a", length=-1)],
        [file_pb2.FileRange(path="a", offset=2**63 - 1, length=1)],
        [file_pb2.FileRange(path="a", length=MIB + 1)],
        [file_pb2.FileRange(path="a", length=MIB // 2 + 1)] * 2,
        [file_pb2.FileRange(path="../a")],
        [file_pb2.FileRange(path="a")] * 1001,
    ],
)
async def test_too_much_is_refused(fs_site: FsSite, ranges: list[file_pb2.FileRange]) -> None:
    alice = await given(fs_site)
    with pytest.raises(InvalidArgument, match="range"):
        await fs_site.acting(alice.name)(file_pb2.ReadFilesRequest(filesystem=named("data"), ranges=ranges))


@pytest.mark.parametrize("path", ["..", "a/../b", "/etc", "a\0b", "\n", "x" * 256])
@pytest.mark.parametrize("kind", [*CHANGES, *LOOKS])
async def test_a_malformed_path_is_named(fs_site: FsSite, kind: Any, path: str) -> None:
    alice = await given(fs_site)
    with pytest.raises(InvalidArgument, match=r"paths\[1\]"):
        await asked(fs_site, alice, kind, "fine", path)
    with pytest.raises(InvalidArgument, match="number of paths"):
        await asked(fs_site, alice, kind, *(["fine"] * 1001))


@pytest.mark.parametrize("kind", [file_pb2.RemoveFilesRequest, file_pb2.PreparePathsRequest])
async def test_a_filesystem_itself_is_not_removed(fs_site: FsSite, kind: Any) -> None:
    alice = await given(fs_site)
    for path in ("", ".", "//"):
        with pytest.raises(InvalidArgument, match=r"relative|itself"):
            await asked(fs_site, alice, kind, path)
    assert (alice.folder / "data/folder/file").exists()


async def test_digests_are_told(fs_site: FsSite) -> None:
    alice = await given(fs_site)
    paths = ("folder", "folder/file", "out", "nothing", "pipe")
    first = await asked(fs_site, alice, file_pb2.DigestFilesRequest, *paths)
    again = await asked(fs_site, alice, file_pb2.DigestFilesRequest, *paths)
    assert first == again
    assert [len(each.digest) for each in first.digests] == [64, 64, 0, 0, 64]
    assert [reason(each.fault) for each in first.digests[2:4]] == ["PATH_ESCAPES", "FILE_NOT_FOUND"]
    by_time = await asked(fs_site, alice, file_pb2.DigestFilesRequest, "folder/file", mode=file_pb2.DIGEST_MODE_TIME)
    assert by_time.digests[0].digest not in ("", first.digests[1].digest)
    with pytest.raises(InvalidArgument, match="mode"):
        await asked(fs_site, alice, file_pb2.DigestFilesRequest, "folder", mode=7)


async def test_folders_are_made_like_those_above(fs_site: FsSite) -> None:
    alice = await given(fs_site)
    folder = alice.folder / "data" / "folder"
    os.chown(folder, 2000, 3000)
    folder.chmod(0o750)
    reply = await asked(fs_site, alice, file_pb2.MakeFoldersRequest, "folder/a/b", "folder/file/c", "out/d", "folder")
    assert [reason(each.fault) for each in reply.changes] == [
        "UNSPECIFIED",
        "FILE_UNUSABLE",
        "PATH_ESCAPES",
        "UNSPECIFIED",
    ]
    for made in (folder / "a", folder / "a" / "b"):
        seen = made.stat()
        assert (seen.st_uid, seen.st_gid, stat.S_IMODE(seen.st_mode)) == (2000, 3000, 0o750)


async def test_paths_are_prepared_and_removed(fs_site: FsSite) -> None:
    alice = await given(fs_site)
    data = alice.folder / "data"
    reply = await asked(fs_site, alice, file_pb2.PreparePathsRequest, "folder", "new/a/b", "out", "pipe", "new/a/c")
    assert not any(each.pending or each.HasField("fault") for each in reply.changes)
    assert {each.name for each in data.iterdir()} == {"new"}
    assert [each.name for each in (data / "new").iterdir()] == ["a"]
    assert not list((data / "new" / "a").iterdir())
    reply = await asked(fs_site, alice, file_pb2.RemoveFilesRequest, "new", "nothing", "no/where")
    assert not any(each.pending or each.HasField("fault") for each in reply.changes)
    assert not list(data.iterdir())


async def test_whoever_has_no_grant_is_kept_out(fs_site: FsSite) -> None:
    alice, bobby = await given(fs_site), await fs_site.add_user("bobby")
    for kind in (*CHANGES, *LOOKS):
        with pytest.raises(FilesystemNotGranted):
            await asked(fs_site, bobby, kind, "folder", owner=alice.name)
        with pytest.raises(FilesystemNotFound):
            await asked(fs_site, bobby, kind, "folder", owner="nobody")
    await fs_site.share(alice, "data", bobby.name, READ)
    for kind in LOOKS:
        await asked(fs_site, bobby, kind, "folder", owner=alice.name)
    for kind in CHANGES:
        with pytest.raises(FilesystemReadOnly):
            await asked(fs_site, bobby, kind, "folder", owner=alice.name)
    await fs_site.share(alice, "data", bobby.name, READ_WRITE)
    for kind in CHANGES:
        await asked(fs_site, bobby, kind, "folder/new", owner=alice.name)


async def test_only_a_service_that_acts_for_a_user_is_let_in(fs_site: FsSite) -> None:
    alice = await given(fs_site)
    for kind in (*CHANGES, *LOOKS):
        request = kind(filesystem=named("data", alice.name), paths=["folder"])
        with pytest.raises(PermissionDenied):
            await alice.call(request)
        with pytest.raises(InvalidArgument, match="on-behalf-of"):
            await fs_site.acting("")(request)
    assert (alice.folder / "data/folder/file").exists()


async def test_a_filesystem_swapped_for_a_link_is_noticed(fs_site: FsSite) -> None:
    alice = await given(fs_site)
    (alice.folder / "data").rename(alice.folder / "moved")
    (alice.folder / "data").symlink_to("moved")
    for kind in (*CHANGES, *LOOKS):
        with pytest.raises(PathEscapes, match="is a link now"):
            await asked(fs_site, alice, kind, "folder")
    assert (alice.folder / "moved/folder/file").exists()
