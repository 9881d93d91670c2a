"""A Hadoop file system, mounted."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Iterator

import pytest

from pf_backends.port import Backend
from support.backend_places import content, in_cluster
from support.fuse_mounts import missing
from support.hdfs_server import SUPERUSER, HdfsServer
from support.mounts import Mount, new_mount
from support.stacks import wait_until

pytestmark = pytest.mark.timeout(300)  # the first test fetches Hadoop


@pytest.fixture
def place(hdfs_server: HdfsServer) -> Iterator[Backend]:
    """The folder that is mounted."""
    with in_cluster(hdfs_server) as backend:
        yield backend


@pytest.fixture
def mount(hdfs_server: HdfsServer, place: Backend) -> Iterator[Mount]:
    if missing():
        pytest.skip(missing())
    ((host, port),) = hdfs_server.settings.names
    with new_mount() as made:
        folder = place.address.rpartition("/")[2]
        made.begin(f"hdfs://{host}:{port}/{folder}", {"user": SUPERUSER})
        yield made


def test_programs_use_it_as_any_folder(mount: Mount, place: Backend) -> None:
    top = mount.place
    (top / "f").mkdir(mode=0o750)
    (top / "f/a").write_bytes(b"one")
    assert content(place, "f/a") == b"one"
    with (top / "f/a").open("ab") as file:
        file.write(b"two")
    assert content(place, "f/a") == b"onetwo"
    (top / "f/a").replace(top / "b")
    (top / "f").rename(top / "g")
    (top / "b").chmod(0o640)
    assert [(entry.path, entry.mode) for entry in place.list("").entries] == [("b", 0o640), ("g", 0o750)]
    assert sorted(each.name for each in top.iterdir()) == ["b", "g"]
    assert subprocess.run(["ls", "-lR", top], capture_output=True).returncode == 0
    body = os.urandom(1 << 20) * 70
    (top / "g/large").write_bytes(body)
    assert content(place, "g/large") == body == (top / "g/large").read_bytes()
    (top / "g/large").unlink()
    (top / "g").rmdir()
    assert [each.name for each in top.iterdir()] == ["b"]


def test_what_others_change_is_seen_and_what_cannot_be_is_refused(mount: Mount, place: Backend) -> None:
    place.put("a", b"before")
    assert (mount.place / "a").read_bytes() == b"before"
    place.put("a", b"after it")
    wait_until(lambda: (mount.place / "a").read_bytes() == b"after it")
    with pytest.raises(PermissionError):
        (mount.place / "link").symlink_to("a")
    with pytest.raises(OSError, match="Invalid argument") as refused:
        (mount.place / "a:b").write_bytes(b"x")
    assert refused.value.errno == errno.EINVAL
