"""Every method of the pipeline service over a socket, as owners, root, strangers and services call it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from google.protobuf.message import Message

from fixtures_pipeline_cast import ASKS, KEPT, SMALL, Cast, waits_for_approval
from fixtures_pipelines import PIPELINE_METHODS, PipelineSite
from paddleflow.auth.v1 import auth_pb2
from paddleflow.channel import open_channel
from paddleflow.common.v1 import info_pb2
from paddleflow.fs.v1 import fs_pb2
from paddleflow.job.v1 import job_pb2, spec_pb2
from paddleflow.pipeline.v1 import artifact_pb2, pipeline_pb2, run_pb2, schedule_pb2
from paddleflow.problems import (
    CachedResultNotFound,
    FilesystemNotGranted,
    InvalidArgument,
    NotFound,
    PermissionDenied,
    PipelineNotFound,
    RunNotFound,
    RunStateConflict,
    ScheduleNotFound,
    TokenMissing,
)
from paddleflow.queue.v1 import queue_pb2
from pf_kit.access import rules
from pf_kit.clock import SystemClock
from pf_kit.joining import join
from pf_kit.tokens import Signer
from support.callers import Caller, methods_of, path_of
from support.queue_site import PASSWORD
from support.waiting import eventually

AUDIT = methods_of([info_pb2.DESCRIPTOR.services_by_name["AuditService"]])
RULES = rules({method.containing_service for method in PIPELINE_METHODS.values()})
STREAMS = (run_pb2.WatchRunsRequest, run_pb2.WatchHappeningsRequest, artifact_pb2.ExportTableRequest)


async def call(caller: Caller, request: Message) -> Any:
    """The reply, or what a stream tells first."""
    if isinstance(request, STREAMS):
        async for message in caller.watch(request):
            return message
        return None
    return await caller(request)


def backfill(id_: str) -> schedule_pb2.BackfillRequest:
    """Of a time without ticks."""
    request = schedule_pb2.BackfillRequest(id=id_)
    getattr(request, "from").FromJsonString("2020-02-01T00:00:00Z")
    request.until.FromJsonString("2020-02-02T00:00:00Z")
    return request


Make = Callable[[str], Message]
RUN: Mapping[str, Make] = {
    "GetRun": lambda id_: run_pb2.GetRunRequest(id=id_),
    "ListNodes": lambda id_: run_pb2.ListNodesRequest(run_id=id_),
    "WatchHappenings": lambda id_: run_pb2.WatchHappeningsRequest(run_id=id_),
    "ExplainNode": lambda id_: run_pb2.ExplainNodeRequest(run_id=id_, path="a"),
    "DrawRun": lambda id_: run_pb2.DrawRunRequest(run_id=id_),
    "RetryRun": lambda id_: run_pb2.RetryRunRequest(id=id_, **{"from": ["a"]}),  # type: ignore[arg-type]  # a word of Python
    "StopRun": lambda id_: run_pb2.StopRunRequest(id=id_),
    "DecideApproval": lambda id_: run_pb2.DecideApprovalRequest(run_id=id_, path="a", approve=True),
    "DeleteRun": lambda id_: run_pb2.DeleteRunRequest(id=id_),
}
PIPELINE: Mapping[str, Make] = {
    "GetPipeline": lambda id_: pipeline_pb2.GetPipelineRequest(id=id_),
    "GetPipelineVersion": lambda id_: pipeline_pb2.GetPipelineVersionRequest(pipeline_id=id_),
    "ListPipelineVersions": lambda id_: pipeline_pb2.ListPipelineVersionsRequest(pipeline_id=id_),
    "UpdatePipeline": lambda id_: pipeline_pb2.UpdatePipelineRequest(id=id_, description="more"),
    "DeletePipelineVersion": lambda id_: pipeline_pb2.DeletePipelineVersionRequest(pipeline_id=id_, number=1),
    "DeletePipeline": lambda id_: pipeline_pb2.DeletePipelineRequest(id=id_),
}
SCHEDULE: Mapping[str, Make] = {
    "GetSchedule": lambda id_: schedule_pb2.GetScheduleRequest(id=id_),
    "Backfill": backfill,
    "PauseSchedule": lambda id_: schedule_pb2.PauseScheduleRequest(id=id_),
    "ResumeSchedule": lambda id_: schedule_pb2.ResumeScheduleRequest(id=id_),
    "StopSchedule": lambda id_: schedule_pb2.StopScheduleRequest(id=id_),
    "DeleteSchedule": lambda id_: schedule_pb2.DeleteScheduleRequest(id=id_),
}
RESULT: Mapping[str, Make] = {
    "GetCachedResult": lambda id_: artifact_pb2.GetCachedResultRequest(id=id_),
    "DeleteCachedResult": lambda id_: artifact_pb2.DeleteCachedResultRequest(id=id_),
}
OF_ONE = {**RUN, **PIPELINE, **SCHEDULE, **RESULT}
"""Methods about one thing, which only its owner and root may call."""
LISTS: Mapping[str, tuple[Callable[[], Message], str]] = {
    "ListRuns": (run_pb2.ListRunsRequest, "runs"),
    "ListPipelines": (pipeline_pb2.ListPipelinesRequest, "pipelines"),
    "ListSchedules": (schedule_pb2.ListSchedulesRequest, "schedules"),
    "ListArtifactEvents": (artifact_pb2.ListArtifactEventsRequest, "events"),
    "ListCachedResults": (artifact_pb2.ListCachedResultsRequest, "results"),
}
TRIED = {"ListRuns", "WatchRuns", "ExportTable", "GetLineage"}
CREATIONS: Mapping[str, Callable[[pipeline_pb2.Source], Message]] = {
    "CreateRun": lambda source: run_pb2.CreateRunRequest(source=source, executor=run_pb2.EXECUTOR_NOTHING),
    "PlanRun": lambda source: run_pb2.PlanRunRequest(run=run_pb2.CreateRunRequest(source=source)),
    "CreatePipeline": lambda source: pipeline_pb2.CreatePipelineRequest(source=source),
    "ValidateDocument": lambda source: pipeline_pb2.ValidateDocumentRequest(source=source),
    "DrawDocument": lambda source: pipeline_pb2.DrawDocumentRequest(source=source),
    "ExportDocument": lambda source: pipeline_pb2.ExportDocumentRequest(
        source=source, target=pipeline_pb2.EXPORT_TARGET_ARGO
    ),
    "CreateSchedule": lambda source: schedule_pb2.CreateScheduleRequest(
        schedule=schedule_pb2.Schedule(name="yearly", pipeline_id=source.pipeline_id, crontab="@yearly")
    ),
}
NOT_FOUND = (RunNotFound, PipelineNotFound, ScheduleNotFound, CachedResultNotFound)


def id_of(players: Cast, name: str) -> str:
    if name in RUN:
        return players.run
    return players.pipeline if name in PIPELINE else players.schedule if name in SCHEDULE else players.result


def test_no_method_is_left_out() -> None:
    named = {*OF_ONE, *LISTS, *TRIED, *CREATIONS}
    assert named == {method.name for method in PIPELINE_METHODS.values()}
    assert {path_of(method) for method in PIPELINE_METHODS.values()} == set(RULES)


async def test_what_is_of_one_user_is_told_to_nobody_else(players: Cast) -> None:
    for name, make in OF_ONE.items():
        with pytest.raises(NOT_FOUND):
            await call(players.stranger, make(id_of(players, name)))
        with pytest.raises(NOT_FOUND):
            await call(players.asked, make(id_of(players, name)))
    for make in (RUN["GetRun"], RUN["ListNodes"], RUN["StopRun"], RUN["ExplainNode"], RUN["WatchHappenings"]):
        with pytest.raises(RunNotFound):
            await call(players.asked, make(players.waits))


async def recorded(site: PipelineSite, method: str) -> list[info_pb2.AuditRecord]:
    request = info_pb2.ListAuditRecordsRequest(page_size=50)
    found = (await replace(site.root, methods=AUDIT)(request)).records
    return [record for record in found if record.method.endswith(f"/{method}")]


@pytest.mark.parametrize("who", ["owner", "root"])
async def test_its_owner_and_root_may_do_all_and_changes_are_on_record(players: Cast, who: str) -> None:
    caller = players.owner if who == "owner" else players.site.root
    actor = f"user/{players.names['owner']}" if who == "owner" else "user/root"
    refusals = {"StopRun": RunStateConflict, "DecideApproval": RunStateConflict}
    more = pipeline_pb2.UpdatePipelineRequest(id=players.pipeline, source=pipeline_pb2.Source(document=f"{SMALL}#"))
    more.source.document = SMALL.replace("command: x", "command: y")
    await caller(more)
    in_order = [*RUN, *SCHEDULE, *PIPELINE, *RESULT]
    # A result is forgotten with its run.
    in_order.sort(key=lambda name: name == "DeleteRun")
    for name in in_order:
        request = OF_ONE[name](id_of(players, name))
        if name in refusals:
            with pytest.raises(refusals[name]):
                await call(caller, request)
            continue
        await call(caller, request)
        method = PIPELINE_METHODS[request.DESCRIPTOR.full_name]
        mine = [record for record in await recorded(players.site, name) if record.actor == actor]
        assert bool(mine) == RULES[path_of(method)].mutation, name


async def test_lists_and_tables_tell_each_only_its_own(players: Cast) -> None:
    ids = {"ListRuns": {players.run, players.waits}, "ListPipelines": {players.pipeline}}
    for name, (make, field) in LISTS.items():
        assert not getattr(await players.stranger(make()), field), name
        mine = getattr(await players.owner(make()), field)
        assert mine
        if name in ids:
            assert {each.id for each in mine} == ids[name]
        if field != "events":
            theirs = type(make())(owners=[players.names["owner"]])
            assert len(getattr(await players.site.root(theirs), field)) == len(mine)
            assert not getattr(await players.stranger(theirs), field)
    place = {"filesystem_id": players.event.filesystem_id, "artifact_path": players.event.artifact_path}
    lineage = artifact_pb2.GetLineageRequest(**place)  # type: ignore[arg-type]  # texts
    for caller in (players.owner, players.site.root):
        assert (await caller(lineage)).made_from
    with pytest.raises(NotFound):
        await players.stranger(lineage)
    for table in (artifact_pb2.TABLE_RUNS, artifact_pb2.TABLE_NODES, artifact_pb2.TABLE_LINEAGE):
        sizes = [await size_of(caller, table) for caller in (players.stranger, players.owner)]
        assert sizes[0] < sizes[1]


async def size_of(caller: Caller, table: artifact_pb2.Table.ValueType) -> int:
    return sum([len(each.data) async for each in caller.watch(artifact_pb2.ExportTableRequest(table=table))])


async def watched(caller: Caller, request: run_pb2.WatchRunsRequest) -> list[str]:
    """The runs that a watch begins with."""
    found: list[str] = []
    async for message in caller.watch(request):
        found += [event.run.id for event in message.events]
        if message.bookmark:
            break
    return found


async def test_watches_tell_each_only_its_own(players: Cast) -> None:
    request = run_pb2.WatchRunsRequest(id=players.waits)
    for caller in (players.owner, players.site.root):
        assert await watched(caller, request) == [players.waits]
    for caller in (players.stranger, players.asked):
        assert await watched(caller, request) == []
        assert await watched(caller, run_pb2.WatchRunsRequest(owner=players.names["owner"])) == []


async def test_only_who_is_named_approves(players: Cast) -> None:
    decide = run_pb2.DecideApprovalRequest(run_id=players.waits, path="ask", approve=True)
    with pytest.raises(RunNotFound):
        await players.stranger(decide)
    with pytest.raises(PermissionDenied, match=players.names["asked"]):
        await players.owner(decide)
    await players.asked(decide)

    async def has_gone_on() -> bool:
        return (await players.site.nodes(players.waits))["ask"].state == run_pb2.NODE_STATE_SUCCEEDED

    await eventually(has_gone_on)
    with pytest.raises(RunStateConflict):
        await players.site.root(decide)


async def test_the_next_user_of_a_name_approves_nothing(players: Cast) -> None:
    name, site = players.names["asked"], players.site
    decide = run_pb2.DecideApprovalRequest(run_id=players.waits, path="ask", approve=True)
    await site.queues(auth_pb2.DeleteUserRequest(name=name))
    await site.queues(auth_pb2.CreateUserRequest(user=auth_pb2.User(name=name), password=PASSWORD))
    another = replace(site.root, secret=site.process.jobs.queue.log_in(name, PASSWORD))
    with pytest.raises(RunNotFound):
        await another(decide)
    await site.root(decide)


async def test_only_root_names_another_owner(players: Cast) -> None:
    owner, source = players.names["owner"], players.source
    drafts = (
        run_pb2.CreateRunRequest(source=source, owner=owner, executor=run_pb2.EXECUTOR_NOTHING),
        run_pb2.PlanRunRequest(run=run_pb2.CreateRunRequest(source=source, owner=owner)),
        pipeline_pb2.CreatePipelineRequest(
            source=pipeline_pb2.Source(document=SMALL.replace("small", "other")),
            pipeline=pipeline_pb2.Pipeline(owner=owner),
        ),
        schedule_pb2.CreateScheduleRequest(
            schedule=schedule_pb2.Schedule(name="weekly", owner=owner, pipeline_id=players.pipeline, crontab="@weekly")
        ),
    )
    for request in drafts:
        with pytest.raises(PermissionDenied, match="root"):
            await players.stranger(request)
        await players.site.root(request)
    made = (await players.owner(run_pb2.ListRunsRequest(names=["small"]))).runs
    assert [run.owner for run in made] == [owner]


async def test_a_pipeline_of_another_is_no_source(players: Cast) -> None:
    source = pipeline_pb2.Source(pipeline_id=players.pipeline)
    for make in CREATIONS.values():
        with pytest.raises(PipelineNotFound):
            await players.stranger(make(source))


async def test_what_was_granted_and_taken_back_may_not_be_used(players: Cast) -> None:
    site = players.site
    key = fs_pb2.FilesystemKey(owner="root", name=players.disk)
    await site.filesystems(fs_pb2.RevokeFilesystemRequest(filesystem=key, user=players.names["owner"]))
    source = pipeline_pb2.Source(document=f"name: kept\ndocker_env: i\n{KEPT}", filesystem=f"root/{players.disk}")
    with pytest.raises((FilesystemNotGranted, NotFound)):
        await players.owner(run_pb2.CreateRunRequest(source=source))
    with pytest.raises((FilesystemNotGranted, NotFound)):
        await players.owner(
            pipeline_pb2.CreatePipelineRequest(source=pipeline_pb2.Source(filesystem=source.filesystem))
        )
    # It sees still what it did before.
    assert (await players.owner(run_pb2.GetRunRequest(id=players.run))).run.id == players.run


async def test_a_step_fails_whose_queue_was_taken_back(players: Cast) -> None:
    site, owner = players.site, players.names["owner"]
    queue = queue_pb2.Queue(name=f"rights-{site.tag}", cluster="default-cluster")
    queue.max.amounts.update({"cpu": 1_000, "memory": 2**30})
    await site.queues(queue_pb2.CreateQueueRequest(queue=queue))
    grant = auth_pb2.Grant(user=owner, kind=auth_pb2.RESOURCE_KIND_QUEUE, resource=queue.name)
    await site.queues(auth_pb2.CreateGrantRequest(grant=grant))
    document = (ASKS % owner).replace("deps: ask", f"deps: ask, env: {{PF_JOB_QUEUE_NAME: {queue.name}}}")
    run = (await players.owner(run_pb2.CreateRunRequest(source=pipeline_pb2.Source(document=document)))).run
    await eventually(lambda: waits_for_approval(site, run.id))
    await site.queues(auth_pb2.DeleteGrantRequest(grant=grant))
    jobs = replace(site.jobs, secret=players.owner.secret)
    policy = spec_pb2.SchedulingPolicy(queue=queue.name)
    job = job_pb2.Job(spec=spec_pb2.JobSpec(command="true", scheduling_policy=policy))

    async def is_known() -> bool:
        """A grant that was taken back counts for some seconds more."""
        try:
            await jobs(job_pb2.CreateJobRequest(job=job))
        except PermissionDenied:
            return True
        return False

    await eventually(is_known)
    await players.owner(run_pb2.DecideApprovalRequest(run_id=run.id, path="ask", approve=True))
    assert (await site.over(run.id)).state == run_pb2.RUN_STATE_FAILED
    assert queue.name in (await site.nodes(run.id))["eat"].message


@pytest.fixture
async def service(pipeline_site: PipelineSite) -> Caller:
    """Another service of the installation."""
    queue = pipeline_site.process.jobs.queue
    async with open_channel(queue.address, None) as channel:
        member = await join(channel, "job", Signer(queue.signing_key.read_bytes()), SystemClock())
    return replace(pipeline_site.root, secret=member.token.metadata()[0][1].removeprefix("Bearer "))


async def test_a_service_acts_for_a_user_within_the_rights_of_that_user(players: Cast, service: Caller) -> None:
    for_owner = replace(service, on_behalf_of=players.names["owner"])
    for_stranger = replace(service, on_behalf_of=players.names["stranger"])
    made = (await for_owner(run_pb2.CreateRunRequest(source=players.source, executor=run_pb2.EXECUTOR_NOTHING))).run
    assert made.owner == players.names["owner"]
    assert (await for_owner(run_pb2.GetRunRequest(id=players.run))).run.id == players.run
    for name, make in OF_ONE.items():
        with pytest.raises(NOT_FOUND):
            await call(for_stranger, make(id_of(players, name)))


async def test_without_a_token_nothing_is_told(pipeline_site: PipelineSite) -> None:
    nobody = replace(pipeline_site.root, secret="")
    for method in PIPELINE_METHODS.values():
        request = method.input_type._concrete_class()  # type: ignore[attr-defined]  # noqa: SLF001  # made by protobuf
        with pytest.raises(TokenMissing):
            await call(nobody, request)


@pytest.mark.parametrize("id_", ["none", "a/../b", "x" * 600, "nul\0", "run-000000", "ppl-0", "\u0661"])
async def test_an_id_that_names_nothing_is_told_so(pipeline_site: PipelineSite, id_: str) -> None:
    for make in OF_ONE.values():
        with pytest.raises((*NOT_FOUND, InvalidArgument)):
            await call(pipeline_site.root, make(id_))


FILTERS: Sequence[Message] = (
    run_pb2.ListRunsRequest(ids=["nul\0"]),
    run_pb2.ListRunsRequest(pipeline_id="nul\0"),
    run_pb2.ListRunsRequest(names=["x"] * 1001),
    run_pb2.ListNodesRequest(run_id="nul\0"),
    run_pb2.WatchRunsRequest(id="nul\0"),
    pipeline_pb2.ListPipelinesRequest(owners=["nul\0"]),
    pipeline_pb2.ListPipelinesRequest(names=["x" * 600] * 2000),
    schedule_pb2.ListSchedulesRequest(names=["nul\0"]),
    artifact_pb2.ListArtifactEventsRequest(path_prefixes=["nul\0"]),
    artifact_pb2.ListCachedResultsRequest(run_ids=["nul\0"]),
    artifact_pb2.GetLineageRequest(filesystem_id="nul\0", artifact_path="x"),
    artifact_pb2.ExportTableRequest(),
    *(make(page_size=-1) for make, _ in LISTS.values()),  # type: ignore[call-arg]  # all lists have it
    *(make(page_token="not one") for make, _ in LISTS.values()),  # type: ignore[call-arg]  # as above
)


@pytest.mark.parametrize("at", range(len(FILTERS)))
async def test_a_filter_that_cannot_be_is_refused(pipeline_site: PipelineSite, at: int) -> None:
    with pytest.raises((InvalidArgument, RunNotFound)):
        await call(pipeline_site.root, FILTERS[at])


async def test_what_is_asked_twice_is_done_once(players: Cast) -> None:
    source = pipeline_pb2.Source(document=SMALL.replace("small", "twice"))
    draft = schedule_pb2.Schedule(name="twice", pipeline_id=players.pipeline, crontab="@yearly")
    for request in (
        run_pb2.CreateRunRequest(source=source, executor=run_pb2.EXECUTOR_NOTHING, request_id="run"),
        run_pb2.RetryRunRequest(id=players.run, request_id="retry", **{"from": ["a"]}),  # type: ignore[arg-type]  # a word of Python
        pipeline_pb2.CreatePipelineRequest(source=source, request_id="pipeline"),
        schedule_pb2.CreateScheduleRequest(schedule=draft, request_id="schedule"),
        run_pb2.StopRunRequest(id=players.waits, request_id="stop"),
        artifact_pb2.DeleteCachedResultRequest(id=players.result, request_id="result"),
        run_pb2.DeleteRunRequest(id=players.run, request_id="delete"),
    ):
        assert await players.owner(request) == await players.owner(request)
