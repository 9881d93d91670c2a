"""Filesystems behind servers over a socket: their secrets, their servers, links, mounts and caches."""

from __future__ import annotations

import pytest
from google.protobuf.field_mask_pb2 import FieldMask

from paddleflow.common.v1 import event_pb2, info_pb2
from paddleflow.fs.v1 import fs_pb2, link_pb2, mount_pb2
from paddleflow.problems import (
    FilesystemMounted,
    FilesystemNotFound,
    FilesystemNotGranted,
    FilesystemReadOnly,
    InvalidArgument,
    LinkExists,
    LinkNotPossible,
    ServerNotAllowed,
    ServerUnusable,
)
from support.fs_program import ENDPOINT
from support.fs_site import SECRET, FsSite, named


def draft(url: str, **fields: object) -> fs_pb2.CreateFilesystemRequest:
    given = {"name": "data", "url": url} | fields
    return fs_pb2.CreateFilesystemRequest(filesystem=fs_pb2.Filesystem(**given))  # type: ignore[arg-type]


S3 = {"endpoint": ENDPOINT, "accessKey": "AK", "secretKey": SECRET}


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:9000", "http://169.254.169.254", "10.1.2.3", "[::1]:9"])
async def test_the_service_is_not_made_to_call_what_only_it_can_reach(fs_site: FsSite, host: str) -> None:
    alice = await fs_site.add_user("alice")
    with pytest.raises(ServerNotAllowed, match="which is not public"):
        await alice.call(draft("s3://bucket", properties=S3 | {"endpoint": host}))
    with pytest.raises(ServerNotAllowed):
        await alice.call(draft("sftp://127.0.0.1/x", properties={"user": "a"}))
    assert SECRET not in fs_site.process.log


async def test_a_server_that_refuses_is_told_in_its_own_words_without_secrets(fs_site: FsSite) -> None:
    alice = await fs_site.add_user("alice")
    with pytest.raises(ServerUnusable, match=r"AccessDenied: \*\*\* is no key"):
        await fs_site.make_far(alice, url="s3://refusing")
    with pytest.raises(InvalidArgument, match=r"filesystem.properties: \*\*\* is odd"):
        await fs_site.make_far(alice, url="s3://odd")
    with pytest.raises(FilesystemNotFound):
        await alice.call(fs_pb2.GetFilesystemRequest(filesystem=named("data")))
    assert SECRET not in fs_site.process.log


async def test_secrets_are_in_no_answer_no_event_no_record_and_no_log(fs_site: FsSite) -> None:
    alice, bobby = await fs_site.add_user("alice"), await fs_site.add_user("bobby")
    head = (await fs_site.root(event_pb2.GetEventHeadRequest())).head
    made = await fs_site.make_far(alice)
    assert list(made.secret_properties) == ["secretKey"]
    await fs_site.share(alice, "data", bobby.name)
    update = fs_pb2.UpdateFilesystemRequest(
        filesystem=fs_pb2.Filesystem(name="data", etag=made.etag, properties={"secretKey": f"{SECRET}-2"}),
        update_mask=FieldMask(paths=["properties.secretKey"]),
        request_id="once",
    )
    updated = await alice.call(update)
    assert await alice.call(update) == updated, "a retry gets the same reply"
    stream = alice.call.watch(fs_pb2.WatchFilesystemsRequest())
    watched = await anext(stream)
    await stream.aclose()
    described = fs_pb2.DescribeMountRequest(filesystem=named("data", alice.name), sub_path="a//b", read_only=True)
    with pytest.raises(FilesystemReadOnly, match="services only"):
        await bobby.call(described)
    mount = (await fs_site.acting(bobby.name)(described)).mount
    assert mount.remote.url == "s3://bucket/data/a/b"
    assert dict(mount.remote.properties) == {"endpoint": ENDPOINT, "accessKey": "AK"}
    assert dict(mount.remote.secrets) == {"secretKey": f"{SECRET}-2"}
    events = await fs_site.root(event_pb2.ListEventsRequest(after=head))
    records = await fs_site.root(info_pb2.ListAuditRecordsRequest())
    listed = await alice.call(fs_pb2.ListFilesystemsRequest())
    for told in (made, updated, watched, events, records, listed):
        assert SECRET.encode() not in told.SerializeToString()
    assert SECRET not in fs_site.process.log


async def test_a_link_lies_where_nothing_is(fs_site: FsSite) -> None:
    alice = await fs_site.add_user("alice")
    made = await fs_site.make_far(alice)

    async def link(path: str) -> link_pb2.Link:
        wanted = link_pb2.Link(path=path, url="s3://other/x", properties=S3)
        request = link_pb2.CreateLinkRequest(filesystem=named("data"), link=wanted)
        added: link_pb2.Link = (await alice.call(request)).link
        return added

    for path in ("file", "full"):
        with pytest.raises(LinkNotPossible, match="is no empty folder"):
            await link(path)
    for path in ("", "..", "/a", "a\n"):
        with pytest.raises(InvalidArgument, match=r"link\.path"):
            await link(path)
    added = await link("empty")
    assert (added.filesystem_id, list(added.secret_properties)) == (made.id, ["secretKey"])
    with pytest.raises(LinkExists):
        await link("empty/inner")
    mount = (await fs_site.acting(alice.name)(fs_pb2.DescribeMountRequest(filesystem=named("data")))).mount
    ((found),) = mount.links
    assert (found.path, found.remote.url, found.remote.secrets["secretKey"]) == ("empty", "s3://other/x", SECRET)
    assert mount.etag != made.etag
    assert SECRET not in fs_site.process.log


