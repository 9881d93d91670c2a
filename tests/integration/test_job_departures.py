"""Users who are deleted, and others who get their names: over sockets, with all services."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, replace

import pytest

from fixtures_jobs import JobSite, opened_jobs, own_jobs
from paddleflow.auth.v1 import auth_pb2
from paddleflow.common.v1 import event_pb2, info_pb2
from paddleflow.job.v1 import job_pb2, log_pb2, shard_pb2, spec_pb2, statistics_pb2
from paddleflow.problems import JobNotFound
from paddleflow.queue.v1 import queue_pb2
from support.callers import Caller, methods_of
from support.job_logs import over, running
from support.job_process import JobProcess
from support.queue_site import PASSWORD
from support.servers import PostgresServer, ValkeyServer
from support.waiting import eventually

AUDIT = methods_of([info_pb2.DESCRIPTOR.services_by_name["AuditService"]])
SLEEPS = "trap 'sleep 0.5; exit 1' TERM; sleep 1000 & wait"


@dataclass
class Corner:
    """A queue for one job, and a name for one user after the other."""

    site: JobSite
    queue: str
    name: str

    async def user(self) -> Caller:
        """A new user of the name, who may use the queue."""
        user = auth_pb2.User(name=self.name)
        await self.site.queues(auth_pb2.CreateUserRequest(user=user, password=PASSWORD))
        grant = auth_pb2.Grant(user=self.name, kind=auth_pb2.RESOURCE_KIND_QUEUE, resource=self.queue)
        await self.site.queues(auth_pb2.CreateGrantRequest(grant=grant))
        return self.caller()

    def caller(self) -> Caller:
        secret = self.site.process.queue.log_in(self.name, PASSWORD)
        return replace(self.site.root, secret=secret)

    async def leaves(self) -> None:
        await self.site.queues(auth_pb2.DeleteUserRequest(name=self.name))

    async def create(self, caller: Caller, command: str) -> str:
        policy = spec_pb2.SchedulingPolicy(queue=self.queue)
        spec = spec_pb2.JobSpec(command=command, scheduling_policy=policy)
        spec.flavour.amounts.amounts.update({"cpu": 100, "memory": 2**20})
        made: job_pb2.Job = (await caller(job_pb2.CreateJobRequest(job=job_pb2.Job(spec=spec)))).job
        return made.id

    async def forgotten(self, *ids: str) -> None:
        """Waits until there are no such jobs."""

        async def are_gone() -> bool:
            found = (await self.site.root(job_pb2.ListJobsRequest(queue=self.queue))).jobs
            return not {job.id for job in found} & set(ids)

        await eventually(are_gone, 30.0)


async def corner(site: JobSite) -> Corner:
    queue = queue_pb2.Queue(name=f"leaving-{site.tag}", cluster="default-cluster")
    queue.max.amounts.update({"cpu": 100, "memory": 2**20})
    await site.queues(queue_pb2.CreateQueueRequest(queue=queue))
    return Corner(site, queue.name, f"name{site.tag}")


async def sees_nothing(caller: Caller, *ids: str) -> None:
    """Whoever has the name now knows of no job of the one before."""
    for id_ in ids:
        choice = log_pb2.LogChoice(id=id_)
        for request in (
            job_pb2.GetJobRequest(id=id_),
            job_pb2.StopJobRequest(id=id_),
            job_pb2.DeleteJobRequest(id=id_),
            job_pb2.UpdateJobRequest(id=id_, labels={"a": "b"}),
            job_pb2.ListTasksRequest(id=id_),
            job_pb2.ListHappeningsRequest(id=id_),
            log_pb2.GetLogInfoRequest(choice=choice),
            statistics_pb2.GetJobStatisticsRequest(id=id_),
            shard_pb2.ListDatasetsRequest(job_id=id_),
        ):
            with pytest.raises(JobNotFound):
                await caller(request)
        with pytest.raises(JobNotFound):
            _ = [each async for each in caller.watch(log_pb2.ReadLogRequest(choice=choice))]
    found = (await caller(job_pb2.ListJobsRequest())).jobs
    assert not {job.id for job in found} & set(ids)
    times = (await caller(statistics_pb2.GetCardTimesRequest(group=statistics_pb2.CARD_TIME_GROUP_JOB))).card_times
    assert not {each.job for each in times} & set(ids)
    async for message in caller.watch(job_pb2.WatchJobsRequest()):
        assert not {event.job.id for event in message.events} & set(ids)
        if message.bookmark:
            break


async def told(site: JobSite, id_: str) -> Mapping[str, int]:
    """What was said of a job until it was forgotten, and what kind of change it was last."""
    said: dict[str, int] = {}
    async for reply in site.root.watch(job_pb2.WatchJobsRequest(id=id_)):
        said.update((event.job.message, event.kind) for event in reply.events)
        if event_pb2.CHANGE_KIND_DELETED in said.values():
            break
    return said


async def test_the_next_user_of_a_name_gets_none_of_the_jobs_of_the_one_before(job_site: JobSite) -> None:
    here = await corner(job_site)
    old = await here.user()
    done = await over(job_site, await here.create(old, "echo secret"))
    runs = await here.create(old, SLEEPS)
    await running(job_site, runs)
    waits = await here.create(old, "true")
    await here.leaves()
    new = await here.user()
    await sees_nothing(new, done, runs, waits)
    own = await here.create(new, SLEEPS)
    assert any("has been deleted" in message for message in await told(job_site, runs))
    await here.forgotten(done, runs, waits)
    await sees_nothing(new, done, runs, waits)
    # There is room for one: that of before was given back.
    await running(job_site, own)
    assert (await new(job_pb2.GetJobRequest(id=own))).job.owner == here.name
    records = await audited(job_site)
    assert [records.count(f"job/{id_}") for id_ in (done, runs, waits)] == [0, 1, 1]
    everything = statistics_pb2.GetCardTimesRequest(queues=[here.queue], group=statistics_pb2.CARD_TIME_GROUP_JOB)
    assert {done, runs, own} <= {each.job for each in (await job_site.root(everything)).card_times}
    await new(job_pb2.StopJobRequest(id=own, now=True))


async def audited(site: JobSite) -> list[str]:
    request = info_pb2.ListAuditRecordsRequest(actor="service/job")
    return [record.subject for record in (await replace(site.root, methods=AUDIT)(request)).records]


@pytest.fixture(scope="module")
def without_bus(postgres_server: PostgresServer, valkey_server: ValkeyServer) -> Iterator[JobProcess]:
    with own_jobs(postgres_server, valkey_server, {"PF_JOB_REDIS": "redis://127.0.0.1:1"}) as process:
        yield process


@pytest.fixture
async def deaf(without_bus: JobProcess) -> AsyncIterator[JobSite]:
    async with opened_jobs(without_bus) as site:
        yield site


async def test_it_is_the_same_without_the_bus(deaf: JobSite) -> None:
    here = await corner(deaf)
    runs = await here.create(await here.user(), SLEEPS)
    await running(deaf, runs)
    await here.leaves()
    new = await here.user()
    await sees_nothing(new, runs)
    await here.forgotten(runs)


async def test_who_left_while_the_service_was_away_has_left(without_bus: JobProcess) -> None:
    async with opened_jobs(without_bus) as site:
        here = await corner(site)
        runs = await here.create(await here.user(), SLEEPS)
        await running(site, runs)
        without_bus.kill()
        await here.leaves()
        await here.user()
        without_bus.start()
    async with opened_jobs(without_bus) as site:
        here = replace(here, site=site)
        new = here.caller()
        await sees_nothing(new, runs)
        own = await here.create(new, SLEEPS)
        await here.forgotten(runs)
        await running(site, own)
        await new(job_pb2.StopJobRequest(id=own, now=True))
