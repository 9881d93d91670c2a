"""Trainers that share out their data, in jobs that run: one is killed, one comes late, and the service dies."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from fixtures_jobs import JobSite, opened_jobs, own_jobs
from paddleflow.job.v1 import job_pb2, log_pb2, shard_pb2, spec_pb2
from paddleflow.problems import Unavailable
from support.job_process import JobProcess
from support.repository import ROOT
from support.servers import PostgresServer, ValkeyServer
from support.trainers import NOTES, TrainerPython, trainer_python, trainers

PAGE = ROOT / "docs" / "howto" / "shards.md"
PATIENCE = 60.0
SHARDS, SIZE, PASSES = 40, 5, 2
TRAIN = f"""
import os, pathlib, signal, time
import paddleflow

notes, rank = pathlib.Path("{NOTES}"), os.environ["PADDLE_TRAINER_ID"]
if rank == "2":
    while not (notes / "late").exists():
        time.sleep(0.01)
with open(notes / f"seen-{{rank}}-{{time.time_ns()}}", "a", buffering=1) as seen:
    data = paddleflow.shards("numbers", total={SHARDS * SIZE - 2}, size={SIZE}, passes={PASSES}, seed=3, lease=20)
    for shard in data:
        for record in shard:
            print(shard.pass_number, record, file=seen)
        time.sleep(0.02)
        if rank == "1" and not (notes / "killed").exists():
            (notes / "killed").touch()
            os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(scope="module")
def python() -> Iterator[TrainerPython]:
    with trainer_python() as found:
        yield found


@pytest.fixture(scope="module")
def process(postgres_server: PostgresServer, valkey_server: ValkeyServer) -> Iterator[JobProcess]:
    with own_jobs(postgres_server, valkey_server) as made:
        yield made


@pytest.fixture
async def site(process: JobProcess) -> AsyncIterator[JobSite]:
    async with opened_jobs(process) as opened:
        yield opened


async def dataset(site: JobSite, job: str, name: str = "numbers") -> shard_pb2.Dataset:
    found: shard_pb2.Dataset = (await site.root(shard_pb2.GetDatasetRequest(job_id=job, name=name))).dataset
    return found


async def run(site: JobSite, spec: spec_pb2.JobSpec) -> str:
    made = await site.root(job_pb2.CreateJobRequest(job=job_pb2.Job(spec=spec)))
    return str(made.job.id)


async def over(site: JobSite, job: str) -> job_pb2.Job:
    """The job, once all its replicas have ended."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            found: job_pb2.Job = (await site.root(job_pb2.GetJobRequest(id=job))).job
        except Unavailable:
            continue
        if found.HasField("finish_time"):
            return found
        assert time.monotonic() < deadline, f"{found}\n{site.process.log}"
        await asyncio.sleep(0.05)


def small() -> spec_pb2.Flavour:
    flavour = spec_pb2.Flavour()
    flavour.amounts.amounts.update({"cpu": 100, "memory": 2**20})
    return flavour


def workers(count: int) -> list[spec_pb2.Member]:
    env = {"PF_JOB_RESTART_POLICY": "OnFailure"}
    return [spec_pb2.Member(role=spec_pb2.ROLE_WORKER, replicas=count, env=env, flavour=small())]


def seen(notes: Path) -> list[tuple[int, int]]:
    """Each pass and record that a trainer has had, as often as it was had."""
    lines = [line.split() for file in notes.glob("seen-*") for line in file.read_text().splitlines()]
    return [(int(pass_), int(record)) for pass_, record in lines]


async def read(notes: Path, records: int) -> None:
    """Returns once trainers have had so many records."""
    deadline = time.monotonic() + PATIENCE
    while len(seen(notes)) < records:
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)


async def happenings(site: JobSite, job: str) -> list[str]:
    found = (await site.root(job_pb2.ListHappeningsRequest(id=job, page_size=100))).happenings
    return [each.message for each in found if each.what == "pass-complete"]


@pytest.mark.timeout(180)
async def test_the_page_tells_the_truth(site: JobSite, python: TrainerPython, tmp_path: Path) -> None:
    (script, *_) = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    crew = {"framework": spec_pb2.FRAMEWORK_PADDLE, "members": workers(3)}
    job = await run(
        site, await trainers(site.filesystems, python, tmp_path, site.tag, script, env=python.environment, **crew)
    )
    assert (await over(site, job)).state == job_pb2.JOB_STATE_SUCCEEDED
    request = log_pb2.ReadLogRequest(choice=log_pb2.LogChoice(id=job))
    printed = b"".join([each.data async for each in site.root.watch(request)]).decode().splitlines()
    assert sorted(printed) == sorted(f"pass {pass_}: learn from record {n}" for pass_ in (1, 2) for n in range(1000))


@pytest.mark.timeout(180)
async def test_nothing_is_lost_when_trainers_and_the_service_are_killed(
    site: JobSite, python: TrainerPython, tmp_path: Path
) -> None:
    notes = tmp_path
    spec = await trainers(
        site.filesystems,
        python,
        notes,
        site.tag,
        TRAIN,
        framework=spec_pb2.FRAMEWORK_PADDLE,
        members=workers(3),
        env=python.environment,
    )
    job = await run(site, spec)
    for records in (SHARDS * SIZE // 2, SHARDS * SIZE * 3 // 2):
        await read(notes, records)
        site.process.kill()
        (notes / "late").touch()
        site.process.start()
    found = await over(site, job)
    assert (found.state, found.message) == (job_pb2.JOB_STATE_SUCCEEDED, ""), found
    every = {(pass_, record) for pass_ in (1, 2) for record in range(SHARDS * SIZE - 2)}
    assert set(seen(notes)) == every
    assert (notes / "killed").exists()
    assert len({file.name.split("-")[1] for file in notes.glob("seen-*") if file.read_text()}) == 3, "all three trained"
    assert len(list(notes.glob("seen-1-*"))) == 2, "the one that was killed came again"
    left = await dataset(site, job)
    assert (left.over, left.failed_in_all, left.pass_number) == (True, 0, PASSES + 1)
    assert await happenings(site, job) == [
        f"pass {each} of 2 over numbers is complete: {SHARDS} shards done" for each in (1, 2)
    ]
    # A record is had twice only if its trainer was killed with it, or its lease ran out.
    assert len(seen(notes)) <= len(every) + 2 * SIZE
