"""Jobs that do harm, or try to, through all services: they end as they should, and nothing of them stays."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from google.protobuf.duration_pb2 import Duration

from fixtures_jobs import JobSite, opened_jobs, own_jobs
from paddleflow.fs.v1 import fs_pb2
from paddleflow.job.v1 import job_pb2, log_pb2, spec_pb2
from pf_job.runtimes.local.settings import RunnerSettings
from support.job_harm import ended, found, marked, neighbour, unharmed
from support.job_logs import create, file_of, over, read, running, wrote
from support.job_process import JobProcess
from support.runtime_site import LocalSite, obstacle
from support.servers import PostgresServer, ValkeyServer
from support.waiting import until

MOST_PROCESSES = 64
LOG_LIMIT = 2**20
FLOOD = 2**29
SUCCEEDED, FAILED, STOPPED = (
    job_pb2.JOB_STATE_SUCCEEDED,
    job_pb2.JOB_STATE_FAILED,
    job_pb2.JOB_STATE_TERMINATED,
)
BOMB = "bomb() { sleep 47211 & [ $1 = 0 ] || { bomb $(($1 - 1)) & bomb $(($1 - 1)) & }; }; bomb 7; wait; exit 5"
"""Some five hundred processes, if it is let."""


@pytest.fixture(scope="module")
def process(postgres_server: PostgresServer, valkey_server: ValkeyServer) -> Iterator[JobProcess]:
    """A service whose jobs may have few processes and short logs."""
    limits = {"PF_JOB_LOCAL_PROCESSES": str(MOST_PROCESSES), "PF_JOB_LOCAL_LOG_MEGABYTES": "1"}
    # What a process shows of itself is what it was begun with.
    with own_jobs(postgres_server, valkey_server, limits, program=True) as made:
        yield made


@pytest.fixture
async def site(process: JobProcess) -> AsyncIterator[JobSite]:
    async with opened_jobs(process) as opened:
        yield opened


async def contained(site: JobSite) -> bool:
    """Whether replicas have namespaces of their own here."""
    return not await obstacle(LocalSite(site.process.folder / "replicas", RunnerSettings()))


async def the_task(site: JobSite, id_: str) -> job_pb2.Task:
    task: job_pb2.Task
    (task,) = (await site.root(job_pb2.ListTasksRequest(id=id_))).tasks
    return task


async def stopped(site: JobSite, id_: str) -> job_pb2.Job:
    await site.root(job_pb2.StopJobRequest(id=id_))
    return await found(site, await over(site, id_))


async def shared_folder(site: JobSite, folder: Path) -> str:
    """The name of a new filesystem whose files lie in a folder, which every job may write to."""
    folder.chmod(0o777)
    draft = fs_pb2.Filesystem(name=f"data-{site.tag}", url=f"local://{folder}")
    made: fs_pb2.Filesystem = (await site.filesystems(fs_pb2.CreateFilesystemRequest(filesystem=draft))).filesystem
    return made.name


async def test_a_fork_bomb_stays_within_its_limit_and_is_told_of(site: JobSite) -> None:
    async with unharmed(site):
        bomb = await create(site, BOMB)
        await until(lambda: marked("47211") != [])
        await neighbour(site)
        # Nobody else than root can always hold others to a number of processes.
        assert os.geteuid() or len(marked("47211")) <= MOST_PROCESSES
        job = await stopped(site, bomb)
    assert (job.state, job.message) == (STOPPED, "stopped by root")
    assert marked("47211") == []


async def test_who_is_refused_more_processes_is_told_why_it_failed(site: JobSite) -> None:
    async with unharmed(site):
        job = await ended(site, f"for n in $(seq {2 * MOST_PROCESSES}); do sleep 47212 & done; exit 3")
    assert job.state == FAILED
    if not os.geteuid():
        assert f"wanted more processes than it may have, which is {MOST_PROCESSES}" in job.message


async def test_a_flood_of_output_keeps_its_end_and_little_of_the_disk(site: JobSite) -> None:
    async with unharmed(site):
        flood = await create(site, f"head -c {FLOOD} /dev/zero | tr '\\0' x; sleep 2; echo; echo last words")
        await neighbour(site)
        job = await found(site, await over(site, flood))
        assert (job.state, job.message) == (SUCCEEDED, "")
        assert await read(site.root, flood, tail_lines=1) == b"last words\n"
        (info,) = (await site.root(log_pb2.GetLogInfoRequest(choice=log_pb2.LogChoice(id=flood)))).logs
        assert info.size > FLOOD
        assert info.size - info.kept_from <= 2 * LOG_LIMIT
        assert file_of(site, flood).stat().st_blocks * 512 <= 2 * LOG_LIMIT


async def test_who_ignores_the_word_to_end_is_killed_when_its_time_is_over(site: JobSite) -> None:
    async with unharmed(site):
        limits = spec_pb2.TimeLimits(grace=Duration(nanos=300_000_000))
        deaf = await create(site, "trap '' TERM INT HUP; echo deaf; while :; do sleep 47213; done", limits=limits)
        await running(site, deaf)
        await until(lambda: marked("47213") != [])
        job = await stopped(site, deaf)
        assert (job.state, job.message) == (STOPPED, "stopped by root")
        task = await the_task(site, deaf)
        assert (task.signal, "its time was over" in task.message) == (9, True)
        assert marked("47213") == []


async def test_who_forks_twice_to_hide_ends_with_the_job(site: JobSite) -> None:
    async with unharmed(site):
        job = await ended(site, "(trap '' TERM HUP; (setsid sleep 47214 &) &); (setsid -f sleep 47214); sleep 0.2")
        assert job.state == SUCCEEDED
        assert marked("47214") == []


async def test_who_closes_what_it_writes_to_ends_as_it_says(site: JobSite) -> None:
    async with unharmed(site):
        silent = await wrote(site, "echo before; exec >&- 2>&- <&-; sleep 0.1; exit 7")
        job = await found(site, silent)
        assert (job.state, job.message) == (FAILED, "it ended with exit status 7")
        assert await read(site.root, silent) == b"before\n"


async def test_who_empties_its_own_log_loses_no_more_than_that(site: JobSite) -> None:
    async with unharmed(site):
        vain = await wrote(site, "echo before; : > /dev/stdout; echo after")
        assert (await found(site, vain)).state == SUCCEEDED
        assert await read(site.root, vain, tail_lines=1) == b"after\n"


async def test_who_removes_the_folder_it_works_in_ends_as_it_says(site: JobSite, tmp_path: Path) -> None:
    if await contained(site):
        name = await shared_folder(site, tmp_path)
        own = tmp_path / "own"
        own.mkdir(mode=0o777)
        own.chmod(0o777)
        async with unharmed(site):
            # What is mounted can be emptied, and not removed; what lies in it can.
            fs = spec_pb2.FilesystemMount(name=name, sub_path="own")
            job = await ended(site, 'mkdir a; cd a; rmdir ../a; rmdir "$PF_WORK_DIR"; sh -c "exit 4"', fs=fs)
            assert (job.state, job.message) == (FAILED, "it ended with exit status 4")
            assert own.is_dir()


async def test_who_kills_all_it_can_kills_itself_alone(site: JobSite) -> None:
    if await contained(site):
        async with unharmed(site):
            runs = await create(site, "sleep 47215")
            await running(site, runs)
            job = await ended(site, "sleep 47217 & trap '' TERM; kill -9 1; kill -TERM -1; kill -9 -1; exit 3")
            assert (job.state, job.message) == (FAILED, "it ended with exit status 3")
            assert len(marked("47215")) == 1
            assert (await stopped(site, runs)).state == STOPPED


async def test_nobody_reads_the_services_or_other_tenants(site: JobSite) -> None:
    if await contained(site):
        async with unharmed(site):
            secret = await create(site, "echo hush4711; exec sleep 47216")
            await until(lambda: file_of(site, secret).exists() and file_of(site, secret).stat().st_size > 0)
            paths = [*private_files(site), file_of(site, secret), file_of(site, secret).with_name("record")]
            assert [path for path in paths if not path.exists()] == []
            tries = "; ".join(f"head -c 1 {path} > /dev/null 2>&1 && echo {path}" for path in paths)
            assert await read(site.root, await wrote(site, f"{tries}; true")) == b""
            snooped = await wrote(site, "cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2> /dev/null; true")
            seen = await read(site.root, snooped)
            assert [word for word in (b"47216", b"postgresql:", b"SIGNING_KEY") if word in seen] == []
            await stopped(site, secret)


def private_files(site: JobSite) -> list[Path]:
    """Sockets, keys and logs of the services, and what the runner keeps."""
    jobs = site.process
    services = (jobs, jobs.queue, jobs.fs)
    sockets = [Path(service.address.removeprefix("unix:")) for service in services]
    kept = [jobs.folder / "replicas" / name for name in ("socket", "tenants", "lock")]
    return [jobs.queue.signing_key, *sockets, *(service.log_file for service in services), *kept]
