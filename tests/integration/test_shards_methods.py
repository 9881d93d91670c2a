"""Every method of ShardService over a socket, as owners, strangers and replicas call it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from google.protobuf.duration_pb2 import Duration

from fixtures_jobs import JobSite
from paddleflow.job.v1 import job_pb2, shard_pb2, spec_pb2
from paddleflow.problems import (
    DatasetDiffers,
    DatasetNotFound,
    FailedPrecondition,
    InvalidArgument,
    JobNotFound,
    PermissionDenied,
    TokenRevoked,
)
from paddleflow.queue.v1 import queue_pb2
from pf_job.shards.service import MOST_DATASETS
from support.queue_site import PASSWORD
from support.replicas import Replica, waiting_replica
from support.walking import contents

PATIENCE = 30.0


@pytest.fixture
async def replica(job_site: JobSite) -> AsyncIterator[Replica]:
    async with waiting_replica(job_site) as found:
        yield found


async def test_a_replica_is_told_how_to_call(job_site: JobSite, replica: Replica) -> None:
    assert (replica.endpoint, replica.ca) == (f"127.0.0.1:{job_site.process.port}", "none")
    queue = (await job_site.queues(queue_pb2.GetQueueRequest(name="default-queue"))).queue
    assert replica.namespace == queue.namespace != ""


async def test_shards_are_leased_finished_returned_and_renewed(job_site: JobSite, replica: Replica) -> None:
    opened = await replica.open(passes=2)
    assert (opened.shards, opened.todo, opened.pass_number, opened.retries, opened.lease.seconds) == (3, 3, 1, 3, 60)
    assert await replica.open(passes=2) == opened
    first = (await replica.lease(request_id="r1")).shard
    assert (first.lease.number, first.first, first.count, first.failures) == (0, 0, 4, 0)
    assert (await replica.lease(request_id="r1")).shard.lease == first.lease
    second, third = (await replica.lease()).shard, (await replica.lease()).shard
    assert (third.first, third.count) == (8, 2)
    waiting = await replica.lease()
    assert 0 < waiting.wait.ToMicroseconds() <= 1_000_000
    assert (await replica.call(shard_pb2.FinishShardRequest(lease=first.lease))).counted
    assert not (await replica.call(shard_pb2.FinishShardRequest(lease=first.lease))).counted
    assert (await replica.call(shard_pb2.ReturnShardRequest(lease=second.lease, failed=True, reason="torn"))).counted
    renewed = await replica.call(shard_pb2.RenewLeasesRequest(leases=[first.lease, third.lease]))
    assert list(renewed.held) == [third.lease]
    stood = await job_site.root.all(shard_pb2.ListShardsRequest(job_id=replica.job, dataset="d"), "shards")
    assert [(each.lease.number, each.state, each.failures, each.reason) for each in stood] == [
        (1, shard_pb2.SHARD_STATE_RETURNED, 1, "torn"),
        (2, shard_pb2.SHARD_STATE_LEASED, 0, ""),
    ]
    assert (stood[0].attempt, stood[0].role, stood[0].index) == (1, spec_pb2.ROLE_MAIN, 0)
    again = (await replica.lease()).shard
    assert (again.lease.number, again.failures) == (1, 1)
    assert again.lease.epoch > third.lease.epoch
    assert not (await replica.call(shard_pb2.FinishShardRequest(lease=second.lease))).counted
    for lease in (again.lease, third.lease):
        await replica.call(shard_pb2.FinishShardRequest(lease=lease))
    assert (await replica.lease(pass_number=1)).pass_over
    assert (await replica.lease(pass_number=3)).HasField("wait")
    assert (await replica.lease(pass_number=2)).shard.lease.pass_number == 2
    dataset = (await replica.call(shard_pb2.GetDatasetRequest(name="d"))).dataset
    assert (dataset.pass_number, dataset.todo, dataset.leased, dataset.done) == (2, 2, 1, 0)


async def test_a_shard_is_finished_as_the_next_is_leased(replica: Replica) -> None:
    await replica.open(passes=2)
    first = (await replica.lease()).shard.lease
    reply = await replica.lease(finished=first)
    assert (reply.counted, reply.shard.lease.number) == (True, 1)
    again = await replica.lease(finished=first)
    assert (again.counted, again.shard.lease.number) == (False, 2), "it was finished before"
    await replica.call(shard_pb2.FinishShardRequest(lease=reply.shard.lease))
    turned = await replica.lease(finished=again.shard.lease)
    assert (turned.counted, turned.shard.lease.pass_number) == (True, 2), "the last of a pass begins the next"
    with pytest.raises(InvalidArgument):
        await replica.lease(finished=shard_pb2.ShardLease(dataset="e", number=-1))


async def test_a_shard_that_fails_too_often_is_left_out_and_told_of(job_site: JobSite, replica: Replica) -> None:
    await replica.open(total=1, size=1, retries=1)
    for _ in range(2):
        shard = (await replica.lease()).shard
        await replica.call(shard_pb2.ReturnShardRequest(lease=shard.lease, failed=True, reason="cannot be read"))
    assert (await replica.lease()).over
    dataset = (await job_site.root(shard_pb2.GetDatasetRequest(job_id=replica.job, name="d"))).dataset
    assert (dataset.over, dataset.failed_in_all) == (True, 1)
    request = shard_pb2.ListShardsRequest(job_id=replica.job, dataset="d", states=[shard_pb2.SHARD_STATE_FAILED])
    assert [shard.reason for shard in (await job_site.root(request)).shards] == ["cannot be read"]
    happened = (await job_site.root(job_pb2.ListHappeningsRequest(id=replica.job))).happenings
    assert [each.message for each in happened if each.what in ("shard-failed", "pass-complete")] == [
        "shard 0 of d failed 2 times in pass 1 and is left out: cannot be read",
        "pass 1 of 1 over d is complete: 0 shards done, 1 left out",
    ]


async def test_items_are_handed_out_in_their_shards(job_site: JobSite, replica: Replica) -> None:
    request = shard_pb2.OpenDatasetRequest(dataset=shard_pb2.Dataset(name="files", size=2), items=["a", "ä", "c"])
    assert (await replica.call(request)).dataset.total == 3
    assert [list((await replica.lease("files")).shard.items) for _ in range(2)] == [["a", "ä"], ["c"]]
    del request.items[-1:]
    with pytest.raises(DatasetDiffers):
        await replica.call(request)
    for number in range(MOST_DATASETS - 1):
        await replica.open(f"more-{number}")
    with pytest.raises(FailedPrecondition, match="has 20 datasets"):
        await replica.open("one-more")
    await replica.open("more-1")
    ask = shard_pb2.ListDatasetsRequest(job_id=replica.job, page_size=7)
    listed = [each.name for each in await job_site.root.all(ask, "datasets")]
    assert listed == sorted({"files", *(f"more-{number}" for number in range(MOST_DATASETS - 1))})


async def test_a_dataset_begins_anew(job_site: JobSite, replica: Replica) -> None:
    await replica.open(passes=5)
    held = (await replica.lease()).shard
    reset = (await job_site.root(shard_pb2.ResetDatasetRequest(job_id=replica.job, name="d", pass_number=4))).dataset
    assert (reset.pass_number, reset.todo, reset.leased) == (4, 3, 0)
    assert not (await replica.call(shard_pb2.FinishShardRequest(lease=held.lease))).counted
    assert (await replica.lease()).shard.lease.pass_number == 4
    assert (await replica.call(shard_pb2.ResetDatasetRequest(name="d"))).dataset.pass_number == 1
    with pytest.raises(InvalidArgument, match="must be from 1 to 5"):
        await replica.call(shard_pb2.ResetDatasetRequest(name="d", pass_number=6))


async def test_owners_look_and_open_and_never_lease(job_site: JobSite, replica: Replica) -> None:
    plan = shard_pb2.Dataset(name="mine", total=1)
    opened = await job_site.root(
        shard_pb2.OpenDatasetRequest(job_id=replica.job, dataset=plan, request_id=job_site.tag)
    )
    assert opened.dataset.name == "mine"
    for request in (
        shard_pb2.LeaseShardRequest(dataset="mine"),
        shard_pb2.FinishShardRequest(lease=shard_pb2.ShardLease(dataset="mine")),
        shard_pb2.ReturnShardRequest(lease=shard_pb2.ShardLease(dataset="mine")),
        shard_pb2.RenewLeasesRequest(leases=[shard_pb2.ShardLease(dataset="mine")]),
    ):
        with pytest.raises(PermissionDenied):
            await job_site.root(request)


async def test_strangers_see_nothing(job_site: JobSite, replica: Replica) -> None:
    await replica.open()
    name = await job_site.add_user("eve")
    eve = replace(job_site.root, secret=job_site.process.queue.log_in(name, PASSWORD))
    for request in (
        shard_pb2.GetDatasetRequest(job_id=replica.job, name="d"),
        shard_pb2.ListDatasetsRequest(job_id=replica.job),
        shard_pb2.ListShardsRequest(job_id=replica.job, dataset="d"),
        shard_pb2.ResetDatasetRequest(job_id=replica.job, name="d"),
        shard_pb2.OpenDatasetRequest(job_id=replica.job, dataset=shard_pb2.Dataset(name="d", total=1)),
    ):
        with pytest.raises(JobNotFound):
            await eve(request)


async def test_the_token_of_a_job_is_good_for_nothing_else(job_site: JobSite, replica: Replica) -> None:
    other = (await job_site.root(job_pb2.CreateJobRequest(job=job_pb2.Job(spec=spec_pb2.JobSpec(command="true"))))).job
    with pytest.raises(JobNotFound):
        await replica.call(shard_pb2.ListDatasetsRequest(job_id=other.id))
    for request in (job_pb2.GetJobRequest(id=replica.job), job_pb2.StopJobRequest(id=replica.job)):
        with pytest.raises(PermissionDenied):
            await replica.call(request)
    queues = replace(job_site.queues, secret=replica.token)
    for asked in (queue_pb2.GetQueueRequest(name="default-queue"), queue_pb2.HoldQueueRequest(name="default-queue")):
        with pytest.raises(PermissionDenied):
            await queues(asked)


async def test_the_token_is_worth_nothing_once_the_attempt_is_over(job_site: JobSite, replica: Replica) -> None:
    await replica.open()
    await job_site.root(job_pb2.StopJobRequest(id=replica.job, now=True))
    deadline = time.monotonic() + PATIENCE
    while not (await job_site.root(job_pb2.GetJobRequest(id=replica.job))).job.HasField("finish_time"):
        assert time.monotonic() < deadline
        await asyncio.sleep(0.02)
    for request in (
        shard_pb2.LeaseShardRequest(dataset="d"),
        shard_pb2.GetDatasetRequest(name="d"),
        shard_pb2.OpenDatasetRequest(dataset=shard_pb2.Dataset(name="e", total=1)),
    ):
        with pytest.raises(TokenRevoked):
            await replica.call(request)
    dataset = await job_site.root(shard_pb2.GetDatasetRequest(job_id=replica.job, name="d"))
    assert dataset.dataset.todo == 3, "its owner can still look"


async def test_the_token_is_written_down_nowhere(job_site: JobSite, replica: Replica) -> None:
    await replica.open()
    process = job_site.process
    job = (await job_site.root(job_pb2.GetJobRequest(id=replica.job))).job
    tasks = (await job_site.root(job_pb2.ListTasksRequest(id=replica.job))).tasks
    assert replica.token not in f"{job}{tasks}{process.log}"
    for file, content in contents(process.folder / "replicas"):
        assert file.name.startswith("log") or replica.token.encode() not in content, file


async def test_all_that_is_wrong_is_told_at_once(replica: Replica) -> None:
    wrong = shard_pb2.Dataset(name="a/b", size=-1, passes=-1, retries=101, lease=Duration(nanos=1))
    with pytest.raises(InvalidArgument) as raised:
        await replica.call(shard_pb2.OpenDatasetRequest(dataset=wrong))
    fields = {"name", "total", "size", "passes", "retries", "lease"}
    assert {violation.field for violation in raised.value.violations} == {f"dataset.{field}" for field in fields}
    for request in (
        shard_pb2.OpenDatasetRequest(dataset=shard_pb2.Dataset(name="d", total=2**60)),
        shard_pb2.OpenDatasetRequest(dataset=shard_pb2.Dataset(name="d", total=5), items=["a"]),
        shard_pb2.OpenDatasetRequest(dataset=shard_pb2.Dataset(name="d"), items=["a\0"]),
        shard_pb2.OpenDatasetRequest(job_id="\0", dataset=shard_pb2.Dataset(name="d", total=1)),
        shard_pb2.LeaseShardRequest(dataset=""),
        shard_pb2.LeaseShardRequest(dataset="d", pass_number=-1),
        shard_pb2.LeaseShardRequest(dataset="d", finished=shard_pb2.ShardLease(dataset="e", pass_number=1, epoch=1)),
        shard_pb2.FinishShardRequest(lease=shard_pb2.ShardLease(dataset="d", number=-1)),
        shard_pb2.RenewLeasesRequest(leases=[shard_pb2.ShardLease(dataset="d")] * 1001),
        shard_pb2.ListShardsRequest(dataset="d", states=[77]),  # type: ignore[list-item]
        shard_pb2.ResetDatasetRequest(name="d", pass_number=10_001),
    ):
        with pytest.raises(InvalidArgument):
            await replica.call(request)


async def test_what_is_not_there_is_told(replica: Replica) -> None:
    for request in (
        shard_pb2.LeaseShardRequest(dataset="none"),
        shard_pb2.FinishShardRequest(lease=shard_pb2.ShardLease(dataset="none")),
        shard_pb2.GetDatasetRequest(name="none"),
        shard_pb2.ListShardsRequest(dataset="none"),
        shard_pb2.ResetDatasetRequest(name="none"),
    ):
        with pytest.raises(DatasetNotFound):
            await replica.call(request)
