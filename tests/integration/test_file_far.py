"""Files behind a server, as services see them in the name of users."""

from __future__ import annotations

import os
import zlib
from hashlib import sha256
from typing import Any

import pytest

from paddleflow.fs.v1 import errors_pb2, file_pb2, fs_pb2
from paddleflow.fs.v1 import file_manager_pb2 as pb
from paddleflow.problems import FilesystemNotGranted, InvalidArgument, ServerUnusable
from support.fs_site import FsSite, Member, named
from support.s3_servers import BUCKET, S3Server

MIB = 1 << 20
DATA = named("data")


def hashed(kind: bytes, what: bytes) -> bytes:
    return sha256(kind + b"\0" + what).digest()


def file_digest(content: bytes) -> bytes:
    return hashed(b"file", b"-" + sha256(content).digest())


async def given(site: FsSite, server: S3Server) -> Member:
    """A user with a filesystem in a bucket that has something in it."""
    alice = await site.add_user("alice")
    draft = fs_pb2.Filesystem(name="data", url=f"s3://{BUCKET}/{site.tag}", properties=server.properties)
    await alice.call(fs_pb2.CreateFilesystemRequest(filesystem=draft))
    await write(alice, "folder/file", b"0123456789")
    return alice


async def write(member: Member, path: str, data: bytes) -> None:
    request = pb.WriteFileRequest(filesystem=DATA, path=path, data=data, crc32=zlib.crc32(data), replace=True)
    await member.call(request)


async def asked(site: FsSite, user: Member, kind: Any, *paths: str, **more: Any) -> Any:
    return await site.acting(user.name)(kind(filesystem=DATA, paths=paths, **more))


async def digest(site: FsSite, user: Member, path: str, **more: Any) -> str:
    while True:
        (found,) = (await asked(site, user, file_pb2.DigestFilesRequest, path, **more)).digests
        if not found.pending:
            return str(found.digest or reason(found.fault))


def reason(fault: file_pb2.FileFault) -> str:
    return errors_pb2.FilesystemReason.Name(fault.reason).removeprefix("FILESYSTEM_REASON_")


async def test_what_lies_in_a_bucket_is_told_and_read(far_site: FsSite, seaweed_server: S3Server) -> None:
    alice = await given(far_site, seaweed_server)
    told = await asked(far_site, alice, file_pb2.StatFilesRequest, "", "folder", "folder/file", "nothing", ".ssh/id")
    kinds = [file_pb2.FileKind.Name(each.kind).removeprefix("FILE_KIND_") for each in told.files[:3]]
    assert kinds == ["FOLDER", "FOLDER", "REGULAR"]
    assert [reason(each.fault) for each in told.files[3:]] == ["FILE_NOT_FOUND", "FOLDER_NOT_ALLOWED"]
    given_ranges = [("folder/file", 3, 4), ("folder/file", 0, 100), ("folder", 0, 1), ("folder/file", 10, 5)]
    ranges = [file_pb2.FileRange(path=path, offset=at, length=length) for path, at, length in given_ranges]
    pieces = (await far_site.acting(alice.name)(file_pb2.ReadFilesRequest(filesystem=DATA, ranges=ranges))).pieces
    assert [piece.data for piece in pieces] == [b"3456", b"0123456789", b"", b""]
    assert [piece.size for piece in pieces] == [10, 10, 0, 10]
    assert "a file is wanted" in pieces[2].fault.message


async def test_digests_are_those_of_files_of_the_machine(far_site: FsSite, seaweed_server: S3Server) -> None:
    alice = await given(far_site, seaweed_server)
    large = os.urandom(2 * MIB)
    await write(alice, "folder/inner/large", large)
    inner = hashed(b"tree", (5).to_bytes(4, "big") + b"large" + file_digest(large))
    file = (4).to_bytes(4, "big") + b"file" + file_digest(b"0123456789")
    tree = hashed(b"tree", file + (5).to_bytes(4, "big") + b"inner" + inner)
    assert await digest(far_site, alice, "folder/file") == file_digest(b"0123456789").hex()
    assert await digest(far_site, alice, "folder") == tree.hex()
    assert await digest(far_site, alice, "nothing") == "FILE_NOT_FOUND"
    by_time = await digest(far_site, alice, "folder", mode=file_pb2.DIGEST_MODE_TIME)
    await write(alice, "folder/file", b"012345678!")
    assert await digest(far_site, alice, "folder") not in (tree.hex(), by_time)
    assert await digest(far_site, alice, "folder", mode=file_pb2.DIGEST_MODE_TIME) != by_time
    await write(alice, "folder/file", b"0123456789")
    assert await digest(far_site, alice, "folder") == tree.hex()


async def test_paths_are_prepared_and_removed(far_site: FsSite, seaweed_server: S3Server) -> None:
    alice = await given(far_site, seaweed_server)
    made = await asked(far_site, alice, file_pb2.PreparePathsRequest, "runs/1/model", "folder/file")
    assert not any(change.pending or change.HasField("fault") for change in made.changes)
    told = await asked(far_site, alice, file_pb2.StatFilesRequest, "runs/1", "runs/1/model", "folder", "folder/file")
    found = [not each.HasField("fault") for each in told.files]
    assert found == [True, False, True, False]
    for path in ("runs/1/model/a", "runs/1/model/b/c"):
        await write(alice, path, b"x")
    for _ in range(2):
        (change,) = (await asked(far_site, alice, file_pb2.RemoveFilesRequest, "runs")).changes
        assert (change.pending, change.HasField("fault")) == (False, False)
    (gone,) = (await asked(far_site, alice, file_pb2.StatFilesRequest, "runs")).files
    assert reason(gone.fault) == "FILE_NOT_FOUND"
    made = await asked(far_site, alice, file_pb2.MakeFoldersRequest, "new/one")
    assert not made.changes[0].HasField("fault")
    with pytest.raises(InvalidArgument):
        await asked(far_site, alice, file_pb2.RemoveFilesRequest, "")


async def test_others_and_servers_that_are_gone_are_refused(far_site: FsSite, seaweed_server: S3Server) -> None:
    alice = await given(far_site, seaweed_server)
    bob = await far_site.add_user("bob")
    request = file_pb2.StatFilesRequest(filesystem=named("data", alice.name), paths=[""])
    with pytest.raises(FilesystemNotGranted):
        await far_site.acting(bob.name)(request)
    draft = fs_pb2.Filesystem(name="data", url="sftp://127.0.0.1:1/x", properties={"user": "a", "password": "b"})
    with pytest.raises(ServerUnusable):
        await bob.call(fs_pb2.CreateFilesystemRequest(filesystem=draft))
