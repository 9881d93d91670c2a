"""FileManagerService over a socket, on folders of the machine: what it does, and each way in which it refuses."""

from __future__ import annotations

import os
import zlib
from pathlib import Path

import pytest
from google.protobuf.message import Message

from paddleflow.common.v1 import info_pb2
from paddleflow.fs.v1 import file_manager_pb2 as pb
from paddleflow.fs.v1 import file_pb2
from paddleflow.problems import (
    FileChanged,
    FileExists,
    FileNotFound,
    FilesystemNotGranted,
    FilesystemReadOnly,
    FileUnusable,
    FolderNotAllowed,
    InvalidArgument,
    PageTokenInvalid,
    PathEscapes,
)
from support.callers import Caller
from support.file_uploads import CHUNK, send_part
from support.fs_site import READ, FsSite, named

DATA = named("data")
PART = 8 << 20


async def listed(call: Caller, path: str = "", **fields: object) -> list[str]:
    request = pb.ListFilesRequest(filesystem=DATA, path=path, **fields)  # type: ignore[arg-type]  # as it is written
    return sorted(found.path for found in await call.all(request, "files"))


def written(path: str, data: bytes, *, replace: bool = False) -> pb.WriteFileRequest:
    return pb.WriteFileRequest(filesystem=DATA, path=path, data=data, crc32=zlib.crc32(data), replace=replace)


async def test_files_are_written_looked_at_read_and_removed(fs_site: FsSite) -> None:
    alice = await fs_site.add_user("alice")
    await fs_site.make(alice)
    await alice.call(pb.MakeFolderRequest(filesystem=DATA, path="a//b/./c"))
    await alice.call(pb.MakeFolderRequest(filesystem=DATA, path="a/b/c"))
    made = (await alice.call(written("a/b/file", b"hello"))).file
    assert (made.path, made.kind, made.size) == ("a/b/file", file_pb2.FILE_KIND_REGULAR, 5)
    assert (alice.folder / "data/a/b/file").read_bytes() == b"hello"
    assert (await alice.call(pb.StatFileRequest(filesystem=DATA, path="a/b/file"))).file == made
    piece = await alice.call(
        pb.ReadFileRequest(filesystem=DATA, path="a/b/file", offset=1, length=100, version=made.version)
    )
    assert (piece.data, piece.crc32) == (b"ello", zlib.crc32(b"ello"))
    with pytest.raises(FileExists):
        await alice.call(written("a/b/file", b"again"))
    await alice.call(written("a/b/file", b"again", replace=True))
    with pytest.raises(FileChanged):
        await alice.call(pb.ReadFileRequest(filesystem=DATA, path="a/b/file", length=9, version=made.version))
    await alice.call(pb.RenameFileRequest(filesystem=DATA, path="a/b/file", target="a/moved"))
    await alice.call(pb.CopyFileRequest(filesystem=DATA, path="a/moved", target="a/b/copy"))
    assert await listed(alice.call, recursive=True) == ["a", "a/b", "a/b/c", "a/b/copy", "a/moved"]
    with pytest.raises(FileUnusable, match="not empty"):
        await alice.call(pb.RemoveFileRequest(filesystem=DATA, path="a"))
    removed = await alice.call(pb.RemoveFileRequest(filesystem=DATA, path="a", recursive=True))
    assert (removed.removed, removed.pending) == (5, False)
    with pytest.raises(FileNotFound):
        await alice.call(pb.StatFileRequest(filesystem=DATA, path="a"))
    with pytest.raises(FileNotFound):
        await alice.call(pb.RemoveFileRequest(filesystem=DATA, path="a"))


