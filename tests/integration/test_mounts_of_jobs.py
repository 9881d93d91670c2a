"""The mounts of jobs take over what becomes of a filesystem while they last: its quota, and its keys."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from subprocess import PIPE

import pytest

from paddleflow.mounting import limits
from paddleflow.problems import Unavailable
from pf_job.runtimes.local.remote.domain import About, Cache, Wanted
from pf_job.runtimes.local.remote.keeper import Keeper
from pf_job.runtimes.local.remote.renewing import COMMAND
from pf_job.runtimes.local.remote.reporting import Report
from pf_job.runtimes.port import Mount, Place, Remote, RemoteMount
from support import fuse_mounts
from support.fault_proxy import EXPIRED, FaultProxy, fault_proxy
from support.s3_servers import OTHER_KEYS, S3Server, place_in
from support.servers import short_folder
from support.waiting import eventually, until

pytestmark = pytest.mark.skipif(bool(fuse_mounts.missing()), reason=fuse_mounts.missing())
MIB = 1 << 20


class Service:
    """Says how much may lie there."""

    def __init__(self) -> None:
        self.allows = limits(MIB, 0)
        self.remote: Remote | None = None
        self.proxy: FaultProxy | None = None
        """Lets nobody through until somebody has asked."""
        self.hears = asyncio.Event()
        self.hears.set()
        self.mounts = set[str]()
        """What is mounted, as far as it has heard."""

    async def report(self, report: Report) -> Mapping[str, int | None]:
        await self.hears.wait()
        self.mounts.add(report.mount_id)
        return self.allows

    async def now(self, about: About) -> Remote:
        assert self.remote is not None
        return self.remote

    async def end(self, about: About, mount_id: str) -> None:
        self.mounts.discard(mount_id)


async def test_a_quota_that_becomes_another_one_is_told_to_the_mount(tmp_path: Path) -> None:
    (tmp_path / "place").mkdir()
    service = Service()
    place = Place(f"local://{tmp_path / 'place'}")
    remote = Remote(filesystem="fs-ada-data", etag="1", place=place, quota=service.allows)
    data = short_folder()
    keeper = Keeper(data, Cache([tmp_path / "pages"]), os.environ, "here", service)
    mounted = Path((await made(keeper, Wanted(remote, "ada", os.getuid()), RemoteMount(remote, "/data"))).source)
    await until(lambda: free(mounted) == MIB)
    with pytest.raises(OSError, match=os.strerror(errno.EDQUOT)):
        (mounted / "f").write_bytes(bytes(2 * MIB))
    service.allows = limits(3 * MIB, 0)
    await keeper.report()
    (mounted / "f").write_bytes(bytes(2 * MIB))
    assert free(mounted) == MIB
    await keeper.rest(30)
    keeper.close()
    shutil.rmtree(data)
    assert (tmp_path / "place" / "f").stat().st_size == 2 * MIB


async def test_what_is_told_late_does_not_come_after_the_end(tmp_path: Path) -> None:
    (tmp_path / "place").mkdir()
    service, data = Service(), short_folder()
    keeper = Keeper(data, Cache([tmp_path / "pages"]), os.environ, "here", service)
    for filesystem in ("fs-ada-data", "fs-ada-more"):
        remote = Remote(filesystem=filesystem, etag="1", place=Place(f"local://{tmp_path / 'place'}"))
        await made(keeper, Wanted(remote, "ada", os.getuid()), RemoteMount(remote, "/data"))
    await keeper.report()
    assert len(service.mounts) == 2
    service.hears.clear()
    telling = asyncio.create_task(keeper.report())
    resting = asyncio.create_task(keeper.rest(30))
    await until(lambda: not list((data / "mounts").glob("*")), 30)
    service.hears.set()
    await asyncio.gather(telling, resting)
    assert service.mounts == set()
    keeper.close()
    shutil.rmtree(data)


@pytest.mark.parametrize("below", ["", "l" * 120], ids=["near", "deep"])
async def test_keys_that_have_expired_are_replaced(seaweed_server: S3Server, tmp_path: Path, below: str) -> None:
    """Also where the path of a socket is longer than the kernel takes; and nobody else is told them."""
    service, short = Service(), short_folder()
    data = short / below
    with fault_proxy(seaweed_server.port) as proxy:
        url, properties = place_in(replace(seaweed_server, port=proxy.port), f"job-{tmp_path.name}")
        remote = Remote(filesystem="fs-ada-data", etag="1", place=Place(url, properties))
        other = {**properties, "accessKey": OTHER_KEYS.access, "secretKey": OTHER_KEYS.secret}
        service.proxy = proxy
        service.remote = replace(remote, place=Place(url, other))
        keeper = Keeper(data, Cache([tmp_path / "pages"]), os.environ, "here", service)
        mounted = Path((await made(keeper, Wanted(remote, "ada", os.getuid()), RemoteMount(remote, "/data"))).source)
        async with keeper.answering():
            proxy.next(EXPIRED)
            await asyncio.to_thread((mounted / "f").write_bytes, b"hello")
            assert await asyncio.to_thread((mounted / "f").read_bytes) == b"hello"
            told = {"socket": str(data / "renewals/socket"), "mount": mounted.parent.name}
            stranger = await asyncio.create_subprocess_exec(*COMMAND, stdin=PIPE, stdout=PIPE)
            answer, _ = await stranger.communicate(json.dumps(told).encode())
            assert json.loads(answer)["problem"] == "PermissionError"
        log = (mounted.parent / "state" / "log").read_text()
        assert proxy.always is None
        assert OTHER_KEYS.secret not in log
        await keeper.rest(30)
        keeper.close()
    shutil.rmtree(short)


async def made(keeper: Keeper, wanted: Wanted, mount: RemoteMount) -> Mount:
    async def tried() -> Mount | None:
        with suppress(Unavailable):
            return await keeper.mount(wanted, mount)
        return None

    return await eventually(tried, 60)


def free(place: Path) -> int:
    told = os.statvfs(place)
    return told.f_bavail * told.f_frsize
