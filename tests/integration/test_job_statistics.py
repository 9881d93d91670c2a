"""What jobs used and held, over a socket: measured on real processes."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from fixtures_jobs import JobSite
from paddleflow.auth.v1 import auth_pb2
from paddleflow.common.v1.resources_pb2 import Resources
from paddleflow.job.v1 import job_pb2, spec_pb2
from paddleflow.job.v1 import statistics_pb2 as pb
from paddleflow.problems import InvalidArgument, JobNotFound, JobStateConflict, PageTokenInvalid
from paddleflow.queue.v1 import queue_pb2
from support.callers import Caller
from support.job_logs import create, over, running, wrote
from support.queue_site import PASSWORD
from support.waiting import eventually

BUSY = "python3 -c 'import time; x = bytearray(64 * 2**20)\nwhile time.process_time() < {}: pass'"
PAIR = [spec_pb2.Member(role=spec_pb2.ROLE_WORKER, replicas=2, command="sleep 0.2")]


def by_metric(found: object) -> Mapping[int, pb.MetricStatistics]:
    return {each.metric: each for each in found}  # type: ignore[attr-defined]  # what repeated fields are


async def queue(site: JobSite, word: str) -> str:
    """The name of a queue with room for a few jobs."""
    name = f"{word}-{site.tag}"
    most = Resources(amounts={"cpu": 2_000, "memory": 2**30})
    made = queue_pb2.Queue(name=name, cluster="default-cluster", max=most)
    await site.queues(queue_pb2.CreateQueueRequest(queue=made))
    return name


async def user(site: JobSite, word: str) -> tuple[str, Caller]:
    name = await site.add_user(word)
    return name, replace(site.root, secret=site.process.queue.log_in(name, PASSWORD))


async def held(caller: Caller, queue_name: str, **fields: object) -> list[pb.CardTime]:
    request = pb.GetCardTimesRequest(queues=[queue_name], group=pb.CARD_TIME_GROUP_JOB, **fields)  # type: ignore[arg-type]
    return await caller.all(request, "card_times")


async def test_a_job_that_is_over_has_used_what_it_has(job_site: JobSite) -> None:
    made = await wrote(job_site, BUSY.format(0.6))
    reply = await job_site.root(pb.GetJobStatisticsRequest(id=made))
    job, (task,) = by_metric(reply.job), reply.tasks
    assert by_metric(task.metrics) == job
    assert (task.attempt, task.role, task.index, task.restart) == (1, spec_pb2.ROLE_MAIN, 0, 0)
    assert 0.5 < job[pb.METRIC_CPU].total < 3
    assert 0 < job[pb.METRIC_CPU].average <= job[pb.METRIC_CPU].peak * 1.001
    assert job[pb.METRIC_CPU].asked == 0.1
    assert job[pb.METRIC_MEMORY].peak > 64 * 2**20
    assert job[pb.METRIC_DISK_WRITE].total >= 0
    assert any("network" in note for note in reply.notes)
    assert pb.METRIC_NETWORK_SEND not in job


async def test_a_job_that_runs_is_measured(job_site: JobSite) -> None:
    made = await create(job_site, BUSY.format(60))
    await running(job_site, made)

    async def is_seen() -> bool:
        reply = await job_site.root(pb.GetJobStatisticsRequest(id=made))
        found = by_metric(reply.job).get(pb.METRIC_MEMORY)
        return found is not None and found.peak > 64 * 2**20

    await eventually(is_seen)
    reply = await job_site.root(pb.GetJobSeriesRequest(id=made))
    (task,) = reply.tasks
    cpu = next(each.values for each in task.series if each.metric == pb.METRIC_CPU)
    assert (reply.step.seconds, reply.steps, reply.coarser) == (1, len(cpu), False)
    assert all(0 <= each <= 64 for each in cpu if not math.isnan(each))
    assert not math.isnan(cpu[0])
    (time,) = [each for each in await held(job_site.root, "default-queue") if each.job == made]
    assert (time.running, time.HasField("finish_time")) == (1, False)
    assert time.seconds > 0.5
    await job_site.root(job_pb2.StopJobRequest(id=made, now=True))
    await over(job_site, made)


async def test_steps_are_as_asked_for_unless_there_were_too_many(job_site: JobSite) -> None:
    made = await wrote(job_site, "sleep 2.2")
    request = pb.GetJobSeriesRequest(id=made)
    request.step.FromMilliseconds(1_500)
    reply = await job_site.root(request)
    assert (reply.steps, reply.step.ToMilliseconds(), reply.coarser) == (2, 1_500, False)
    tasks = await job_site.root(job_pb2.ListTasksRequest(id=made))
    assert reply.start == tasks.tasks[0].start_time
    request.start.CopyFrom(tasks.tasks[0].finish_time)
    assert (await job_site.root(request)).steps == 0


async def test_replicas_come_in_pages(job_site: JobSite) -> None:
    made = await wrote(job_site, "", framework=spec_pb2.FRAMEWORK_PADDLE, members=PAIR)
    request = pb.GetJobStatisticsRequest(id=made, page_size=1)
    pages = [page async for page in job_site.root.pages(request, "tasks")]
    assert [[task.index for task in page] for page in pages] == [[0], [1]]
    first = await job_site.root(request)
    both = await job_site.root(pb.GetJobStatisticsRequest(id=made))
    assert list(first.job) == list(both.job)
    total = by_metric(both.job)[pb.METRIC_CPU].total
    assert total == pytest.approx(sum(by_metric(task.metrics)[pb.METRIC_CPU].total for task in both.tasks))
    series = await job_site.root.all(pb.GetJobSeriesRequest(id=made, page_size=1), "tasks")
    assert [task.index for task in series] == [0, 1]
    with pytest.raises(PageTokenInvalid):
        await job_site.root(pb.GetJobSeriesRequest(id=made, page_token=first.next_page_token))


async def test_a_job_held_what_it_was_given_for_as_long_as_it_ran(job_site: JobSite) -> None:
    name = await queue(job_site, "held")
    made = await wrote(job_site, "sleep 0.5", scheduling_policy={"queue": name})
    job = (await job_site.root(job_pb2.GetJobRequest(id=made))).job
    (task,) = (await job_site.root(job_pb2.ListTasksRequest(id=made))).tasks
    lasted = (task.finish_time.ToMicroseconds() - task.start_time.ToMicroseconds()) / 1e6
    (found,) = await held(job_site.root, name)
    assert (found.queue, found.user, found.job, found.jobs, found.running) == (name, "root", made, 1, 0)
    assert found.seconds == pytest.approx(lasted, abs=1e-5)
    assert found.core_seconds == pytest.approx(lasted * 0.1, abs=1e-5)
    assert found.memory_byte_seconds == pytest.approx(lasted * 2**20, rel=1e-4)
    assert (found.start_time, found.finish_time) == (task.start_time, task.finish_time)
    assert found.accept_time == job.accept_time
    middle = datetime.fromtimestamp(task.start_time.ToMicroseconds() / 1e6 + 0.2, UTC)
    (first,), (second,) = await held(job_site.root, name, end=middle), await held(job_site.root, name, start=middle)
    assert first.seconds == pytest.approx(0.2, abs=1e-5)
    assert first.seconds + second.seconds == pytest.approx(found.seconds)


async def test_what_was_held_is_known_when_the_job_is_forgotten(job_site: JobSite) -> None:
    name = await queue(job_site, "forgotten")
    made = await wrote(job_site, "sleep 0.2", scheduling_policy={"queue": name})
    before = await held(job_site.root, name)

    async def is_deleted() -> bool:
        # It is over a moment before its queue knows.
        with suppress(JobStateConflict):
            await job_site.root(job_pb2.DeleteJobRequest(id=made))
            return True
        return False

    await eventually(is_deleted)
    assert await held(job_site.root, name) == before
    with pytest.raises(JobNotFound):
        await job_site.root(pb.GetJobStatisticsRequest(id=made))


async def test_attempts_count_each(job_site: JobSite) -> None:
    name = await queue(job_site, "tried")
    retry = spec_pb2.RetryPolicy(limit=1)
    retry.backoff.FromMilliseconds(100)
    made = await wrote(job_site, "sleep 0.2; exit 1", scheduling_policy={"queue": name}, retry=retry)
    tasks = (await job_site.root(job_pb2.ListTasksRequest(id=made, attempt=-1))).tasks
    lasted = sum(task.finish_time.ToMicroseconds() - task.start_time.ToMicroseconds() for task in tasks) / 1e6
    (found,) = await held(job_site.root, name)
    assert len(tasks) == 2
    assert found.seconds == pytest.approx(lasted, abs=1e-4)
    reply = await job_site.root(pb.GetJobStatisticsRequest(id=made, attempt=-1))
    assert [task.attempt for task in reply.tasks] == [1, 2]
    assert [task.attempt for task in (await job_site.root(pb.GetJobStatisticsRequest(id=made))).tasks] == [2]


async def test_what_happens_while_the_service_is_away_counts_as_it_was(job_site: JobSite) -> None:
    name = await queue(job_site, "away")
    made = await create(job_site, "sleep 0.7", scheduling_policy={"queue": name})
    await running(job_site, made)
    await asyncio.to_thread(job_site.process.kill)
    await asyncio.to_thread(job_site.process.start)
    await over(job_site, made)
    (task,) = (await job_site.root(job_pb2.ListTasksRequest(id=made))).tasks
    lasted = (task.finish_time.ToMicroseconds() - task.start_time.ToMicroseconds()) / 1e6
    (found,) = await held(job_site.root, name)
    assert found.seconds == pytest.approx(lasted, abs=1e-5)
    assert found.running == 0


async def test_everybody_is_told_of_their_own_and_of_what_is_granted(job_site: JobSite) -> None:
    name = await queue(job_site, "shared")
    (owner, ada), (other, bob) = await user(job_site, "ada"), await user(job_site, "bob")
    grant = auth_pb2.Grant(user=owner, kind=auth_pb2.RESOURCE_KIND_QUEUE, resource=name)
    await job_site.queues(auth_pb2.CreateGrantRequest(grant=grant))
    made = await wrote(replace(job_site, root=ada), "true", scheduling_policy={"queue": name})
    assert [(each.user, each.job) for each in await held(ada, name)] == [(owner, made)]
    assert await held(bob, name) == []
    with pytest.raises(JobNotFound):
        await bob(pb.GetJobStatisticsRequest(id=made))
    with pytest.raises(JobNotFound):
        await bob(pb.GetJobSeriesRequest(id=made))
    grant.user = other
    await job_site.queues(auth_pb2.CreateGrantRequest(grant=grant))
    assert [each.job for each in await eventually(lambda: held(bob, name))] == [made]
    assert [each.job for each in await held(bob, name, users=[other])] == []


async def test_queues_users_and_jobs_come_to_the_same(job_site: JobSite) -> None:
    name = await queue(job_site, "sums")
    for _ in range(3):
        await wrote(job_site, "sleep 0.1", scheduling_policy={"queue": name})
    totals = []
    for group in (pb.CARD_TIME_GROUP_UNSPECIFIED, pb.CARD_TIME_GROUP_USER, pb.CARD_TIME_GROUP_JOB):
        request = pb.GetCardTimesRequest(queues=[name], group=group, page_size=2)
        found = await job_site.root.all(request, "card_times")
        totals.append((sum(each.jobs for each in found), round(sum(each.seconds for each in found), 5)))
    assert totals[0][0] == 3
    assert len(set(totals)) == 1


async def test_hostile_values_are_refused_by_name(job_site: JobSite) -> None:
    series = pb.GetJobSeriesRequest(id="a\0b", attempt=-2)
    series.step.FromMilliseconds(999)
    series.start.FromSeconds(10)
    series.end.FromSeconds(9)
    with pytest.raises(InvalidArgument) as refused:
        await job_site.root(series)
    assert {each.field for each in refused.value.violations} == {"id", "attempt", "step", "end"}
    times = pb.GetCardTimesRequest(group=9, queues=["x"] * 101, users=["\0"])  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument) as refused:
        await job_site.root(times)
    assert {each.field for each in refused.value.violations} == {"group", "queues", "users"}
    times = pb.GetCardTimesRequest()
    times.start.seconds = 2**60
    with pytest.raises(InvalidArgument):
        await job_site.root(times)
    future = pb.GetCardTimesRequest()
    future.end.FromDatetime(datetime.now(UTC) + timedelta(days=9))
    reply = await job_site.root(future)
    assert reply.end.ToDatetime(UTC) <= datetime.now(UTC)
    future.start.FromDatetime(datetime.now(UTC) + timedelta(days=8))
    assert (await job_site.root(future)).card_times == []