async def test_a_folder_that_takes_the_place_of_another_is_the_one_that_counts(fs_site: FsSite) -> None:
    alice = await fs_site.add_user("alice")
    await fs_site.make(alice)
    await alice.call(written("file", b"old"))
    (alice.folder / "data").rename(alice.folder / "away")
    (alice.folder / "data").mkdir()
    assert await listed(alice.call) == []
    await alice.call(pb.TouchFileRequest(filesystem=DATA, path="new"))
    before = (await alice.call(pb.StatFileRequest(filesystem=DATA, path="new"))).file
    after = (await alice.call(pb.TouchFileRequest(filesystem=DATA, path="new"))).file
    assert after.modify_time.ToNanoseconds() > before.modify_time.ToNanoseconds()
    assert [each.name for each in (alice.folder / "data").iterdir()] == ["new"]


async def test_new_things_belong_to_whom_the_folder_does(fs_site: FsSite) -> None:
    alice = await fs_site.add_user("alice")
    await fs_site.make(alice)
    folder = alice.folder / "data"
    if os.geteuid() == 0:
        os.chown(folder, 12345, 12346)
    folder.chmod(0o770)
    await alice.call(pb.MakeFolderRequest(filesystem=DATA, path="inner"))
    await alice.call(written("inner/file", b""))
    top = folder.stat()
    for path, mode in ((folder / "inner", 0o770), (folder / "inner" / "file", 0o660)):
        found = path.stat()
        assert (found.st_uid, found.st_gid, found.st_mode & 0o777) == (top.st_uid, top.st_gid, mode)


async def test_lists_have_pages_and_patterns(fs_site: FsSite) -> None:
    alice = await fs_site.add_user("alice")
    await fs_site.make(alice)
    for name in ("a/x.txt", "a/y.csv", "a/b/x.csv", "c.txt", "d e.txt"):
        (alice.folder / "data" / name).parent.mkdir(parents=True, exist_ok=True)
        (alice.folder / "data" / name).write_text(name)
    assert await listed(alice.call, page_size=1) == ["a", "c.txt", "d e.txt"]
    assert await listed(alice.call, recursive=True, page_size=2, pattern="*.csv") == ["a/b/x.csv", "a/y.csv"]
    assert await listed(alice.call, recursive=True, pattern="**/x.*") == ["a/b/x.csv", "a/x.txt"]
    assert await listed(alice.call, recursive=True, pattern="a/*") == ["a/b", "a/x.txt", "a/y.csv"]
    assert await listed(alice.call, "a", recursive=True, pattern="b/?.csv") == ["a/b/x.csv"]
    assert await listed(alice.call, pattern="[!c-z]*") == ["a"]
    with pytest.raises(FileNotFound):
        await listed(alice.call, "nothing")
    with pytest.raises(FileUnusable, match=r"folder|directory"):
        await listed(alice.call, "c.txt")
    first = await alice.call(pb.ListFilesRequest(filesystem=DATA, page_size=1))
    with pytest.raises(PageTokenInvalid):
        await alice.call(pb.ListFilesRequest(filesystem=DATA, path="a", page_token=first.next_page_token))


async def test_a_large_file_is_uploaded_in_parts_that_come_in_any_order(fs_site: FsSite) -> None:
    alice = await fs_site.add_user("alice")
    await fs_site.make(alice)
    body = os.urandom(PART + CHUNK + 17)
    upload = (await alice.call(pb.BeginUploadRequest(filesystem=DATA, path="large", size=len(body)))).upload
    assert upload.part_size == PART
    second = await send_part(alice.call, DATA, upload, "large", 2, body[PART:])
    # As after a new start: the service knows nothing of the pieces before.
    lost = pb.SendChunkRequest(
        filesystem=DATA, path="large", upload_id=upload.id, number=1, offset=CHUNK, data=b"x", crc32=zlib.crc32(b"x")
    )
    assert (await alice.call(lost)).next_offset == 0
    first = await send_part(alice.call, DATA, upload, "large", 1, body[:PART])
    assert await listed(alice.call) == []
    finish = pb.FinishUploadRequest(filesystem=DATA, path="large", upload_id=upload.id, parts=[first, second])
    made = (await alice.call(finish)).file
    assert made.size == len(body)
    assert (alice.folder / "data/large").read_bytes() == body


