"""Every method of the filesystem service is called here once, over a socket, and every change is on record."""

from __future__ import annotations

import zlib
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest
from google.protobuf.field_mask_pb2 import FieldMask
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from paddleflow.common.v1 import event_pb2, info_pb2
from paddleflow.fs.v1 import file_manager_pb2, file_pb2, fs_pb2, link_pb2, mount_pb2
from paddleflow.problems import PermissionDenied, TokenMissing
from pf_kit.access import EXEMPT, Access, rules
from support.callers import path_of
from support.fs_program import ENDPOINT
from support.fs_site import METHODS, READ, SERVICES, FsSite, Member, named

Step = Callable[[FsSite], Awaitable[Any]]
RULES = rules(SERVICES)


def as_root(request: Any) -> Step:
    return lambda site: site.root(request)


def on_behalf(make: Callable[[fs_pb2.FilesystemKey], Any]) -> Step:
    """A service asks for a user with a filesystem."""

    async def step(site: FsSite) -> Any:
        alice = await site.add_user("alice")
        await site.make(alice)
        return await site.acting(alice.name)(make(named("data")))

    return step


def with_filesystem(make: Callable[[Member, Member], Any]) -> Step:
    """With a filesystem of one user's, and another user; root asks."""

    async def step(site: FsSite) -> Any:
        alice, bobby = await site.add_user("alice"), await site.add_user("bobby")
        await site.make(alice)
        return await site.root(make(alice, bobby))

    return step


async def create(site: FsSite) -> Any:
    alice = await site.add_user("alice")
    draft = fs_pb2.Filesystem(owner=alice.name, name="data", url=f"local://{alice.folder}")
    return await site.root(fs_pb2.CreateFilesystemRequest(filesystem=draft))


async def revoke(site: FsSite) -> Any:
    alice, bobby = await site.add_user("alice"), await site.add_user("bobby")
    await site.make(alice)
    await site.share(alice, "data", bobby.name)
    request = fs_pb2.RevokeFilesystemRequest(filesystem=named("data", alice.name), user=bobby.name)
    return await site.root(request)


async def watch(site: FsSite) -> Any:
    stream = site.root.watch(fs_pb2.WatchFilesystemsRequest())
    try:
        return await anext(stream)
    finally:
        await stream.aclose()


def with_cache(make: Callable[[fs_pb2.FilesystemKey], Any]) -> Step:
    """With a filesystem of which the owner said how it is cached; root asks."""

    async def step(site: FsSite) -> Any:
        alice = await site.add_user("alice")
        await site.make(alice)
        cache = fs_pb2.FilesystemCache(size=1)
        await alice.call(mount_pb2.SetFilesystemCacheRequest(filesystem=named("data"), cache=cache))
        return await site.root(make(named("data", alice.name)))

    return step


def with_link(make: Callable[[fs_pb2.FilesystemKey], Any] | None = None) -> Step:
    """With a filesystem behind a server, and a link in it, made by root, who asks."""

    async def step(site: FsSite) -> Any:
        alice = await site.add_user("alice")
        await site.make_far(alice)
        key = named("data", alice.name)
        draft = link_pb2.Link(path="empty", url="s3://other", properties={"endpoint": ENDPOINT})
        made = await site.root(link_pb2.CreateLinkRequest(filesystem=key, link=draft))
        return await site.root(make(key)) if make else made

    return step


def with_files(make: Callable[[fs_pb2.FilesystemKey], Any]) -> Step:
    """With a filesystem that has a file; root asks."""

    async def step(site: FsSite) -> Any:
        alice = await site.add_user("alice")
        await site.make(alice)
        (alice.folder / "data" / "file").write_bytes(b"")
        return await site.root(make(named("data", alice.name)))

    return step


def with_upload(make: Callable[[fs_pb2.FilesystemKey, str], Any]) -> Step:
    """With an upload that was begun and has a part; root asks."""

    async def step(site: FsSite) -> Any:
        alice = await site.add_user("alice")
        await site.make(alice)
        key = named("data", alice.name)
        begun = await site.root(file_manager_pb2.BeginUploadRequest(filesystem=key, path="a", size=1))
        await site.root(send(key, begun.upload.id))
        return await site.root(make(key, begun.upload.id))

    return step


def send(key: fs_pb2.FilesystemKey, upload: str) -> Any:
    return file_manager_pb2.SendChunkRequest(
        filesystem=key, path="a", upload_id=upload, number=1, data=b"x", crc32=zlib.crc32(b"x"), last=True
    )


