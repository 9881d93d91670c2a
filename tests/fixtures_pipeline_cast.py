"""An owner with a run, a pipeline, a schedule and results, and others who would like to have them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from fixtures_pipelines import PipelineSite
from paddleflow.auth.v1 import auth_pb2
from paddleflow.fs.v1 import fs_pb2
from paddleflow.pipeline.v1 import artifact_pb2, pipeline_pb2, run_pb2, schedule_pb2
from support.callers import Caller
from support.queue_site import PASSWORD
from support.waiting import eventually

ASKS = """
name: asks
docker_env: i
entry_points: {ask: {approval: {users: [%s]}, command: ""}, eat: {command: x, deps: ask}}
"""
SMALL = "name: small\ndocker_env: i\nentry_points: {a: {command: x}}\n"
KEPT = "cache: {enable: true}\nentry_points: {a: {command: 'echo x > {{o}}', artifacts: {output: [o]}}}\n"


@dataclass(frozen=True)
class Cast:
    """What an owner has, and who is to do with it."""

    site: PipelineSite
    owner: Caller
    stranger: Caller
    asked: Caller
    """May approve."""
    names: Mapping[str, str]
    disk: str
    run: str
    """It is over."""
    waits: str
    """It waits for the approval of the one who is asked."""
    pipeline: str
    schedule: str
    result: str
    event: artifact_pb2.ArtifactEvent

    @property
    def source(self) -> pipeline_pb2.Source:
        return pipeline_pb2.Source(document=SMALL)


@pytest.fixture
async def players(pipeline_site: PipelineSite, tmp_path: Path) -> Cast:
    site = pipeline_site
    names = {word: await site.add_user(word[:4]) for word in ("owner", "stranger", "asked")}
    log_in = site.process.jobs.queue.log_in
    callers = {word: replace(site.root, secret=log_in(name, PASSWORD)) for word, name in names.items()}
    owner, disk = callers["owner"], await site.filesystem(tmp_path / "disk")
    await share(site, names["owner"], disk)
    grant = auth_pb2.Grant(user=names["owner"], kind=auth_pb2.RESOURCE_KIND_QUEUE, resource="default-queue")
    await site.queues(auth_pb2.CreateGrantRequest(grant=grant))
    source = pipeline_pb2.Source(document=f"name: kept\ndocker_env: i\n{KEPT}", filesystem=f"root/{disk}")
    run = (await owner(run_pb2.CreateRunRequest(source=source))).run
    over = await site.over(run.id)
    assert over.state == run_pb2.RUN_STATE_SUCCEEDED, over
    waits = (await owner(run_pb2.CreateRunRequest(source=pipeline_pb2.Source(document=ASKS % names["asked"])))).run
    await eventually(lambda: waits_for_approval(site, waits.id))
    kept = (await owner(pipeline_pb2.CreatePipelineRequest(source=pipeline_pb2.Source(document=SMALL)))).pipeline
    draft = schedule_pb2.Schedule(name="nightly", pipeline_id=kept.id, crontab="0 3 1 1 *")
    schedule = (await owner(schedule_pb2.CreateScheduleRequest(schedule=draft))).schedule
    (result,) = (await owner(artifact_pb2.ListCachedResultsRequest())).results
    (event,) = (await owner(artifact_pb2.ListArtifactEventsRequest())).events
    return Cast(site, **callers, names=names, disk=disk, run=run.id, waits=waits.id, pipeline=kept.id,
                schedule=schedule.id, result=result.id, event=event)  # fmt: skip


async def share(site: PipelineSite, user: str, disk: str) -> None:
    key = fs_pb2.FilesystemKey(owner="root", name=disk)
    access = fs_pb2.FILESYSTEM_ACCESS_READ_WRITE
    await site.filesystems(fs_pb2.GrantFilesystemRequest(filesystem=key, user=user, access=access))


async def waits_for_approval(site: PipelineSite, id_: str) -> bool:
    node = (await site.nodes(id_)).get("ask")
    return node is not None and node.waiting == run_pb2.WAITING_APPROVAL