async def test_an_upload_is_dropped(fs_site: FsSite) -> None:
    alice = await fs_site.add_user("alice")
    await fs_site.make(alice)
    upload = (await alice.call(pb.BeginUploadRequest(filesystem=DATA, path="large", size=CHUNK))).upload
    await send_part(alice.call, DATA, upload, "large", 1, b"x" * CHUNK)
    for _ in range(2):
        await alice.call(pb.DropUploadRequest(filesystem=DATA, path="large", upload_id=upload.id))
    left = [each.name for each in (alice.folder / "data").iterdir()]
    assert [name for name in left if not name.startswith(".pf~")] == []


async def test_who_may_read_looks_and_who_may_write_changes(fs_site: FsSite) -> None:
    alice, bobby, carol = [await fs_site.add_user(word) for word in ("alice", "bobby", "carol")]
    await fs_site.make(alice)
    (alice.folder / "data/file").write_text("x")
    await fs_site.share(alice, "data", bobby.name, READ)
    theirs = named("data", alice.name)
    stat = pb.StatFileRequest(filesystem=theirs, path="file")
    assert (await bobby.call(stat)).file.size == 1
    assert (await fs_site.acting(bobby.name)(stat)).file.size == 1
    with pytest.raises(FilesystemNotGranted):
        await carol.call(stat)
    with pytest.raises(InvalidArgument, match="on-behalf-of"):
        await fs_site.acting("")(stat)
    for change in (
        pb.MakeFolderRequest(filesystem=theirs, path="a"),
        pb.RemoveFileRequest(filesystem=theirs, path="file"),
        pb.RenameFileRequest(filesystem=theirs, path="file", target="b"),
        pb.CopyFileRequest(filesystem=theirs, path="file", target="b"),
        pb.WriteFileRequest(filesystem=theirs, path="a"),
        pb.BeginUploadRequest(filesystem=theirs, path="a"),
        pb.SendChunkRequest(filesystem=theirs, path="a", upload_id="x", number=1),
        pb.FinishUploadRequest(filesystem=theirs, path="a", upload_id="x", parts=[pb.UploadedPart(number=1)]),
        pb.DropUploadRequest(filesystem=theirs, path="a", upload_id="x"),
    ):
        with pytest.raises(FilesystemReadOnly):
            await bobby.call(change)


async def test_what_a_user_changes_is_on_record_and_what_a_service_does_is_not(fs_site: FsSite) -> None:
    alice = await fs_site.add_user("alice")
    made = await fs_site.make(alice)
    await alice.call(written("file", b"x"))
    await fs_site.acting(alice.name)(written("other", b"x"))
    await alice.call(pb.StatFileRequest(filesystem=DATA, path="file"))
    records = (await fs_site.root(info_pb2.ListAuditRecordsRequest(subject=f"filesystem/{made.id}"))).records
    assert [(each.actor, each.method.rpartition("/")[2]) for each in records] == [
        (f"user/{alice.name}", "WriteFile"),
        (f"user/{alice.name}", "CreateFilesystem"),
    ]


@pytest.mark.parametrize("path", ["..", "a/../../b", "/etc", "a\0b", "\n", "x" * 256, "x/" * 3000, "\u202e"])
async def test_a_malformed_path_is_refused(fs_site: FsSite, path: str) -> None:
    alice = await fs_site.add_user("alice")
    await fs_site.make(alice)
    for request in (
        pb.StatFileRequest(filesystem=DATA, path=path),
        pb.ListFilesRequest(filesystem=DATA, path=path),
        pb.ReadFileRequest(filesystem=DATA, path=path, length=1),
        pb.RemoveFileRequest(filesystem=DATA, path=path, recursive=True),
        pb.RenameFileRequest(filesystem=DATA, path="a", target=path),
        written(path, b""),
        pb.BeginUploadRequest(filesystem=DATA, path=path),
    ):
        with pytest.raises(InvalidArgument, match=r"path|target"):
            await alice.call(request)