MOUNT = mount_pb2.FilesystemMount(mount_id="m", node="n", path="/mnt")
SUCCESSES: Mapping[str, Step] = {
    "common.v1.InfoService/GetInfo": as_root(info_pb2.GetInfoRequest()),
    "common.v1.AuditService/ListAuditRecords": as_root(info_pb2.ListAuditRecordsRequest()),
    "common.v1.EventService/ListEvents": as_root(event_pb2.ListEventsRequest(limit=1)),
    "common.v1.EventService/GetEventHead": as_root(event_pb2.GetEventHeadRequest()),
    "fs.v1.FilesystemService/CreateFilesystem": create,
    "fs.v1.FilesystemService/GetFilesystem": with_filesystem(
        lambda alice, _: fs_pb2.GetFilesystemRequest(filesystem=named("data", alice.name))
    ),
    "fs.v1.FilesystemService/ListFilesystems": as_root(fs_pb2.ListFilesystemsRequest()),
    "fs.v1.FilesystemService/UpdateFilesystem": with_filesystem(
        lambda alice, _: fs_pb2.UpdateFilesystemRequest(
            filesystem=fs_pb2.Filesystem(owner=alice.name, name="data"), update_mask=FieldMask(paths=["properties"])
        )
    ),
    "fs.v1.FilesystemService/DeleteFilesystem": with_filesystem(
        lambda alice, _: fs_pb2.DeleteFilesystemRequest(filesystem=named("data", alice.name))
    ),
    "fs.v1.FilesystemService/GrantFilesystem": with_filesystem(
        lambda alice, bobby: fs_pb2.GrantFilesystemRequest(
            filesystem=named("data", alice.name), user=bobby.name, access=READ
        )
    ),
    "fs.v1.FilesystemService/RevokeFilesystem": revoke,
    "fs.v1.FilesystemService/ListFilesystemGrants": as_root(fs_pb2.ListFilesystemGrantsRequest()),
    "fs.v1.FilesystemService/DescribeMount": with_filesystem(
        lambda alice, _: fs_pb2.DescribeMountRequest(filesystem=named("data", alice.name))
    ),
    "fs.v1.FilesystemService/WatchFilesystems": watch,
    "fs.v1.FileManagerService/StatFile": with_files(
        lambda key: file_manager_pb2.StatFileRequest(filesystem=key, path="file")
    ),
    "fs.v1.FileManagerService/ListFiles": with_files(lambda key: file_manager_pb2.ListFilesRequest(filesystem=key)),
    "fs.v1.FileManagerService/ReadFile": with_files(
        lambda key: file_manager_pb2.ReadFileRequest(filesystem=key, path="file", length=1)
    ),
    "fs.v1.FileManagerService/MakeFolder": with_files(
        lambda key: file_manager_pb2.MakeFolderRequest(filesystem=key, path="a")
    ),
    "fs.v1.FileManagerService/RemoveFile": with_files(
        lambda key: file_manager_pb2.RemoveFileRequest(filesystem=key, path="file")
    ),
    "fs.v1.FileManagerService/RenameFile": with_files(
        lambda key: file_manager_pb2.RenameFileRequest(filesystem=key, path="file", target="a")
    ),
    "fs.v1.FileManagerService/CopyFile": with_files(
        lambda key: file_manager_pb2.CopyFileRequest(filesystem=key, path="file", target="a")
    ),
    "fs.v1.FileManagerService/WriteFile": with_files(
        lambda key: file_manager_pb2.WriteFileRequest(filesystem=key, path="a")
    ),
    "fs.v1.FileManagerService/TouchFile": with_files(
        lambda key: file_manager_pb2.TouchFileRequest(filesystem=key, path="file")
    ),
    "fs.v1.FileManagerService/BeginUpload": with_files(
        lambda key: file_manager_pb2.BeginUploadRequest(filesystem=key, path="a")
    ),
    "fs.v1.FileManagerService/SendChunk": with_upload(send),
    "fs.v1.FileManagerService/FinishUpload": with_upload(
        lambda key, upload: file_manager_pb2.FinishUploadRequest(
            filesystem=key, path="a", upload_id=upload, parts=[file_manager_pb2.UploadedPart(number=1, size=1)]
        )
    ),
    "fs.v1.FileManagerService/DropUpload": with_upload(
        lambda key, upload: file_manager_pb2.DropUploadRequest(filesystem=key, path="a", upload_id=upload)
    ),
    "fs.v1.LinkService/CreateLink": with_link(),
    "fs.v1.LinkService/GetLink": with_link(lambda key: link_pb2.GetLinkRequest(filesystem=key, path="empty")),
    "fs.v1.LinkService/ListLinks": with_link(lambda key: link_pb2.ListLinksRequest(filesystem=key)),
    "fs.v1.LinkService/DeleteLink": with_link(lambda key: link_pb2.DeleteLinkRequest(filesystem=key, path="empty")),
    "fs.v1.MountService/ReportMount": on_behalf(lambda key: mount_pb2.ReportMountRequest(filesystem=key, mount=MOUNT)),
    "fs.v1.MountService/EndMount": as_root(mount_pb2.EndMountRequest(filesystem_id="fs-alice-x", mount_id="m")),
    "fs.v1.MountService/ListMounts": as_root(mount_pb2.ListMountsRequest()),
    "fs.v1.MountService/SetFilesystemCache": with_filesystem(
        lambda alice, _: mount_pb2.SetFilesystemCacheRequest(filesystem=named("data", alice.name))
    ),
    "fs.v1.MountService/GetFilesystemCache": with_cache(
        lambda key: mount_pb2.GetFilesystemCacheRequest(filesystem=key)
    ),
    "fs.v1.MountService/DeleteFilesystemCache": with_cache(
        lambda key: mount_pb2.DeleteFilesystemCacheRequest(filesystem=key)
    ),
    "fs.v1.FileService/StatFiles": on_behalf(lambda key: file_pb2.StatFilesRequest(filesystem=key, paths=[""])),
    "fs.v1.FileService/ReadFiles": on_behalf(lambda key: file_pb2.ReadFilesRequest(filesystem=key)),
    "fs.v1.FileService/DigestFiles": on_behalf(lambda key: file_pb2.DigestFilesRequest(filesystem=key, paths=[""])),
    "fs.v1.FileService/MakeFolders": on_behalf(lambda key: file_pb2.MakeFoldersRequest(filesystem=key, paths=["a"])),
    "fs.v1.FileService/RemoveFiles": on_behalf(lambda key: file_pb2.RemoveFilesRequest(filesystem=key, paths=["a"])),
    "fs.v1.FileService/PreparePaths": on_behalf(lambda key: file_pb2.PreparePathsRequest(filesystem=key, paths=["a"])),
}
ON_THE_WAY = tuple(f"fs.v1.FileManagerService/{name}" for name in ("BeginUpload", "SendChunk", "DropUpload"))
"""Of an upload the end is on record: before it nobody sees a file."""
UNRECORDED = (*ON_THE_WAY, "fs.v1.FileService/", "fs.v1.MountService/ReportMount", "fs.v1.MountService/EndMount")
"""What is done with files is not on record here: services do it all the time, and keep records of their own. Nor are
reports, which come all the time."""


