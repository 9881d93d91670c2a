"""The filesystem service over files that are reached by SSH."""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest

from paddleflow.fs.v1 import file_manager_pb2 as pb
from paddleflow.fs.v1 import fs_pb2
from paddleflow.problems import InvalidArgument, ServerUnusable
from support.fs_site import FsSite, Member, named
from support.sftp_server import PASSWORD, USER, SftpServer

DATA = named("data")


async def create(member: Member, server: SftpServer, folder: Path, **others: str) -> fs_pb2.Filesystem:
    own = {"user": USER, "password": PASSWORD, "hostKey": server.host_key.get_fingerprint()}
    draft = fs_pb2.Filesystem(name="data", url=f"sftp://127.0.0.1:{server.port}{folder}", properties=own | others)
    made: fs_pb2.Filesystem = (await member.call(fs_pb2.CreateFilesystemRequest(filesystem=draft))).filesystem
    return made


async def test_files_come_and_go(far_site: FsSite, sftp_server: SftpServer, tmp_path: Path) -> None:
    alice = await far_site.add_user("alice")
    made = await create(alice, sftp_server, tmp_path)
    assert list(made.secret_properties) == ["password"]
    await alice.call(pb.MakeFolderRequest(filesystem=DATA, path="a/b"))
    write = pb.WriteFileRequest(filesystem=DATA, path="a/b/file", data=b"hello", crc32=zlib.crc32(b"hello"))
    await alice.call(write)
    assert (tmp_path / "a/b/file").read_bytes() == b"hello"
    read = await alice.call(pb.ReadFileRequest(filesystem=DATA, path="a/b/file", length=100))
    assert read.data == b"hello"
    await alice.call(pb.RenameFileRequest(filesystem=DATA, path="a/b", target="c"))
    found = await alice.call.all(pb.ListFilesRequest(filesystem=DATA, recursive=True), "files")
    assert sorted(each.path for each in found) == ["a", "c", "c/file"]
    await alice.call(pb.RemoveFileRequest(filesystem=DATA, path="c", recursive=True))
    assert [each.name for each in tmp_path.iterdir()] == ["a"]
    mount = (await alice.call(fs_pb2.DescribeMountRequest(filesystem=DATA, sub_path="a"))).mount
    assert mount.remote.url == f"{made.url}/a"
    assert dict(mount.remote.secrets) == {"password": PASSWORD}
    assert PASSWORD not in far_site.process.log


async def test_a_server_that_refuses_or_is_another_one_is_told(
    far_site: FsSite, sftp_server: SftpServer, tmp_path: Path
) -> None:
    alice = await far_site.add_user("alice")
    with pytest.raises(ServerUnusable, match="cannot be used"):
        await create(alice, sftp_server, tmp_path, password="wrong-one-of-alice")
    with pytest.raises(ServerUnusable, match="cannot be used"):
        await create(alice, sftp_server, tmp_path, hostKey="SHA256:" + "A" * 43)
    with pytest.raises(ServerUnusable, match="cannot be used"):
        await create(alice, sftp_server, tmp_path / "nothing")
    with pytest.raises(InvalidArgument):
        await create(alice, sftp_server, tmp_path, hostKey="\n")
    assert "wrong-one-of-alice" not in far_site.process.log
