"""Every method about jobs over a socket, as owners, those who have the queue, strangers and services call it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
from google.protobuf.message import Message

from fixtures_jobs import METHODS, JobSite
from paddleflow.auth.v1 import auth_pb2
from paddleflow.channel import open_channel
from paddleflow.job.v1 import job_pb2, log_pb2, shard_pb2, spec_pb2, statistics_pb2
from paddleflow.problems import InvalidArgument, JobNotFound, OwnerEpochConflict, PermissionDenied, TokenMissing
from paddleflow.queue.v1 import queue_pb2
from pf_kit.clock import SystemClock
from pf_kit.joining import join
from pf_kit.tokens import Signer
from support.callers import Caller
from support.job_logs import over
from support.queue_site import PASSWORD

SHARDS = {method.input_type.full_name for method in shard_pb2.DESCRIPTOR.services_by_name["ShardService"].methods}
STREAMS = (log_pb2.ReadLogRequest, job_pb2.WatchHappeningsRequest, job_pb2.WatchJobsRequest)

READS: Mapping[type[Message], Callable[[str], Message]] = {
    job_pb2.GetJobRequest: lambda id_: job_pb2.GetJobRequest(id=id_),
    job_pb2.ListTasksRequest: lambda id_: job_pb2.ListTasksRequest(id=id_),
    job_pb2.ListHappeningsRequest: lambda id_: job_pb2.ListHappeningsRequest(id=id_),
    job_pb2.WatchHappeningsRequest: lambda id_: job_pb2.WatchHappeningsRequest(id=id_),
    log_pb2.ReadLogRequest: lambda id_: log_pb2.ReadLogRequest(choice=log_pb2.LogChoice(id=id_)),
    log_pb2.GetLogInfoRequest: lambda id_: log_pb2.GetLogInfoRequest(choice=log_pb2.LogChoice(id=id_)),
    statistics_pb2.GetJobStatisticsRequest: lambda id_: statistics_pb2.GetJobStatisticsRequest(id=id_),
    statistics_pb2.GetJobSeriesRequest: lambda id_: statistics_pb2.GetJobSeriesRequest(id=id_),
}
"""Methods about one job that whoever sees it may call."""
CHANGES: Mapping[type[Message], Callable[[str], Message]] = {
    job_pb2.UpdateJobRequest: lambda id_: job_pb2.UpdateJobRequest(id=id_, labels={"a": "b"}),
    job_pb2.StopJobRequest: lambda id_: job_pb2.StopJobRequest(id=id_),
    job_pb2.DeleteJobRequest: lambda id_: job_pb2.DeleteJobRequest(id=id_, etag="another"),
}
"""Methods that only its owner and root may call."""
LISTS = (job_pb2.ListJobsRequest, job_pb2.WatchJobsRequest, statistics_pb2.GetCardTimesRequest)
CREATIONS = (job_pb2.CreateJobRequest, job_pb2.CreateJobsRequest)
KINDS: Sequence[type[Message]] = (*READS, *CHANGES, *LISTS, *CREATIONS)


@dataclass(frozen=True)
class Cast:
    """A job that is over, and who is to do with it."""

    job: str
    queue: str
    owner: Caller
    granted: Caller
    stranger: Caller
    names: Mapping[str, str]


async def call(caller: Caller, request: Message) -> Any:
    """The reply, or all that a stream tells."""
    if isinstance(request, STREAMS):
        return [message async for message in caller.watch(request)]
    return await caller(request)


def small(queue: str, **fields: Any) -> job_pb2.Job:
    spec = spec_pb2.JobSpec(command="true", scheduling_policy=spec_pb2.SchedulingPolicy(queue=queue))
    spec.flavour.amounts.amounts.update({"cpu": 100, "memory": 2**20})
    return job_pb2.Job(spec=spec, **fields)


@pytest.fixture
async def players(job_site: JobSite) -> Cast:
    site = job_site
    queue = queue_pb2.Queue(name=f"rights-{site.tag}", cluster="default-cluster")
    queue.max.amounts.update({"cpu": 1_000, "memory": 2**30})
    await site.queues(queue_pb2.CreateQueueRequest(queue=queue))
    names = {word: await site.add_user(word) for word in ("owner", "granted", "stranger")}
    for word in ("owner", "granted"):
        grant = auth_pb2.Grant(user=names[word], kind=auth_pb2.RESOURCE_KIND_QUEUE, resource=queue.name)
        await site.queues(auth_pb2.CreateGrantRequest(grant=grant))
    log_in = site.process.queue.log_in
    callers = {word: replace(site.root, secret=log_in(name, PASSWORD)) for word, name in names.items()}
    made = await callers["owner"](job_pb2.CreateJobRequest(job=small(queue.name)))
    return Cast(await over(site, made.job.id), queue.name, **callers, names=names)


def test_no_method_is_left_out() -> None:
    named = {kind().DESCRIPTOR.full_name for kind in KINDS}
    assert named == set(METHODS) - SHARDS


@pytest.mark.parametrize("kind", READS)
async def test_who_sees_a_job_may_read_it(kind: type[Message], players: Cast, job_site: JobSite) -> None:
    request = READS[kind](players.job)
    for caller in (players.owner, players.granted, job_site.root):
        await call(caller, request)
    with pytest.raises(JobNotFound):
        await call(players.stranger, request)


@pytest.mark.parametrize("kind", CHANGES)
async def test_only_its_owner_and_root_change_a_job(kind: type[Message], players: Cast, job_site: JobSite) -> None:
    request = CHANGES[kind](players.job)
    with pytest.raises(JobNotFound):
        await call(players.stranger, request)
    with pytest.raises(PermissionDenied, match=players.names["owner"]):
        await call(players.granted, request)
    for caller in (players.owner, job_site.root):
        if kind is job_pb2.DeleteJobRequest:
            with pytest.raises(Exception, match="has changed"):
                await call(caller, request)
        else:
            await call(caller, request)


async def test_lists_tell_only_what_the_caller_may_see(players: Cast, job_site: JobSite) -> None:
    jobs = job_pb2.ListJobsRequest(queue=players.queue)
    times = statistics_pb2.GetCardTimesRequest(queues=[players.queue])
    for caller in (players.owner, players.granted, job_site.root):
        assert [job.id for job in (await caller(jobs)).jobs] == [players.job]
        assert [found.queue for found in (await caller(times)).card_times] == [players.queue]
    assert list((await players.stranger(jobs)).jobs) == []
    assert list((await players.stranger(times)).card_times) == []


async def watched(caller: Caller, request: job_pb2.WatchJobsRequest) -> list[str]:
    """The jobs that a watch begins with."""
    found: list[str] = []
    async for message in caller.watch(request):
        found += [event.job.id for event in message.events]
        if message.bookmark:
            break
    return found


async def test_watches_tell_only_what_the_caller_may_see(players: Cast, job_site: JobSite) -> None:
    request = job_pb2.WatchJobsRequest(id=players.job)
    for caller in (players.owner, players.granted, job_site.root):
        assert await watched(caller, request) == [players.job]
    assert await watched(players.stranger, request) == []


async def test_nobody_makes_jobs_for_others_or_where_it_may_not(players: Cast, job_site: JobSite) -> None:
    for request in (
        job_pb2.CreateJobRequest(job=small(players.queue, owner=players.names["owner"])),
        job_pb2.CreateJobRequest(job=small(players.queue), owner=job_pb2.JobOwner(key="k", scope="s", epoch=1)),
    ):
        with pytest.raises(PermissionDenied):
            await players.granted(request)
    with pytest.raises(PermissionDenied):
        await players.stranger(job_pb2.CreateJobRequest(job=small(players.queue)))
    batch = job_pb2.CreateJobsRequest(jobs=[small(players.queue), small(players.queue, owner=players.names["owner"])])
    results = (await players.granted(batch)).results
    assert [(result.code, bool(result.job.id)) for result in results] == [("", True), ("PERMISSION_DENIED", False)]
    taken = await job_site.root(job_pb2.CreateJobRequest(job=small(players.queue, owner=players.names["owner"])))
    assert taken.job.owner == players.names["owner"]


async def test_who_makes_jobs_for_others_names_users(players: Cast, job_site: JobSite) -> None:
    for owner in ("a/../b", "nul\0", "x" * 600):
        with pytest.raises(InvalidArgument, match="owner"):
            await job_site.root(job_pb2.CreateJobRequest(job=small(players.queue, owner=owner)))
    for part in (job_pb2.JobOwner(key="nul\0", scope="s"), job_pb2.JobOwner(key="k", scope="x" * 600)):
        with pytest.raises(InvalidArgument, match="owner"):
            await job_site.root(job_pb2.CreateJobRequest(job=small(players.queue), owner=part))


@pytest.fixture
async def service(job_site: JobSite) -> Caller:
    """Another service of the installation, which makes jobs for users."""
    queue = job_site.process.queue
    signer = Signer(queue.signing_key.read_bytes())
    async with open_channel(queue.address, None) as channel:
        member = await join(channel, "pipeline", signer, SystemClock())
    return replace(job_site.root, secret=member.token.metadata()[0][1].removeprefix("Bearer "))


async def test_a_service_acts_for_a_user_within_the_rights_of_that_user(players: Cast, service: Caller) -> None:
    for_owner = replace(service, on_behalf_of=players.names["owner"])
    for_stranger = replace(service, on_behalf_of=players.names["stranger"])
    part = job_pb2.JobOwner(key=f"run/{players.queue}", scope=players.queue, epoch=1)
    request = job_pb2.CreateJobRequest(job=small(players.queue), owner=part)
    made = (await for_owner(request)).job
    assert made.owner == players.names["owner"]
    assert (await for_owner(request)).job.id == made.id
    with pytest.raises(PermissionDenied):
        await for_stranger(request)
    with pytest.raises(JobNotFound):
        await for_stranger(job_pb2.GetJobRequest(id=made.id))


async def test_parts_are_made_once_also_many_at_a_time(players: Cast, service: Caller) -> None:
    for_owner = replace(service, on_behalf_of=players.names["owner"])
    scope = f"batch-{players.queue}"
    jobs = [small(players.queue) for _ in range(3)]

    async def made(epoch: int, *keys: str) -> Sequence[tuple[str, str]]:
        owners = [job_pb2.JobOwner(key=f"{scope}/{key}", scope=scope, epoch=epoch) for key in keys]
        request = job_pb2.CreateJobsRequest(jobs=jobs[: len(keys)], owners=owners)
        return [(result.job.id, result.reason) for result in (await for_owner(request)).results]

    first = await made(2, "a", "b")
    assert [reason for _, reason in first] == ["", ""]
    again = await made(2, "b", "c", "a")
    assert [again[0], again[2]] == [first[1], first[0]]
    assert again[1][0] not in {id_ for id_, _ in first}
    assert await made(1, "a", "d") == [("", "OWNER_EPOCH"), ("", "OWNER_EPOCH")]
    with pytest.raises(InvalidArgument, match="owners"):
        await for_owner(job_pb2.CreateJobsRequest(jobs=jobs, owners=[job_pb2.JobOwner(key="k", scope="s")]))
    with pytest.raises(InvalidArgument, match="owners"):
        await made(3, "a", "a")


async def test_a_part_is_found_also_where_it_could_not_be_made_any_more(players: Cast, service: Caller) -> None:
    for_owner = replace(service, on_behalf_of=players.names["owner"])
    part = job_pb2.JobOwner(key=f"lasting/{players.queue}", scope=f"lasting-{players.queue}", epoch=1)
    made = (await for_owner(job_pb2.CreateJobRequest(job=small(players.queue), owner=part))).job
    impossible = small("no-such-queue")
    assert (await for_owner(job_pb2.CreateJobRequest(job=impossible, owner=part))).job.id == made.id


async def test_who_was_taken_over_stops_nothing_and_makes_nothing_that_was_stopped(
    players: Cast, service: Caller
) -> None:
    for_owner = replace(service, on_behalf_of=players.names["owner"])
    scope = f"stopping-{players.queue}"

    def part(key: str, epoch: int) -> job_pb2.JobOwner:
        return job_pb2.JobOwner(key=f"{scope}/{key}", scope=scope, epoch=epoch)

    made = (await for_owner(job_pb2.CreateJobRequest(job=small(players.queue), owner=part("a", 1)))).job
    with pytest.raises(JobNotFound):
        await for_owner(job_pb2.StopJobRequest(id=f"never-{players.queue}", owner=part("b", 2)))
    for request in (
        job_pb2.CreateJobRequest(job=small(players.queue), owner=part("b", 1)),
        job_pb2.StopJobRequest(id=made.id, owner=part("a", 1)),
    ):
        with pytest.raises(OwnerEpochConflict, match=f"{scope} was taken over"):
            await for_owner(request)
    stopped = await for_owner(job_pb2.StopJobRequest(id=made.id, owner=part("a", 2)))
    assert stopped.job.id == made.id
    with pytest.raises(PermissionDenied, match="only services"):
        await players.owner(job_pb2.StopJobRequest(id=made.id, owner=part("a", 2)))


async def test_a_part_is_made_for_one_user_and_not_for_the_next_of_the_name(players: Cast, service: Caller) -> None:
    for_owner = replace(service, on_behalf_of=players.names["owner"])
    made = (await for_owner(job_pb2.CreateJobRequest(job=small(players.queue)))).job
    for seconds, reason in ((0, ""), (-1, "USER_NOT_FOUND")):
        key = f"since-{players.queue}{seconds}"
        owner = job_pb2.JobOwner(key=key, scope=key, epoch=1, user_since=made.owner_since)
        owner.user_since.seconds += seconds
        request = job_pb2.CreateJobsRequest(jobs=[small(players.queue)], owners=[owner])
        assert [result.reason for result in (await for_owner(request)).results] == [reason]


async def test_nobody_takes_the_id_of_a_step_before_its_run_does(players: Cast, service: Caller) -> None:
    job = small(players.queue)
    job.spec.id = f"job-run-{players.queue}"
    with pytest.raises(InvalidArgument, match="steps of runs"):
        await players.owner(job_pb2.CreateJobRequest(job=job))
    owner = job_pb2.JobOwner(key=job.spec.id, scope=job.spec.id, epoch=1)
    for_owner = replace(service, on_behalf_of=players.names["owner"])
    assert (await for_owner(job_pb2.CreateJobRequest(job=job, owner=owner))).job.spec.id == job.spec.id


@pytest.mark.parametrize("kind", [*READS, *CHANGES])
async def test_without_a_token_nothing_is_told(kind: type[Message], job_site: JobSite) -> None:
    with pytest.raises(TokenMissing):
        await call(replace(job_site.root, secret=""), {**READS, **CHANGES}[kind]("any"))


@pytest.mark.parametrize("kind", [*READS, *CHANGES])
@pytest.mark.parametrize("id_", ["none", "a/../b", "x" * 600, "nul\0"])
async def test_an_id_that_names_no_job_is_told_so(kind: type[Message], id_: str, job_site: JobSite) -> None:
    with pytest.raises((JobNotFound, InvalidArgument)):
        await call(job_site.root, {**READS, **CHANGES}[kind](id_))