async def test_links_lead_nowhere_out_and_secrets_stay_where_they_are(fs_site: FsSite) -> None:
    alice = await fs_site.add_user("alice")
    await fs_site.make(alice)
    folder = alice.folder / "data"
    (folder / "etc").symlink_to("/etc")
    (folder / "up").symlink_to("..")
    (folder / ".ssh").mkdir()
    (folder / ".ssh" / "id").write_text("secret")
    for path in ("etc/passwd", "up/data", "up/../etc/passwd"):
        with pytest.raises((PathEscapes, InvalidArgument)):
            await alice.call(pb.ReadFileRequest(filesystem=DATA, path=path, length=9))
    (folder / "innocent").symlink_to(".ssh")
    (folder / "file").write_text("x")
    for path in (".ssh/id", "innocent/id"):
        with pytest.raises(FolderNotAllowed):
            await alice.call(pb.ReadFileRequest(filesystem=DATA, path=path, length=9))
        with pytest.raises(FolderNotAllowed):
            await alice.call(pb.RenameFileRequest(filesystem=DATA, path="file", target=path, replace=True))
    found = (await alice.call(pb.StatFileRequest(filesystem=DATA, path="etc"))).file
    assert (found.kind, found.target) == (file_pb2.FILE_KIND_LINK, "/etc")
    await alice.call(pb.RemoveFileRequest(filesystem=DATA, path="etc", recursive=True))
    assert Path("/etc/passwd").exists()


@pytest.mark.parametrize(
    "request_",
    [
        pb.ReadFileRequest(filesystem=DATA, path="a", length=-1),
        pb.ReadFileRequest(filesystem=DATA, path="a", length=(2 << 20) + 1),
        pb.ReadFileRequest(filesystem=DATA, path="a", offset=-1),
        pb.ReadFileRequest(filesystem=DATA, path="a", offset=2**63 - 1),
        pb.ListFilesRequest(filesystem=DATA, pattern="x" * 1001),
        pb.ListFilesRequest(filesystem=DATA, pattern="[z-a]"),
        pb.ListFilesRequest(filesystem=DATA, page_size=-1),
        pb.WriteFileRequest(filesystem=DATA, path="a", data=b"x", crc32=1),
        pb.WriteFileRequest(filesystem=DATA, path="a", data=b"x" * ((2 << 20) + 1)),
        pb.WriteFileRequest(filesystem=DATA, path=""),
        pb.RemoveFileRequest(filesystem=DATA, path="", recursive=True),
        pb.SendChunkRequest(filesystem=DATA, path="a", upload_id="", number=1),
        pb.SendChunkRequest(filesystem=DATA, path="a", upload_id="x", number=0),
        pb.SendChunkRequest(filesystem=DATA, path="a", upload_id="x", number=1, offset=-1),
        pb.FinishUploadRequest(filesystem=DATA, path="a", upload_id="x"),
        pb.FinishUploadRequest(filesystem=DATA, path="a", upload_id="x", parts=[pb.UploadedPart(number=2)]),
    ],
)
async def test_malformed_requests_are_refused(fs_site: FsSite, request_: Message) -> None:
    alice = await fs_site.add_user("alice")
    await fs_site.make(alice)
    with pytest.raises(InvalidArgument):
        await alice.call(request_)


async def test_an_upload_that_nobody_began_is_none(fs_site: FsSite) -> None:
    alice = await fs_site.add_user("alice")
    await fs_site.make(alice)
    for upload_id in ("../../x", "0" * 32 + "-1", "x"):
        request = pb.SendChunkRequest(filesystem=DATA, path="a", upload_id=upload_id, number=1, last=True)
        with pytest.raises((FileNotFound, FileUnusable)):
            await alice.call(request)
