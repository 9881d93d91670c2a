"""How much may lie in a filesystem: told to its mounts, which take over a new amount while they last."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from google.protobuf.field_mask_pb2 import FieldMask

from paddleflow.cli.fs_reporter import Reported, begin
from paddleflow.fs.v1 import fs_pb2, mount_pb2
from paddleflow.mounted import ask
from paddleflow.mounting import state_folder
from paddleflow.problems import InvalidArgument, PermissionDenied
from support import fuse_mounts
from support.command_line import CommandLine
from support.fs_site import FsSite, named
from support.stacks import wait_until

MIB = 1 << 20
REPORT = mount_pb2.FilesystemMount(mount_id="m", node="n", path="/mnt", etag="1")


def update(*paths: str, size: int = 0, files: int = 0) -> fs_pb2.UpdateFilesystemRequest:
    wanted = fs_pb2.Filesystem(name="data", quota=fs_pb2.FilesystemQuota(bytes=size, files=files))
    return fs_pb2.UpdateFilesystemRequest(filesystem=wanted, update_mask=FieldMask(paths=paths))


async def test_a_quota_is_told_to_those_who_mount_and_those_who_have_mounted(fs_site: FsSite) -> None:
    alice = await fs_site.add_user("alice")
    made = await fs_site.make_far(alice)
    assert not made.HasField("quota")
    changed = (await alice.call(update("quota", size=100, files=3))).filesystem
    assert changed.etag != made.etag
    grown = (await alice.call(update("quota.bytes", size=200, files=9))).filesystem
    assert grown.quota == fs_pb2.FilesystemQuota(bytes=200, files=3)
    described = await alice.call(fs_pb2.DescribeMountRequest(filesystem=named("data")))
    reported = await alice.call(mount_pb2.ReportMountRequest(filesystem=named("data"), mount=REPORT))
    found = await alice.call(fs_pb2.GetFilesystemRequest(filesystem=named("data")))
    assert described.mount.quota == reported.quota == found.filesystem.quota == grown.quota
    assert not (await alice.call(update("quota"))).filesystem.HasField("quota")
    assert not (await alice.call(mount_pb2.ReportMountRequest(filesystem=named("data"), mount=REPORT))).HasField(
        "quota"
    )


async def test_a_quota_that_cannot_be_is_refused(fs_site: FsSite) -> None:
    alice, bobby = await fs_site.add_user("alice"), await fs_site.add_user("bobby")
    await fs_site.make_far(alice)
    with pytest.raises(InvalidArgument, match=r"filesystem.quota.bytes: must be from 0"):
        await alice.call(update("quota", size=-1))
    with pytest.raises(InvalidArgument, match=r"'quota\.more' is not a field that can be changed"):
        await alice.call(update("quota.more"))
    await fs_site.share(alice, "data", bobby.name)
    wanted = update("quota", size=1)
    wanted.filesystem.owner = alice.name
    with pytest.raises(PermissionDenied):
        await bobby.call(wanted)


@pytest.mark.skipif(bool(fuse_mounts.missing()), reason=fuse_mounts.missing())
def test_a_mount_takes_over_another_quota_while_it_lasts(bucket_line: CommandLine, cache_home: Path) -> None:
    line, place, environ = bucket_line, cache_home / "at", {"XDG_CACHE_HOME": str(cache_home)}
    place.mkdir()
    line.output("fs update data --quota-size 2Mi")
    line.output(f"fs mount data {place}")
    (place / "f").write_bytes(bytes(MIB))
    wait_until(lambda: _free(place) == MIB)
    with pytest.raises(OSError, match=os.strerror(errno.EDQUOT)):
        (place / "g").write_bytes(bytes(2 * MIB))
    line.output("fs update data --quota-size 4Mi --quota-files 2")
    # The next report of the first one is due after half a minute.
    state = state_folder(place, environ)
    reported = Reported("data", "", "", "", str(place), str(state), read_only=False, config=str(line.config))
    begin(reported, os.environ)
    wait_until(lambda: ask(place, environ, "stats")["quota"]["place"] == {"bytes": 4 * MIB, "files": 2})
    (place / "g").write_bytes(bytes(2 * MIB))
    with pytest.raises(OSError, match=os.strerror(errno.EDQUOT)):
        (place / "h").touch()
    os.kill(ask(place, environ, "stats")["process"]["id"], 9)
    wait_until(lambda: _free(place) == MIB)
    line.output(f"fs umount {place}")


def _free(place: Path) -> int:
    told = os.statvfs(place)
    return told.f_bavail * told.f_frsize