@pytest.mark.parametrize(
    "url",
    [
        "s3://bucket/\0",
        "s3://bucket/" + "x/" * 3000,
        "hdfs://" + "a:1," * 100 + "b:2/x",
        "sftp://host:99999/x",
        "s3://b/../c",
        "s3://bucket?x=y",
    ],
)
async def test_hostile_urls_are_refused_with_the_field(fs_site: FsSite, url: str) -> None:
    for properties in (S3, {"\n" * 3: "x", "x" * 9000: "\0"}, {str(number): "x" for number in range(2000)}):
        with pytest.raises(InvalidArgument, match="filesystem"):
            await fs_site.root(draft(url, properties=properties))


MOUNT = mount_pb2.FilesystemMount(mount_id="m", node="n", path="/mnt", etag="1")


async def test_mounts_are_reported_listed_and_ended_and_hold_a_filesystem(fs_site: FsSite) -> None:
    alice, bobby = await fs_site.add_user("alice"), await fs_site.add_user("bobby")
    made = await fs_site.make_far(alice)
    mount = mount_pb2.FilesystemMount(usage=mount_pb2.CacheUsage(folders=["/nvme"], used_bytes=7))
    mount.MergeFrom(MOUNT)
    report = mount_pb2.ReportMountRequest(filesystem=named("data", alice.name), mount=mount)
    with pytest.raises(FilesystemNotGranted):
        await bobby.call(report)
    await fs_site.share(alice, "data", bobby.name)
    answer = await fs_site.acting(bobby.name)(report)
    assert (answer.etag, answer.next_report_seconds) == (made.etag, 30)
    for caller in (alice.call, bobby.call):
        ((found),) = await caller.all(mount_pb2.ListMountsRequest(), "mounts")
        assert (found.user, found.filesystem_id, found.usage) == (bobby.name, made.id, mount.usage)
    delete = fs_pb2.DeleteFilesystemRequest(filesystem=named("data"))
    with pytest.raises(FilesystemMounted, match=rf"n:/mnt \({bobby.name}\)"):
        await alice.call(delete)
    await bobby.call(mount_pb2.EndMountRequest(filesystem_id=made.id, mount_id="m"))
    await alice.call(delete)
    with pytest.raises(FilesystemNotFound):
        await bobby.call(report)


@pytest.mark.parametrize(
    "wrong",
    [
        {"mount_id": ""},
        {"mount_id": "a/b"},
        {"mount_id": "x" * 65},
        {"node": "a b"},
        {"path": "relative"},
        {"path": "/a\0"},
        {"etag": "\n"},
        {"usage": mount_pb2.CacheUsage(used_bytes=-1)},
        {"usage": mount_pb2.CacheUsage(folders=["x"])},
        {"usage": mount_pb2.CacheUsage(folders=["/x"] * 17)},
    ],
)
async def test_a_malformed_report_is_refused(fs_site: FsSite, wrong: dict[str, object]) -> None:
    mount = mount_pb2.FilesystemMount()
    mount.CopyFrom(MOUNT)
    for name in wrong:
        mount.ClearField(name)  # type: ignore[arg-type]  # a field
    mount.MergeFrom(mount_pb2.FilesystemMount(**wrong))  # type: ignore[arg-type]  # as above
    with pytest.raises(InvalidArgument, match="mount"):
        await fs_site.root(mount_pb2.ReportMountRequest(filesystem=named("data"), mount=mount))


@pytest.mark.parametrize(
    "wrong",
    [
        {"folders": ["relative"]},
        {"folders": ["/../x"]},
        {"meta_driver": 17},
        {"block_size": 3 << 20},
        {"block_size": 1},
        {"size": -1},
        {"memory": 1},
        {"cpu": -1},
        {"node_labels": {"a\n": "b"}},
        {"extra": {str(number): "x" for number in range(65)}},
    ],
)
async def test_a_malformed_cache_is_refused(fs_site: FsSite, wrong: dict[str, object]) -> None:
    cache = fs_pb2.FilesystemCache(**wrong)  # type: ignore[arg-type]  # that is the point
    with pytest.raises(InvalidArgument, match=r"cache\."):
        await fs_site.root(mount_pb2.SetFilesystemCacheRequest(filesystem=named("data"), cache=cache))


async def test_a_mount_tells_how_it_is_to_be_cached(fs_site: FsSite) -> None:
    alice = await fs_site.add_user("alice")
    await fs_site.make_far(alice)
    wanted = fs_pb2.FilesystemCache(folders=["/nvme"], block_size=1 << 20, meta_driver=fs_pb2.META_DRIVER_DISK)
    request = mount_pb2.SetFilesystemCacheRequest(filesystem=named("data"), cache=wanted)
    kept = (await alice.call(request)).cache
    mount = (await alice.call(fs_pb2.DescribeMountRequest(filesystem=named("data")))).mount
    assert mount.cache == kept
    assert (kept.folders, kept.block_size) == (wanted.folders, wanted.block_size)
