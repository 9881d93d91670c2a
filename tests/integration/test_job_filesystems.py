"""Jobs whose files lie in an object store."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from fixtures_jobs import JobSite, opened_jobs, own_jobs
from paddleflow.fs.v1 import fs_pb2, mount_pb2
from paddleflow.job.v1 import job_pb2, spec_pb2
from paddleflow.problems import FilesystemMounted
from pf_backends.opening import Surroundings, open_backend
from pf_backends.port import Backend
from pf_backends.reach import ANYWHERE
from pf_backends.s3.settings import S3Settings
from support import fuse_mounts
from support.job_process import JobProcess
from support.s3_servers import KEYS, S3Server, make_bucket, remove_bucket
from support.servers import PostgresServer, ValkeyServer
from support.waiting import eventually, wait_until

pytestmark = pytest.mark.skipif(bool(fuse_mounts.missing()), reason=fuse_mounts.missing())
PATIENCE = 60.0
OVER = frozenset({job_pb2.JOB_STATE_SUCCEEDED, job_pb2.JOB_STATE_FAILED, job_pb2.JOB_STATE_TERMINATED})
LIMIT = 1 << 20


@pytest.fixture(scope="module")
def process(postgres_server: PostgresServer, valkey_server: ValkeyServer) -> Iterator[JobProcess]:
    with own_jobs(postgres_server, valkey_server, real=True) as made:
        yield made


@pytest.fixture
async def site(process: JobProcess) -> AsyncIterator[JobSite]:
    async with opened_jobs(process) as opened:
        yield opened


def properties_of(settings: S3Settings) -> dict[str, str]:
    endpoint = f"http://127.0.0.1:{settings.endpoint.port}"
    return {"endpoint": endpoint, "accessKey": KEYS.access, "secretKey": KEYS.secret}


async def filesystem(site: JobSite, server: S3Server, bucket: str = "tests") -> str:
    name = f"far{site.tag}"
    draft = fs_pb2.Filesystem(name=name, url=f"s3://{bucket}/{site.tag}", properties=server.properties)
    await site.filesystems(fs_pb2.CreateFilesystemRequest(filesystem=draft))
    return name


@pytest.fixture
def bucket(site: JobSite, seaweed_server: S3Server) -> Iterator[Backend]:
    backend = open_backend(f"s3://tests/{site.tag}", seaweed_server.properties, Surroundings(reach=ANYWHERE))
    yield backend
    backend.close()


async def create(site: JobSite, spec: spec_pb2.JobSpec) -> str:
    return str((await site.root(job_pb2.CreateJobRequest(job=job_pb2.Job(spec=spec)))).job.id)


async def until(site: JobSite, id_: str, *states: job_pb2.JobState.ValueType) -> job_pb2.Job:
    deadline = time.monotonic() + PATIENCE
    while True:
        job: job_pb2.Job = (await site.root(job_pb2.GetJobRequest(id=id_))).job
        if job.state in states:
            return job
        assert time.monotonic() < deadline, f"{job}\n{site.process.log}"
        await asyncio.sleep(0.02)


def is_there(bucket: S3Settings) -> bool:
    """A store takes a while to forget one."""
    keys = properties_of(bucket)
    backend = open_backend(f"s3://{bucket.bucket}", keys, Surroundings(reach=ANYWHERE))
    try:
        backend.check()
    except FileNotFoundError:
        return False
    finally:
        backend.close()
    return True


def small() -> spec_pb2.Flavour:
    flavour = spec_pb2.Flavour()
    flavour.amounts.amounts.update({"cpu": 100, "memory": 2**20})
    return flavour


async def mounts(site: JobSite, name: str) -> Sequence[mount_pb2.FilesystemMount]:
    """Those that the filesystem service was told of."""
    request = mount_pb2.ListMountsRequest(filesystem=fs_pb2.FilesystemKey(name=name))
    return list((await site.filesystems(request)).mounts)


async def none_is_told(site: JobSite, name: str) -> bool:
    return not await mounts(site, name)


def places(site: JobSite) -> Sequence[Path]:
    """Where something is mounted, or was and is not cleared away."""
    return list((site.process.folder / "replicas" / "mounts").glob("*"))


async def test_a_job_reads_and_writes_a_bucket(site: JobSite, seaweed_server: S3Server, bucket: Backend) -> None:
    bucket.put("in/words", b"one two three")
    mount = spec_pb2.FilesystemMount(name=await filesystem(site, seaweed_server), mount_path="/data")
    inner = spec_pb2.FilesystemMount(name=mount.name, mount_path="/in", sub_path="in", read_only=True)
    command = "wc -w < /in/words > /data/count && ! touch /in/more 2>/dev/null && test $PWD = /data"
    id_ = await create(site, spec_pb2.JobSpec(command=command, fs=mount, extra_fs=[inner], flavour=small()))
    over = await until(site, id_, *OVER)
    assert (over.state, over.message) == (job_pb2.JOB_STATE_SUCCEEDED, "")
    assert bucket.fetch("count", limit=LIMIT)[1] == b"3\n"


async def test_replicas_of_a_job_share_a_mount(site: JobSite, seaweed_server: S3Server, bucket: Backend) -> None:
    mount = spec_pb2.FilesystemMount(name=await filesystem(site, seaweed_server), mount_path="/data")
    script = "touch /data/$PADDLE_TRAINER_ID; until [ -e /data/0 -a -e /data/1 ]; do sleep 0.1; done"
    member = spec_pb2.Member(role=spec_pb2.ROLE_WORKER, replicas=2, command=script, fs=mount, flavour=small())
    spec = spec_pb2.JobSpec(members=[member], framework=spec_pb2.FRAMEWORK_PADDLE)
    id_ = await create(site, spec)
    assert (await until(site, id_, *OVER)).state == job_pb2.JOB_STATE_SUCCEEDED
    assert {entry.path for entry in bucket.list("").entries} == {"0", "1"}


async def test_a_bucket_that_is_gone_is_the_jobs_message(site: JobSite, seaweed_server: S3Server) -> None:
    name = f"gone{site.tag}"
    gone = replace(seaweed_server.settings, bucket=name)
    make_bucket(gone)
    mount = spec_pb2.FilesystemMount(name=await filesystem(site, seaweed_server, name), mount_path="/data")
    remove_bucket(gone)
    wait_until(lambda: not is_there(gone))
    over = await until(site, await create(site, spec_pb2.JobSpec(command="true", fs=mount, flavour=small())), *OVER)
    assert over.state == job_pb2.JOB_STATE_FAILED
    assert "cannot be mounted" in over.message
    assert name in over.message
    assert KEYS.secret not in over.message


async def test_a_filesystem_is_not_deleted_while_a_job_has_it(site: JobSite, tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    name = f"near{site.tag}"
    draft = fs_pb2.Filesystem(name=name, url=f"local://{tmp_path}")
    key = (await site.filesystems(fs_pb2.CreateFilesystemRequest(filesystem=draft))).filesystem.id
    mount = spec_pb2.FilesystemMount(name=name, mount_path="/data")
    id_ = await create(site, spec_pb2.JobSpec(command="sleep 1000", fs=mount, flavour=small()))
    await until(site, id_, job_pb2.JOB_STATE_RUNNING)
    delete = fs_pb2.DeleteFilesystemRequest(filesystem=fs_pb2.FilesystemKey(id=key))
    with pytest.raises(FilesystemMounted, match=rf"is used by job {id_} \(root\)"):
        await site.filesystems(delete)
    await site.root(job_pb2.StopJobRequest(id=id_, now=True))
    await until(site, id_, *OVER)
    await site.filesystems(delete)


async def test_a_job_goes_on_while_the_service_is_killed(
    site: JobSite, process: JobProcess, seaweed_server: S3Server, bucket: Backend
) -> None:
    mount = spec_pb2.FilesystemMount(name=await filesystem(site, seaweed_server), mount_path="/data")
    script = "until [ -e /data/go ]; do sleep 0.1; done; cat /data/go > /data/seen"
    id_ = await create(site, spec_pb2.JobSpec(command=script, fs=mount, flavour=small()))
    await until(site, id_, job_pb2.JOB_STATE_RUNNING)
    told = await eventually(lambda: mounts(site, mount.name))
    assert [Path(each.path).parent in places(site) for each in told] == [True]
    process.kill()
    process.start()
    bucket.put("go", b"now")
    assert (await until(site, id_, *OVER)).state == job_pb2.JOB_STATE_SUCCEEDED
    assert bucket.fetch("seen", limit=LIMIT)[1] == b"now"
    process.stop()
    assert not places(site)
    await eventually(lambda: none_is_told(site, mount.name))
    process.start()
