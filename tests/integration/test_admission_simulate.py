"""What would happen if workloads came, queues were others, and machines came and went."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from paddleflow.problems import ClusterNotFound, InvalidArgument, QueueNotFound, WorkloadNotFound
from paddleflow.queue.v1 import admission_pb2, queue_pb2, workload_pb2
from support.admission_site import ADMITTED, EVICTING, GI, AdmissionSite
from support.queue_site import QueueSite, node

W = workload_pb2
KEEP = admission_pb2.DECISION_KIND_KEEP


@pytest.fixture
async def jobs(site: QueueSite) -> AdmissionSite:
    admission = AdmissionSite(site)
    await admission.prepare("q")
    return admission


async def simulate(
    jobs: AdmissionSite, *workloads: workload_pb2.Workload, **change: Any
) -> Sequence[admission_pb2.SimulatedWorkload]:
    request = admission_pb2.SimulateRequest(workloads=workloads, **change)
    found: Sequence[admission_pb2.SimulatedWorkload] = (await jobs.site.root(request)).workloads
    return found


async def supposed(jobs: AdmissionSite, word: str, **fields: Any) -> queue_pb2.Queue:
    """A queue with other fields than it has."""
    found = await jobs.site.get(word)
    found.MergeFrom(queue_pb2.Queue(**fields))
    return found


async def test_a_simulation_says_what_would_become_of_workloads(jobs: AdmissionSite) -> None:
    await jobs.start("a", "q", cores=8, replicas=3)
    fits, waits, never, nowhere = await simulate(
        jobs,
        jobs.workload("b", "q", cores=8),
        jobs.workload("c", "q", cores=8),
        jobs.workload("d", "q", cores=9),
        jobs.workload("a", "q", cores=1),
    )
    assert fits.admitted
    assert (waits.admitted, waits.waiting.reason) == (False, W.PENDING_REASON_NOTHING_TO_BORROW)
    assert never.refusal.reason == "NEVER_FITS"
    assert nowhere.refusal.reason == "WORKLOAD_EXISTS"
    with pytest.raises(WorkloadNotFound):
        await jobs.get("b")
    with pytest.raises(QueueNotFound):
        await simulate(jobs, queues=[await supposed(jobs, "q", name="none")])


async def test_a_simulation_tells_where_those_stand_who_would_wait(jobs: AdmissionSite) -> None:
    await jobs.start("a", "q", cores=8, replicas=4)
    await jobs.wait("b", "q", cores=8)
    reply = await jobs.site.root(
        admission_pb2.SimulateRequest(workloads=[jobs.workload("c", "q", priority=0), jobs.workload("d", "q")])
    )
    assert [(each.waiting.position.position, each.waiting.position.waiting) for each in reply.workloads] == [
        (2, 3),
        (3, 3),
    ]
    assert (reply.horizon.seconds, reply.cut_off) == (3600, False)


async def test_a_simulation_lets_those_go_who_were_told_to_leave_before(jobs: AdmissionSite) -> None:
    await jobs.site.create("rich", min={"cpu": 16_000, "memory": 64 * GI})
    await jobs.start("a", "q", cores=8, replicas=4)
    await jobs.wait("r", "rich", cores=8)
    await jobs.until("a", EVICTING)
    reply = await jobs.site.root(admission_pb2.SimulateRequest(workloads=[jobs.workload("s", "rich", cores=8)]))
    assert reply.workloads[0].admitted
    admitted = [each.key for each in reply.decisions if each.kind == admission_pb2.DECISION_KIND_ADMIT]
    assert admitted[:2] == [jobs.key("r"), jobs.key("s")]
    assert (await jobs.get("a")).state == EVICTING


async def test_a_simulation_goes_on_to_when_a_shield_ends(jobs: AdmissionSite) -> None:
    await jobs.site.create("rich", min={"cpu": 16_000, "memory": 64 * GI})
    shielded = jobs.workload("a", "q", cores=8, replicas=4)
    shielded.min_run_time.FromSeconds(1800)
    await jobs.submit(shielded)
    await jobs.until("a", ADMITTED)
    await jobs.report_running("a")
    wanted = jobs.workload("r", "rich", cores=8)
    reply = await jobs.site.root(admission_pb2.SimulateRequest(workloads=[wanted]))
    assert reply.workloads[0].admitted
    kinds = [(each.key, each.kind) for each in reply.decisions if each.kind != KEEP]
    assert kinds[0] == (jobs.key("a"), admission_pb2.DECISION_KIND_EVICT)
    now = await jobs.site.root(admission_pb2.ListDecisionsRequest(job_id=jobs.key("a").job_id))
    assert reply.decisions[0].time.seconds - now.decisions[0].time.seconds in range(1800, 1830)


async def test_a_simulation_tells_a_user_nothing_about_queues_of_others(jobs: AdmissionSite) -> None:
    user, caller = await jobs.site.add_user()
    await jobs.site.create("mine", min={"cpu": 16_000, "memory": 64 * GI})
    await jobs.site.grant(user, "mine")
    await jobs.start("a", "q", cores=8, replicas=4)
    request = admission_pb2.SimulateRequest(workloads=[jobs.workload("c", "mine", cores=8)])
    assert jobs.site.name("q") in {each.queue for each in (await jobs.site.root(request)).decisions}
    assert {each.queue for each in (await caller(request)).decisions} == {jobs.site.name("mine")}


async def test_what_is_not_there_cannot_be_supposed(jobs: AdmissionSite) -> None:
    lost = node("lost", cpu=8000)
    lost.cluster = "nowhere"
    for change in ({"nodes": [lost]}, {"gone": [admission_pb2.GoneNode(cluster="nowhere", name="n0")]}):
        with pytest.raises(ClusterNotFound, match="nowhere"):
            await simulate(jobs, **change)
    gone = [admission_pb2.GoneNode(cluster=jobs.site.cluster, name=name) for name in ("n0", "n17")]
    with pytest.raises(InvalidArgument, match="no machine 'n17'"):
        await simulate(jobs, gone=gone)


async def test_a_simulation_may_suppose_other_queues_and_machines(jobs: AdmissionSite) -> None:
    for job in "abcd":
        await jobs.start(job, "q", cores=8)
    await jobs.site.create("rich", preemption_policy=queue_pb2.PREEMPTION_POLICY_NEVER)
    wanted = jobs.workload("r", "rich", cores=8)
    assert not (await simulate(jobs, wanted))[0].admitted
    more = node("more", cpu=8000, memory=64 * GI)
    more.cluster = jobs.site.cluster
    assert (await simulate(jobs, wanted, nodes=[more]))[0].admitted
    gone = [admission_pb2.GoneNode(cluster=jobs.site.cluster, name="n0")]
    assert not (await simulate(jobs, wanted, nodes=[more], gone=gone))[0].admitted
    rich = await supposed(jobs, "rich", preemption_policy=queue_pb2.PREEMPTION_POLICY_RECLAIM_ONLY)
    rich.min.amounts["cpu"] = 8000
    reply = await jobs.site.root(admission_pb2.SimulateRequest(workloads=[wanted], queues=[rich]))
    assert reply.workloads[0].admitted
    (evicted,) = [each for each in reply.decisions if each.kind == admission_pb2.DECISION_KIND_EVICT]
    assert (evicted.key, evicted.beneficiary) == (jobs.key("d"), jobs.key("r"))
    assert (await jobs.get("d")).state == ADMITTED
    assert not (await jobs.site.get("rich")).min.amounts
    gone = [admission_pb2.GoneNode(cluster=jobs.site.cluster, name=f"n{n}") for n in range(4)]
    assert (await simulate(jobs, wanted, gone=gone))[0].refusal.reason in ("NEVER_FITS", "RESOURCE_NOT_DECLARED")