def short(path: str) -> str:
    return path.removeprefix("/paddleflow.")


async def test_every_method_that_the_server_has_is_called_here(fs_site: FsSite) -> None:
    """What the server has, it says itself, by reflection."""
    stub = reflection_pb2_grpc.ServerReflectionStub(fs_site.channel)  # type: ignore[arg-type]  # knows no asyncio
    stream = stub.ServerReflectionInfo()  # type: ignore[operator]  # has no types
    await stream.write(reflection_pb2.ServerReflectionRequest(list_services=""))
    answer = await stream.read()
    await stream.done_writing()
    served = {service.name for service in answer.list_services_response.service} - EXEMPT
    assert served == {service.full_name for service in SERVICES}
    assert set(SUCCESSES) == {short(path_of(method)) for method in METHODS.values()}


def test_every_method_has_a_rule() -> None:
    assert {short(path) for path in RULES} == set(SUCCESSES)
    assert all(rule.access in Access for rule in RULES.values())


async def records(site: FsSite) -> list[info_pb2.AuditRecord]:
    return list((await site.root(info_pb2.ListAuditRecordsRequest(page_size=5))).records)


@pytest.mark.parametrize("path", list(SUCCESSES))
async def test_a_method_answers_and_what_it_changes_is_on_record(fs_site: FsSite, path: str) -> None:
    newest = max((record.id for record in await records(fs_site)), default=0)
    await SUCCESSES[path](fs_site)
    recorded = [record for record in await records(fs_site) if record.id > newest and short(record.method) == path]
    assert len(recorded) == (RULES[f"/paddleflow.{path}"].mutation and not path.startswith(UNRECORDED))
    for record in recorded:
        assert record.actor == "user/root"
        kind, _, name = record.subject.partition("/")
        assert kind in {"filesystem", "filesystem-grant"}
        assert name.startswith(f"fs-alice{fs_site.tag}-data")


@pytest.mark.parametrize("path", [path for path, rule in RULES.items() if not rule.streaming])
async def test_whoever_may_not_call_is_kept_out(fs_site: FsSite, path: str) -> None:
    method = next(method for method in METHODS.values() if path_of(method) == path)
    request = method.input_type._concrete_class()  # type: ignore[attr-defined]  # noqa: SLF001  # made by protobuf
    access = RULES[path].access
    if access is not Access.ANYONE:
        with pytest.raises(TokenMissing):
            await fs_site.anyone(request)
    if access in (Access.ROOT, Access.SERVICE):
        alice = await fs_site.add_user("alice")
        with pytest.raises(PermissionDenied):
            await alice.call(request)
