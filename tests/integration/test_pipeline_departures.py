"""Users who are deleted, and others who get their names: what they had of runs, pipelines and schedules."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from google.protobuf.message import Message

from fixtures_pipelines import PipelineSite
from paddleflow.auth.v1 import auth_pb2
from paddleflow.common.v1 import event_pb2, info_pb2
from paddleflow.fs.v1 import fs_pb2
from paddleflow.pipeline.v1 import artifact_pb2, pipeline_pb2, run_pb2, schedule_pb2
from paddleflow.problems import (
    CachedResultNotFound,
    NotFound,
    PipelineNotFound,
    RunNotFound,
    ScheduleNotFound,
    UserNotFound,
)
from support.callers import Caller, methods_of
from support.queue_site import PASSWORD
from support.waiting import eventually

AUDIT = methods_of([info_pb2.DESCRIPTOR.services_by_name["AuditService"]])
CAKE = """
name: cake
docker_env: img
cache: {enable: true}
entry_points:
  bake: {command: "echo flour > {{dough}}", artifacts: {output: [dough]}}
"""
WAITS = """
name: waits
docker_env: img
entry_points:
  wait: {approval: {message: "eat it?"}, command: ""}
  eat: {command: "sleep 100", deps: wait}
"""


@dataclass
class Corner:
    """A name for one user after the other, and a filesystem of root's that each may use."""

    site: PipelineSite
    name: str
    disk: str

    async def user(self) -> Caller:
        """A new user of the name."""
        user = auth_pb2.User(name=self.name)
        await self.site.queues(auth_pb2.CreateUserRequest(user=user, password=PASSWORD))
        grant = auth_pb2.Grant(user=self.name, kind=auth_pb2.RESOURCE_KIND_QUEUE, resource="default-queue")
        await self.site.queues(auth_pb2.CreateGrantRequest(grant=grant))
        key = fs_pb2.FilesystemKey(owner="root", name=self.disk)
        access = fs_pb2.FILESYSTEM_ACCESS_READ_WRITE
        request = fs_pb2.GrantFilesystemRequest(filesystem=key, user=self.name, access=access)
        await self.site.filesystems(request)
        return replace(self.site.root, secret=self.site.process.jobs.queue.log_in(self.name, PASSWORD))

    async def leaves(self) -> None:
        await self.site.queues(auth_pb2.DeleteUserRequest(name=self.name))

    def source(self, document: str) -> pipeline_pb2.Source:
        return pipeline_pb2.Source(document=document, filesystem=f"root/{self.disk}")


@dataclass(frozen=True)
class Had:
    """What a user had."""

    baked: run_pb2.Run
    waits: run_pb2.Run
    pipeline: str
    schedule: str
    result: str
    dough: artifact_pb2.ArtifactEvent


async def filled(here: Corner, caller: Caller) -> Had:
    baked = (await caller(run_pb2.CreateRunRequest(source=here.source(CAKE)))).run
    over = await here.site.over(baked.id)
    assert over.state == run_pb2.RUN_STATE_SUCCEEDED, over
    waits = (await caller(run_pb2.CreateRunRequest(source=here.source(WAITS)))).run
    await eventually(lambda: is_asked(here.site, waits.id))
    kept = await caller(pipeline_pb2.CreatePipelineRequest(source=here.source(WAITS)))
    draft = schedule_pb2.Schedule(name="nightly", pipeline_id=kept.pipeline.id, crontab="0 3 1 1 *")
    schedule = (await caller(schedule_pb2.CreateScheduleRequest(schedule=draft))).schedule
    (result,) = (await caller(artifact_pb2.ListCachedResultsRequest())).results
    (dough,) = (await caller(artifact_pb2.ListArtifactEventsRequest())).events
    return Had(baked, waits, kept.pipeline.id, schedule.id, result.id, dough)


async def is_asked(site: PipelineSite, id_: str) -> bool:
    nodes = await site.nodes(id_)
    return "wait" in nodes and nodes["wait"].waiting == run_pb2.WAITING_APPROVAL


def of_runs(*ids: str) -> list[Message]:
    return [
        make
        for id_ in ids
        for make in (
            run_pb2.GetRunRequest(id=id_),
            run_pb2.StopRunRequest(id=id_),
            run_pb2.RetryRunRequest(id=id_),
            run_pb2.DeleteRunRequest(id=id_),
            run_pb2.ListNodesRequest(run_id=id_),
            run_pb2.ExplainNodeRequest(run_id=id_, path="wait"),
            run_pb2.DrawRunRequest(run_id=id_),
            run_pb2.DecideApprovalRequest(run_id=id_, path="wait", approve=True),
        )
    ]


