"""Real frameworks, started by the job service, find one another: `make test-frameworks`."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from fixtures_jobs import JobSite
from paddleflow.fs.v1 import fs_pb2
from paddleflow.job.v1 import job_pb2, spec_pb2
from paddleflow.jobs.documents import read_spec
from support.job_harm import found
from support.job_logs import chunks
from support.repository import ROOT

PATIENCE = 420.0
"""Seconds for one job. Some frameworks take a minute to be imported on a small machine."""
HERE = ROOT / "tests/frameworks"
CASES = yaml.safe_load((HERE / "cases.yaml").read_text())
COMMON = {"PATH": "/framework/bin:/usr/local/bin:/usr/bin:/bin", "PF_MOUNT_PATH": "NONE"}

pytestmark = [pytest.mark.frameworks, pytest.mark.timeout(PATIENCE + 60)]


async def filesystem(site: JobSite, word: str, folder: Path) -> str:
    draft = fs_pb2.Filesystem(name=f"{word}-{site.tag}", url=f"local://{folder}")
    await site.filesystems(fs_pb2.CreateFilesystemRequest(filesystem=draft))
    return draft.name


async def spec_of(site: JobSite, case: Mapping[str, Any]) -> spec_pb2.JobSpec:
    job = case["job"]
    folders = {"/framework": ROOT / ".cache/frameworks" / case["package"], "/programs": HERE / "programs"}
    mounts = [
        {"name": await filesystem(site, path.strip("/"), folder), "mountPath": path, "readOnly": True}
        for path, folder in folders.items()
    ]
    members = [{"replicas": 1, **member} for member in job["members"]]
    flavour = {"cpu": "1", "mem": "1Gi"}
    told = {**job, "members": members, "flavour": flavour, "env": COMMON | job.get("env", {}), "extraFS": mounts}
    return read_spec(json.dumps(told))


async def over(site: JobSite, id_: str) -> job_pb2.Job:
    deadline = time.monotonic() + PATIENCE
    while not (job := await found(site, id_)).HasField("finish_time"):
        assert time.monotonic() < deadline, (job, await log(site, id_))
        await asyncio.sleep(0.1)
    return job


async def log(site: JobSite, id_: str) -> dict[str, str]:
    """What each replica wrote, the end of it."""
    texts: dict[str, str] = {}
    for chunk in await chunks(site.root, id_, tail_bytes=20_000):
        replica = chunk.position.replica
        name = f"{spec_pb2.Role.Name(replica.role).removeprefix('ROLE_').lower()}/{replica.index}"
        texts[name] = texts.get(name, "") + chunk.data.decode(errors="replace")
    return texts


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
async def test_replicas_find_one_another(job_site: JobSite, case: Mapping[str, Any]) -> None:
    spec = await spec_of(job_site, case)
    made = (await job_site.root(job_pb2.CreateJobRequest(job=job_pb2.Job(spec=spec)))).job
    try:
        job = await over(job_site, made.id)
        texts = await log(job_site, made.id)
        assert (job.state, job.message) == (job_pb2.JOB_STATE_SUCCEEDED, ""), texts
        assert {name: line for name, line in case["says"].items() if line not in texts[name]} == {}, texts
    finally:
        # What did not end in time must not take the processor from the next.
        await job_site.root(job_pb2.StopJobRequest(id=made.id, now=True))


def test_every_package_is_tried() -> None:
    assert {path.stem for path in (HERE / "packages").iterdir()} == {case["package"] for case in CASES}
