"""The filesystem service over files of a Hadoop file system."""

from __future__ import annotations

import secrets
import zlib

import pytest

from paddleflow.fs.v1 import file_manager_pb2 as pb
from paddleflow.fs.v1 import fs_pb2
from paddleflow.problems import InvalidArgument, ServerUnusable
from pf_backends.entries import Facts
from support.backend_places import in_cluster
from support.fs_site import FsSite, Member, named
from support.hdfs_server import SUPERUSER, HdfsServer

DATA = named("data")
pytestmark = pytest.mark.timeout(300)  # the first test fetches Hadoop


async def create(member: Member, server: HdfsServer, path: str, **others: str) -> fs_pb2.Filesystem:
    ((host, port),) = server.settings.names
    properties = {"user": SUPERUSER} | others
    draft = fs_pb2.Filesystem(name="data", url=f"hdfs://{host}:{port}/{path}", properties=properties)
    made: fs_pb2.Filesystem = (await member.call(fs_pb2.CreateFilesystemRequest(filesystem=draft))).filesystem
    return made


async def test_files_come_and_go(far_site: FsSite, hdfs_server: HdfsServer) -> None:
    alice = await far_site.add_user("alice")
    with in_cluster(hdfs_server) as place:
        await create(alice, hdfs_server, place.address.rpartition("/")[2])
        await alice.call(pb.MakeFolderRequest(filesystem=DATA, path="a/b"))
        write = pb.WriteFileRequest(filesystem=DATA, path="a/b/file", data=b"hello", crc32=zlib.crc32(b"hello"))
        await alice.call(write)
        assert place.fetch("a/b/file", limit=100)[1] == b"hello"
        read = await alice.call(pb.ReadFileRequest(filesystem=DATA, path="a/b/file", length=100))
        assert read.data == b"hello"
        await alice.call(pb.RenameFileRequest(filesystem=DATA, path="a/b", target="c"))
        found = await alice.call.all(pb.ListFilesRequest(filesystem=DATA, recursive=True), "files")
        assert sorted(each.path for each in found) == ["a", "c", "c/file"]
        await alice.call(pb.RemoveFileRequest(filesystem=DATA, path="c", recursive=True))
        assert [entry.path for entry in place.list("").entries] == ["a"]


async def test_what_cannot_be_used_is_told_in_its_own_words(far_site: FsSite, hdfs_server: HdfsServer) -> None:
    alice = await far_site.add_user("alice")
    with pytest.raises(ServerUnusable, match="there is nothing"):
        await create(alice, hdfs_server, secrets.token_hex(8))
    with pytest.raises(InvalidArgument, match="Kerberos"):
        await create(alice, hdfs_server, "", **{"kerberos.realm": "EXAMPLE.ORG"})
    with in_cluster(hdfs_server) as place:
        place.make_folder("closed")
        place.set_facts("closed", Facts(mode=0o700))
        path = place.address.rpartition("/")[2]
        with pytest.raises(ServerUnusable, match="Permission denied: user=mallory"):
            await create(alice, hdfs_server, f"{path}/closed", user="mallory")
