"""Filesystems through the SDK, and how the client finds the service that keeps them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import grpc
import pytest

import paddleflow
from paddleflow import aio
from paddleflow.address import neighbour
from paddleflow.common.v1 import event_pb2
from paddleflow.common.v1.info_pb2 import AuditRecord
from paddleflow.config import load_config
from paddleflow.configured import configured_connection
from paddleflow.connection import Connection
from paddleflow.fs.v1 import fs_pb2
from paddleflow.models import (
    Bookmark,
    CacheUsage,
    Change,
    ChangeKind,
    Filesystem,
    FilesystemAccess,
    FilesystemCache,
    FilesystemGrant,
    FilesystemKind,
    FilesystemLink,
    FilesystemQuota,
    MetaDriver,
    MountReport,
    RemoteFolder,
    ReportReceipt,
)
from paddleflow.problems import FilesystemExists, FilesystemNotFound, InvalidArgument, Problem, Unavailable
from paddleflow.sync import PaddleFlow
from support.fake_paddleflow import FakePaddleFlow
from support.fake_services import PASSWORD, Stream

FILE = """
[user]
name = root
password = p
[server]
paddleflow_server_host = example.org
paddleflow_server_port = 1234
[services]
fs = other.org:5
"""


def test_filesystems_are_made_found_shared_and_removed(fake: FakePaddleFlow) -> None:
    with paddleflow.connect(fake.address, user="root", password=PASSWORD) as client:
        made = client.filesystems.create(Filesystem("data", "local:///data", properties={"a": "b"}))
        assert (made.id, made.owner, made.kind) == ("fs-root-data", "root", FilesystemKind.LOCAL)
        assert client.filesystems.get("data") == client.filesystems.get("data", owner="root") == made
        with pytest.raises(FilesystemExists):
            client.filesystems.create(Filesystem("data", "local:///data"))
        grant = client.filesystems.grant("data", "alice", FilesystemAccess.READ)
        assert grant == FilesystemGrant("fs-root-data", "alice", FilesystemAccess.READ, grant.create_time)
        assert list(client.filesystems.grants(name="data")) == list(client.filesystems.grants()) == [grant]
        client.filesystems.revoke("data", "alice")
        assert list(client.filesystems.grants(user="alice")) == []
        client.filesystems.delete("data", etag=made.etag)
        with pytest.raises(FilesystemNotFound):
            client.filesystems.get("data")
    assert fake.world.logins == 1
    (asked,) = fake.world.asked(fs_pb2.DeleteFilesystemRequest)
    assert (asked.etag, len(asked.request_id)) == ("1", 32)


def test_properties_are_changed_one_by_one_and_secrets_are_not_told(fake: FakePaddleFlow) -> None:
    properties = {"endpoint": "s3.example.org", "accessKey": "AK", "secretKey": "hidden"}
    with paddleflow.connect(fake.address, user="root", password=PASSWORD) as client:
        wanted = Filesystem("far", "s3://bucket", properties=properties)
        assert "hidden" not in repr(wanted)
        made = client.filesystems.create(wanted)
        assert (made.kind, made.secret_properties) == (FilesystemKind.S3, ("secretKey",))
        assert "secretKey" not in made.properties
        changed = client.filesystems.update("far", {"region": "bj", "accessKey": None, "secretKey": None})
        assert changed.properties == {"endpoint": "s3.example.org", "region": "bj"}
        assert changed.secret_properties == ()
        with pytest.raises(InvalidArgument, match="Nothing to change"):
            client.filesystems.update("far", {})
        limited = client.filesystems.update("far", quota={"bytes": 1 << 40})
        assert (limited.quota, limited.properties) == (FilesystemQuota(1 << 40), changed.properties)
        assert client.filesystems.update("far", quota={"files": 9}).quota == FilesystemQuota(1 << 40, 9)
        with pytest.raises(InvalidArgument, match="bytes"):
            client.filesystems.update("far", quota={"bytes": 1 << 70})
        mount = client.filesystems.describe_mount("far", read_only=True)
    assert mount.quota == FilesystemQuota(1 << 40, 9)
    assert mount.source == RemoteFolder("s3://bucket", changed.properties, {"secretKey": "told"})
    assert "told" not in repr(mount)


def test_links_mounts_and_caches_come_and_go(fake: FakePaddleFlow) -> None:
    with paddleflow.connect(fake.address, user="root", password=PASSWORD) as client:
        client.filesystems.create(Filesystem("far", "s3://bucket"))
        made = client.links.create("far", FilesystemLink("a", "sftp://h/x", {"user": "u", "password": "hidden"}))
        assert (made.properties, made.secret_properties) == ({"user": "u"}, ("password",))
        assert client.links.list("far") == [client.links.get("far", "a")] == [made]
        client.links.delete("far", "a")
        assert client.links.list("far") == []
        cache = FilesystemCache(("/a", "/b"), MetaDriver.DISK, 2**20, 2**40, node_labels={"a": "b"})
        kept = client.mounts.set_cache("far", cache)
        assert kept == client.mounts.get_cache("far") == replace(cache, filesystem_id="fs-root-far")
        client.mounts.delete_cache("far")
        report = MountReport("m", "node", "/mnt", usage=CacheUsage(("/a",), 1, 2, 3, 4, 5, 6))
        assert client.mounts.report("far", report) == ReportReceipt(30, "1")
        (listed,) = client.mounts.list(name="far", node="node")
        assert (listed.usage, listed.user, listed.filesystem_id) == (report.usage, "root", "fs-root-far")
        client.mounts.end("fs-root-far", "m")
        assert list(client.mounts.list()) == []


async def test_lists_go_from_page_to_page(fake: FakePaddleFlow) -> None:
    async with aio.connect(fake.address, user="root", password=PASSWORD) as client:
        for number in range(60):
            await client.filesystems.create(Filesystem(f"data-{number:02}", "local:///data"))
        names = [each.name async for each in client.filesystems.list(name_prefix="data-", owner="root")]
    assert names == [f"data-{number:02}" for number in range(60)]


def test_a_watch_tells_of_filesystems(fake: FakePaddleFlow) -> None:
    event = fs_pb2.FilesystemEvent(
        kind=event_pb2.CHANGE_KIND_CREATED, filesystem=fs_pb2.Filesystem(name="data", url="local:///x")
    )
    message = fs_pb2.WatchFilesystemsResponse(events=[event], resume_token="t", bookmark=True)
    fake.world.streams = [Stream([message], silent=True)]
    with paddleflow.connect(fake.address, user="root", password=PASSWORD) as client:
        items = client.filesystems.watch()
        assert next(items) == Change(ChangeKind.CREATED, Filesystem("data", "local:///x"))
        assert next(items) == Bookmark("t", caught_up=True)


def test_a_value_that_fits_no_field_is_named(fake: FakePaddleFlow) -> None:
    with paddleflow.connect(fake.address, user="root", password=PASSWORD) as client:
        with pytest.raises(InvalidArgument, match="url"):
            client.filesystems.create(Filesystem("data", 7))  # type: ignore[arg-type]  # that is the point
        with pytest.raises(InvalidArgument, match="is not one of read, read-write"):
            client.filesystems.grant("data", "alice", "write")  # type: ignore[arg-type]  # as above


@pytest.mark.parametrize(
    ("address", "found"),
    [
        ("localhost:8999", "localhost:8998"),
        ("[::1]:8999", "[::1]:8998"),
        ("localhost:18999", "localhost:18999"),
        ("unix:/run/pf/queue.sock", "unix:/run/pf/fs.sock"),
        ("unix:/run/pf/s", "unix:/run/pf/s"),
        ("dns:///localhost:8999", "dns:///localhost:8999"),
    ],
)
def test_where_nothing_is_said_the_service_is_beside_the_entrance(address: str, found: str) -> None:
    assert neighbour(address, "fs") == Connection(address).address_of("fs") == found
    assert Connection(address).address_of("queue") == Connection(address).address_of("common") == address
    assert Connection(address, services={"fs": "there:1"}).address_of("fs") == "there:1"


def test_the_file_and_the_environment_say_where_it_is(tmp_path: Path) -> None:
    file = tmp_path / "some.ini"
    file.write_text(FILE)
    assert configured_connection(load_config(file, {})).address_of("fs") == "other.org:5"
    environ = {"PADDLEFLOW_FS_SERVER": "unix:/x"}
    assert configured_connection(load_config(file, environ)).address_of("fs") == "unix:/x"
    for wrong in ("nonsense", "host:99999"):
        with pytest.raises(InvalidArgument, match=r"^fs: "):
            load_config(file, {"PADDLEFLOW_FS_SERVER": wrong})
        with pytest.raises(InvalidArgument, match=r"^fs: "):
            Connection("localhost:1", services={"fs": wrong})


@pytest.mark.parametrize(
    ("environ", "address"),
    [
        ({"PADDLEFLOW_SERVER_HOST": "elsewhere.org"}, "elsewhere.org:1234"),
        ({"PADDLEFLOW_SERVER_PORT": "8999"}, "example.org:8998"),
        ({"PADDLEFLOW_SERVER_HOST": "example.org"}, "other.org:5"),
    ],
)
def test_services_of_the_file_do_not_count_for_another_server(
    tmp_path: Path, environ: dict[str, str], address: str
) -> None:
    file = tmp_path / "some.ini"
    file.write_text(FILE)
    assert configured_connection(load_config(file, environ)).address_of("fs") == address


def test_each_service_is_called_at_its_own_address(fake: FakePaddleFlow) -> None:
    other = FakePaddleFlow()
    other.start()
    try:
        connection = Connection(fake.address, user="root", password=PASSWORD, services={"fs": other.address})
        with PaddleFlow(connection) as client:
            client.users.page()
            # One login serves for all: its token is good for each service of the installation.
            other.world.good_tokens = fake.world.good_tokens
            client.filesystems.create(Filesystem("data", "local:///data"))
            other.world.audit = [AuditRecord(id=1, subject="filesystem/fs-root-data")]
            assert [record.subject for record in client.audit.list(service="fs")] == ["filesystem/fs-root-data"]
            assert list(client.audit.list()) == list(client.audit.list(service="queue")) == []
            with pytest.raises(InvalidArgument, match="'nonsense' is not one of queue, fs"):
                client.audit.page(service="nonsense")
        assert (fake.world.logins, other.world.logins) == (1, 0)
        assert list(other.world.filesystems) == ["fs-root-data"]
        assert fake.world.filesystems == {}
    finally:
        other.remove()


def test_a_service_that_is_not_there_is_named_with_its_address(fake: FakePaddleFlow) -> None:
    connection = Connection(
        fake.address, user="root", password=PASSWORD, services={"fs": "unix:/nowhere/fs.sock"}, timeout=1.0
    )
    with PaddleFlow(connection) as client, pytest.raises(Problem, match=r"unix:/nowhere/fs\.sock"):
        client.filesystems.page()


def test_a_server_without_the_service_says_so(fake: FakePaddleFlow) -> None:
    server = grpc.server(ThreadPoolExecutor(1))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        connection = Connection(fake.address, user="root", password=PASSWORD, services={"fs": f"127.0.0.1:{port}"})
        with PaddleFlow(connection) as client, pytest.raises(Unavailable, match=f"127.0.0.1:{port} does not serve fs"):
            client.filesystems.page()
    finally:
        server.stop(None).wait()
