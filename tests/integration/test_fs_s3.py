"""The filesystem service over a real object store."""

from __future__ import annotations

import os
import zlib

import pytest

from paddleflow.common.v1 import event_pb2
from paddleflow.fs.v1 import file_manager_pb2 as pb
from paddleflow.fs.v1 import fs_pb2, link_pb2
from paddleflow.problems import FileExists, FileNotFound, FileUnusable, LinkNotPossible, ServerUnusable
from support.file_uploads import CHUNK, send_part
from support.fs_site import FsSite, Member, named
from support.s3_servers import BUCKET, KEYS, S3Server

DATA = named("data")
PART = 5 << 20


def properties(server: S3Server, **others: str) -> dict[str, str]:
    return server.properties | others


async def create(member: Member, url: str, given: dict[str, str]) -> fs_pb2.Filesystem:
    draft = fs_pb2.Filesystem(name="data", url=url, properties=given)
    made: fs_pb2.Filesystem = (await member.call(fs_pb2.CreateFilesystemRequest(filesystem=draft))).filesystem
    return made


async def listed(member: Member, **fields: object) -> list[str]:
    request = pb.ListFilesRequest(filesystem=DATA, **fields)  # type: ignore[arg-type]  # as it is written
    return sorted(found.path for found in await member.call.all(request, "files"))


async def write(member: Member, path: str, data: bytes, *, replace: bool = False) -> None:
    crc32 = zlib.crc32(data)
    await member.call(pb.WriteFileRequest(filesystem=DATA, path=path, data=data, crc32=crc32, replace=replace))


async def upload(member: Member, path: str, body: bytes) -> pb.File:
    begun = (await member.call(pb.BeginUploadRequest(filesystem=DATA, path=path, size=len(body)))).upload
    starts = range(0, len(body), begun.part_size)
    parts = [
        await send_part(member.call, DATA, begun, path, number, body[start : start + begun.part_size])
        for number, start in enumerate(starts, 1)
    ]
    finish = pb.FinishUploadRequest(filesystem=DATA, path=path, upload_id=begun.id, parts=parts)
    made: pb.File = (await member.call(finish)).file
    return made


async def test_files_of_a_bucket_come_and_go(far_site: FsSite, seaweed_server: S3Server) -> None:
    alice = await far_site.add_user("alice")
    head = (await far_site.root(event_pb2.GetEventHeadRequest())).head
    await create(alice, f"s3://{BUCKET}/{far_site.tag}", properties(seaweed_server))
    await alice.call(pb.MakeFolderRequest(filesystem=DATA, path="a/b"))
    await write(alice, "a/b/file", b"hello")
    with pytest.raises(FileExists):
        await write(alice, "a/b/file", b"again")
    body = os.urandom(2 * PART + 7)
    made = await upload(alice, "a/large", body)
    assert made.size == len(body)
    pieces = [
        (await alice.call(pb.ReadFileRequest(filesystem=DATA, path="a/large", offset=at, length=CHUNK))).data
        for at in range(0, len(body), CHUNK)
    ]
    assert b"".join(pieces) == body
    assert await listed(alice) == ["a"]
    assert {"a/b/file", "a/large"} <= set(await listed(alice, recursive=True, page_size=2))
    await alice.call(pb.RenameFileRequest(filesystem=DATA, path="a/large", target="moved"))
    await alice.call(pb.CopyFileRequest(filesystem=DATA, path="moved", target="copy"))
    with pytest.raises(FileUnusable, match="cannot rename"):
        await alice.call(pb.RenameFileRequest(filesystem=DATA, path="a", target="b"))
    await alice.call(pb.RemoveFileRequest(filesystem=DATA, path="a", recursive=True))
    assert await listed(alice) == ["copy", "moved"]
    with pytest.raises(FileNotFound):
        await listed(alice, path="a")
    events = await far_site.root(event_pb2.ListEventsRequest(after=head))
    assert KEYS.secret.encode() not in events.SerializeToString()
    assert KEYS.secret not in far_site.process.log


async def test_what_the_store_says_is_told(far_site: FsSite, seaweed_server: S3Server) -> None:
    alice = await far_site.add_user("alice")
    with pytest.raises(ServerUnusable, match=r"s3://no-such-bucket"):
        await create(alice, "s3://no-such-bucket", properties(seaweed_server))
    with pytest.raises(ServerUnusable, match=r"cannot be used: .+"):
        await create(alice, f"s3://{BUCKET}", properties(seaweed_server, secretKey="wrong-one-of-alice"))
    with pytest.raises(ServerUnusable):
        await create(alice, f"s3://{BUCKET}", properties(seaweed_server, endpoint="http://127.0.0.1:1"))
    assert "wrong-one-of-alice" not in far_site.process.log


async def test_a_link_shows_the_files_of_another_place(far_site: FsSite, seaweed_server: S3Server) -> None:
    alice = await far_site.add_user("alice")
    await create(alice, f"s3://{BUCKET}/{far_site.tag}", properties(seaweed_server))
    (alice.folder / "far").mkdir()
    (alice.folder / "far" / "inner").write_text("from the machine")
    await write(alice, "here", b"from the store")
    link = link_pb2.Link(path="linked", url=f"local://{alice.folder}/far")
    await alice.call(link_pb2.CreateLinkRequest(filesystem=DATA, link=link))
    other = link_pb2.Link(path="here", url=f"local://{alice.folder}/far")
    with pytest.raises(LinkNotPossible):
        await alice.call(link_pb2.CreateLinkRequest(filesystem=DATA, link=other))
    assert await listed(alice) == ["here", "linked"]
    read = pb.ReadFileRequest(filesystem=DATA, path="linked/inner", length=100)
    assert (await alice.call(read)).data == b"from the machine"
    mount = (await alice.call(fs_pb2.DescribeMountRequest(filesystem=DATA))).mount
    assert mount.remote.secrets["secretKey"] == KEYS.secret
    assert mount.links[0].local.path == str(alice.folder / "far")