async def sees_nothing(caller: Caller, had: Had) -> None:
    """Whoever has the name now knows of nothing of the one before."""
    for request in of_runs(had.baked.id, had.waits.id):
        with pytest.raises(RunNotFound):
            await caller(request)
    dough = had.dough
    lineage = artifact_pb2.GetLineageRequest(filesystem_id=dough.filesystem_id, artifact_path=dough.artifact_path)
    refused: list[tuple[type[Exception], Message]] = [
        (PipelineNotFound, pipeline_pb2.GetPipelineRequest(id=had.pipeline)),
        (PipelineNotFound, pipeline_pb2.GetPipelineVersionRequest(pipeline_id=had.pipeline)),
        (PipelineNotFound, pipeline_pb2.DeletePipelineRequest(id=had.pipeline)),
        (PipelineNotFound, run_pb2.CreateRunRequest(source=pipeline_pb2.Source(pipeline_id=had.pipeline))),
        (ScheduleNotFound, schedule_pb2.GetScheduleRequest(id=had.schedule)),
        (ScheduleNotFound, schedule_pb2.StopScheduleRequest(id=had.schedule)),
        (CachedResultNotFound, artifact_pb2.GetCachedResultRequest(id=had.result)),
        (NotFound, lineage),
    ]
    for problem, request in refused:
        with pytest.raises(problem):
            await caller(request)
    with pytest.raises(RunNotFound):
        _ = [each async for each in caller.watch(run_pb2.WatchHappeningsRequest(run_id=had.waits.id))]
    for request, field in (
        (run_pb2.ListRunsRequest(), "runs"),
        (pipeline_pb2.ListPipelinesRequest(), "pipelines"),
        (schedule_pb2.ListSchedulesRequest(), "schedules"),
        (artifact_pb2.ListArtifactEventsRequest(), "events"),
        (artifact_pb2.ListCachedResultsRequest(), "results"),
    ):
        assert not getattr(await caller(request), field), field
    async for message in caller.watch(run_pb2.WatchRunsRequest()):
        assert not message.events
        if message.bookmark:
            break


async def forgotten(site: PipelineSite, had: Had) -> None:
    """Waits until root finds nothing of it either."""

    async def is_gone() -> bool:
        runs = (await site.root(run_pb2.ListRunsRequest(ids=[had.baked.id, had.waits.id]))).runs
        pipelines = (await site.root(pipeline_pb2.ListPipelinesRequest(owners=[had.baked.owner]))).pipelines
        schedules = (await site.root(schedule_pb2.ListSchedulesRequest(owners=[had.baked.owner]))).schedules
        ids = {each.id for each in (*pipelines, *schedules)}
        return not runs and not ids & {had.pipeline, had.schedule}

    await eventually(is_gone, 40.0)


async def audited(site: PipelineSite) -> list[str]:
    request = info_pb2.ListAuditRecordsRequest(actor="service/pipeline", page_size=1000)
    return [record.subject for record in (await replace(site.root, methods=AUDIT)(request)).records]


async def test_the_next_user_of_a_name_gets_nothing_of_the_one_before(
    pipeline_site: PipelineSite, tmp_path: Path
) -> None:
    site = pipeline_site
    here = Corner(site, f"name{site.tag}", await site.filesystem(tmp_path / "disk"))
    had = await filled(here, await here.user())
    await here.leaves()
    new = await here.user()
    await sees_nothing(new, had)
    await forgotten(site, had)
    await sees_nothing(new, had)
    assert {f"run/{had.waits.id}", f"pipeline/{had.pipeline}", f"schedule/{had.schedule}"} <= set(await audited(site))
    # The names are free, and nothing comes from the cache of the one before.
    own = await filled(here, new)
    assert (await site.over(own.baked.id)).steps.cached == 0
    assert own.pipeline != had.pipeline
    await here.leaves()
    await forgotten(site, own)


async def test_a_run_says_why_it_was_stopped_and_ends_without_more(pipeline_site: PipelineSite, tmp_path: Path) -> None:
    site = pipeline_site
    here = Corner(site, f"gone{site.tag}", await site.filesystem(tmp_path / "disk"))
    caller = await here.user()
    document = f"{WAITS}post_process: {{wash: {{command: touch washed}}}}\n"
    run = (await caller(run_pb2.CreateRunRequest(source=here.source(document)))).run
    await eventually(lambda: is_asked(site, run.id))
    await here.leaves()
    last: list[tuple[str, int]] = []
    async for reply in site.root.watch(run_pb2.WatchRunsRequest(id=run.id)):
        last += [(event.run.message, event.kind) for event in reply.events]
        if last and last[-1][1] == event_pb2.CHANGE_KIND_DELETED:
            break
    assert "has been deleted" in last[-1][0]
    assert not (tmp_path / "disk/washed").exists()


async def test_root_makes_nothing_for_users_who_are_not_there(pipeline_site: PipelineSite) -> None:
    document = pipeline_pb2.Source(document="name: a\nentry_points: {a: {command: x}}\ndocker_env: i\n")
    nobody = f"no{pipeline_site.tag}"
    kept = (await pipeline_site.root(pipeline_pb2.CreatePipelineRequest(source=document))).pipeline
    draft = schedule_pb2.Schedule(name="daily", owner=nobody, pipeline_id=kept.id, crontab="@daily")
    for request in (
        run_pb2.CreateRunRequest(source=document, owner=nobody),
        pipeline_pb2.CreatePipelineRequest(source=document, pipeline=pipeline_pb2.Pipeline(owner=nobody)),
        schedule_pb2.CreateScheduleRequest(schedule=draft),
    ):
        with pytest.raises(UserNotFound):
            await pipeline_site.root(request)
    await pipeline_site.root(pipeline_pb2.DeletePipelineRequest(id=kept.id))
