"""The queue service, as the driving of jobs calls it."""

from __future__ import annotations

from datetime import timedelta

from fixtures_jobs import JobSite
from paddleflow.channel import open_channel
from paddleflow.queue.v1 import admission_pb2, queue_pb2, workload_pb2
from pf_job.driving.peers_grpc import RemoteAdmission
from pf_job.driving.ports import AttemptKey, GivenBack, RoleWish, Wish
from pf_job.jobs.life import Ending
from pf_kit.clock import SystemClock
from pf_kit.joining import join
from pf_kit.tokens import Signer
from support.waiting import eventually

AMOUNTS = {"cpu": 100, "memory": 2**20}


def wish(key: AttemptKey, queue: str) -> Wish:
    return Wish(
        key=key,
        queue=queue,
        user="root",
        priority=0,
        roles=[RoleWish("main", 1, 1, 1, AMOUNTS)],
        grace=timedelta(seconds=1),
        protected=timedelta(0),
        revision=0,
    )


async def test_who_was_not_told_to_leave_is_released_all_the_same_and_holds_up_no_others(job_site: JobSite) -> None:
    queue = queue_pb2.Queue(name=f"left-{job_site.tag}", cluster="default-cluster")
    queue.max.amounts.update({"cpu": 1_000, "memory": 2**30})
    await job_site.queues(queue_pb2.CreateQueueRequest(queue=queue))
    signer = Signer(job_site.process.queue.signing_key.read_bytes())
    async with open_channel(job_site.process.queue.address, None) as channel:
        member = await join(channel, "job", signer, SystemClock())
        admission = RemoteAdmission(channel, member.token.metadata, SystemClock())
        evicted, stopped, unknown = (AttemptKey(f"{word}-{job_site.tag}", 1) for word in ("one", "other", "none"))
        await admission.submit([wish(key, queue.name) for key in (evicted, stopped)])

        async def held(key: AttemptKey) -> str:
            named = workload_pb2.WorkloadKey(job_id=key.job, attempt=key.attempt)
            found = await job_site.queues(admission_pb2.GetWorkloadRequest(key=named))
            return str(found.workload.admitted.grant_id)

        async def hold(key: AttemptKey, ending: Ending) -> GivenBack:
            return GivenBack(key, await eventually(lambda: held(key)), ending)

        given = [
            await hold(evicted, Ending.EVICTED),
            GivenBack(unknown, "g", Ending.EVICTED),
            await hold(stopped, Ending.STOPPED),
        ]
        assert await admission.release(given) == {evicted: None, unknown: None}
        standing = {each.key for each in await admission.standings()}
        assert standing.isdisjoint({evicted, stopped})
