"""What changes of queues and machines mean to workloads, over a socket."""

from __future__ import annotations

import pytest

from paddleflow.problems import QueueNotEmpty, QueueNotFound
from paddleflow.queue.v1 import admission_pb2, cluster_pb2, queue_pb2, workload_pb2
from support.admission_site import (
    ADMITTED,
    EVICTED,
    EVICTING,
    GI,
    PENDING,
    AdmissionSite,
    watching,
)
from support.queue_site import QueueSite, node
from support.waiting import eventually

PHYSICAL = queue_pb2.ISOLATION_PHYSICAL
GPU = "nvidia.com/gpu"


@pytest.fixture
async def jobs(site: QueueSite) -> AdmissionSite:
    admission = AdmissionSite(site)
    await admission.prepare("q")
    return admission


async def reach(jobs: AdmissionSite, word: str, state: queue_pb2.QueueState.ValueType) -> None:
    async def there() -> bool:
        return (await jobs.site.get(word)).state == state

    await eventually(there)


async def borrow_all(jobs: AdmissionSite, **fields: int) -> None:
    """A queue without a guarantee has all machines; another is guaranteed half of them."""
    await jobs.site.create("rich", min={"cpu": 16_000})
    for job in ("a", "b", "c", "d"):
        wanted = jobs.workload(job, "q", cores=8)
        wanted.grace_period.FromSeconds(30)
        wanted.min_run_time.FromSeconds(fields.get("shield", 0))
        await jobs.submit(wanted)
        await jobs.until(job, ADMITTED)


async def test_who_borrows_leaves_for_whom_it_is_guaranteed_to(jobs: AdmissionSite) -> None:
    await borrow_all(jobs)
    queue = jobs.site.name("q")
    async with watching(jobs.site.root, queue) as watcher:
        await watcher.existing()
        waits = await jobs.wait("r", "rich", cores=8)
        told = (await watcher.until("evicting")).evicting
    assert (told.key, told.grant_id, told.queue) == (jobs.key("d"), f"{jobs.key('d').job_id}/1", queue)
    assert (told.reason, told.beneficiary) == (workload_pb2.EVICTION_REASON_RECLAIM, waits.key)
    assert list(told.replicas) == [workload_pb2.RoleGrant(role="worker", base=1)]
    leaving = await jobs.until("d", EVICTING)
    assert told.grant_version > leaving.admitted.grant_version - 1
    story = await jobs.until_waits("r", workload_pb2.PENDING_REASON_RECLAIMING)
    assert list(story.waiting.leaving) == [jobs.key("d")]
    assert story.waiting.kept_until.seconds - told.grace_deadline.seconds in range(59, 62)
    assert [jobs.key(job) for job in "abc"] == [(await jobs.get(job)).key for job in "abc"]
    await jobs.release("d", EVICTED)
    await jobs.until("r", ADMITTED)
    again = await jobs.until("d", PENDING)
    assert again.key == jobs.key("d", 2)


async def test_a_queue_tells_what_is_used_of_it_and_of_those_below(jobs: AdmissionSite) -> None:
    await jobs.site.create("below", "q")
    assert (await jobs.site.get("q")).HasField("used")
    await jobs.start("a", "below", cores=2, replicas=2, most=3)
    await jobs.until_has("a", 1)
    await jobs.start("b", "q")
    await jobs.wait("c", "below", cores=8, replicas=4)
    held = {"cpu": 6000, "memory": 3 * GI}
    assert dict((await jobs.site.get("below")).used.amounts) == held
    all_held = {"cpu": 7000, "memory": 4 * GI}
    listed = await jobs.site.root.all(queue_pb2.ListQueuesRequest(name_prefix=jobs.site.name("q")), "queues")
    assert [dict(each.used.amounts) for each in listed] == [all_held]
    await jobs.release("b")
    assert dict((await jobs.site.get("q")).used.amounts) == held
    changed = await jobs.site.root(queue_pb2.HoldQueueRequest(name=jobs.site.name("q")))
    assert not changed.queue.HasField("used")


async def test_who_has_not_run_long_enough_is_left_alone(jobs: AdmissionSite) -> None:
    await borrow_all(jobs, shield=1)
    await jobs.wait("r", "rich", cores=8)
    await jobs.until_waits("r", workload_pb2.PENDING_REASON_NOTHING_TO_BORROW)
    for job in ("a", "b", "c", "d"):
        assert (await jobs.get(job)).state == ADMITTED
    await jobs.report_running("b")
    await jobs.until("b", EVICTING)
    assert (await jobs.get("d")).state == ADMITTED


async def test_surplus_goes_before_anybody_must(jobs: AdmissionSite) -> None:
    await jobs.start("j", "q", cores=8, most=4)
    await jobs.until_has("j", 3)
    async with watching(jobs.site.root, jobs.site.name("q")) as watcher:
        await watcher.existing()
        waits = await jobs.wait("w", "q", cores=8, replicas=2)
        told = (await watcher.until("evicting")).evicting
        assert list(told.replicas) == [workload_pb2.RoleGrant(role="worker", surplus=2)]
        assert list(told.left) == [workload_pb2.RoleGrant(role="worker", base=1, surplus=1)]
        assert (told.reason, told.beneficiary) == (workload_pb2.EVICTION_REASON_SURPLUS, waits.key)
        assert [role.leaving for role in (await jobs.get("j")).admitted.roles] == [2]
        assert (await jobs.resize("j", 1)).admitted.grant_version == told.grant_version
        released = (await watcher.until("released")).released
    assert (released.outcome, list(released.replicas)) == (0, list(told.replicas))
    await jobs.until("w", ADMITTED)


async def test_a_queue_that_is_held_admits_nothing_until_it_is_open(jobs: AdmissionSite) -> None:
    await jobs.start("a", "q")
    await jobs.site.root(queue_pb2.HoldQueueRequest(name=jobs.site.name("q")))
    await jobs.wait("b", "q")
    story = await jobs.until_waits("b", workload_pb2.PENDING_REASON_QUEUE_HELD)
    assert story.waiting.queue == jobs.site.name("q")
    assert (await jobs.get("a")).state == ADMITTED
    await jobs.site.root(queue_pb2.OpenQueueRequest(name=jobs.site.name("q")))
    await jobs.until("b", ADMITTED)


async def test_no_room_is_kept_in_a_queue_that_is_held(jobs: AdmissionSite) -> None:
    await borrow_all(jobs)
    await jobs.wait("r", "rich", cores=8)
    await jobs.until_waits("r", workload_pb2.PENDING_REASON_RECLAIMING)
    await jobs.site.root(queue_pb2.HoldQueueRequest(name=jobs.site.name("rich")))
    story = await jobs.until_waits("r", workload_pb2.PENDING_REASON_QUEUE_HELD)
    assert not story.waiting.HasField("kept_until")

    async def told() -> bool:
        return (await jobs.explain("r")).decisions[-1].kind == admission_pb2.DECISION_KIND_KEEP_NO_MORE

    await eventually(told)


async def test_a_queue_that_is_drained_sends_back_what_it_has(jobs: AdmissionSite) -> None:
    await jobs.site.create("below", "q")
    await jobs.start("a", "below")
    async with watching(jobs.site.root, jobs.site.name("below")) as watcher:
        await watcher.existing()
        await jobs.site.root(queue_pb2.DrainQueueRequest(name=jobs.site.name("q")))
        told = (await watcher.until("evicting")).evicting
    assert told.reason == workload_pb2.EVICTION_REASON_DRAIN
    assert not told.HasField("beneficiary")
    await jobs.release("a", EVICTED)
    story = await jobs.until_waits("a", workload_pb2.PENDING_REASON_QUEUE_HELD)
    assert story.waiting.queue == jobs.site.name("q")
    await jobs.site.root(queue_pb2.OpenQueueRequest(name=jobs.site.name("q")))
    assert (await jobs.until("a", ADMITTED)).key.attempt == 2


async def test_a_closing_queue_is_closed_when_its_last_workload_is_over(jobs: AdmissionSite) -> None:
    await jobs.start("a", "q")
    reply = await jobs.site.root(queue_pb2.CloseQueueRequest(name=jobs.site.name("q")))
    assert reply.queue.state == queue_pb2.QUEUE_STATE_CLOSING
    (refused,) = await jobs.submit(jobs.workload("b", "q"))
    assert refused.refusal.reason == "QUEUE_STATE"
    (known,) = await jobs.submit(jobs.workload("a", "q"))
    assert known.workload.state == ADMITTED
    await jobs.release("a")
    await reach(jobs, "q", queue_pb2.QUEUE_STATE_CLOSED)


async def test_what_waits_in_a_closing_queue_is_admitted_still(jobs: AdmissionSite) -> None:
    await jobs.start("a", "q", cores=8, replicas=4)
    await jobs.wait("b", "q")
    await jobs.site.root(queue_pb2.CloseQueueRequest(name=jobs.site.name("q")))
    await jobs.release("a")
    await jobs.until("b", ADMITTED)
    await jobs.release("b")
    await reach(jobs, "q", queue_pb2.QUEUE_STATE_CLOSED)


async def test_a_queue_with_workloads_is_not_deleted(jobs: AdmissionSite) -> None:
    name = jobs.site.name("q")
    await jobs.start("a", "q")
    with pytest.raises(QueueNotEmpty):
        await jobs.site.root(queue_pb2.DeleteQueueRequest(name=name))
    with pytest.raises(QueueNotEmpty):
        await jobs.site.root(cluster_pb2.DeleteClusterRequest(name=jobs.site.cluster, cascade=True))
    await jobs.release("a")
    await jobs.site.root(queue_pb2.DeleteQueueRequest(name=name))
    with pytest.raises(QueueNotFound):
        await jobs.site.root(queue_pb2.GetQueueRequest(name=name))
    (refused,) = await jobs.submit(jobs.workload("b", "q"))
    assert refused.refusal.reason == "QUEUE_NOT_FOUND"
    assert (await jobs.get("a")).queue == name


async def test_a_queue_made_just_now_takes_workloads_at_once(jobs: AdmissionSite) -> None:
    for number in range(10):
        await jobs.site.create(f"new{number}", max={"cpu": 4000, "memory": GI})
        (result,) = await jobs.submit(jobs.workload(f"j{number}", f"new{number}"))
        assert not result.refusal.reason


async def test_a_higher_ceiling_lets_in_who_waits(jobs: AdmissionSite) -> None:
    await jobs.site.create("small", max={"cpu": 2000, "memory": 64 * GI})
    await jobs.start("a", "small", cores=2)
    await jobs.wait("b", "small", cores=2)
    story = await jobs.until_waits("b", workload_pb2.PENDING_REASON_QUEUE_FULL)
    assert story.waiting.queue == jobs.site.name("small")
    await jobs.site.update("small", max={"cpu": 4000, "memory": 64 * GI})
    await jobs.until("b", ADMITTED)


async def test_machines_that_come_later_admit_who_waits_for_them(site: QueueSite) -> None:
    jobs = AdmissionSite(site)
    await site.create("q", max={"cpu": 64_000, "memory": 640 * GI})
    await jobs.wait("j", "q", cores=8, replicas=5)
    await jobs.until_waits("j", workload_pb2.PENDING_REASON_NO_MACHINE)
    await jobs.report(4)
    await jobs.report(5)
    await jobs.until("j", ADMITTED)


async def test_nothing_is_admitted_to_a_cluster_that_is_offline(jobs: AdmissionSite) -> None:
    cluster = cluster_pb2.Cluster(name=jobs.site.cluster, status=cluster_pb2.CLUSTER_STATUS_OFFLINE)
    request = cluster_pb2.UpdateClusterRequest(cluster=cluster)
    request.update_mask.paths.append("status")
    await jobs.site.root(request)
    await jobs.wait("j", "q")
    story = await jobs.until_waits("j", workload_pb2.PENDING_REASON_CLUSTER_OFFLINE)
    assert jobs.site.cluster in story.waiting.message
    request.cluster.status = cluster_pb2.CLUSTER_STATUS_ONLINE
    await jobs.site.root(request)
    await jobs.until("j", ADMITTED)


async def test_machines_may_take_a_resource_with_them(jobs: AdmissionSite) -> None:
    """Who holds or wants what no machine has any more stays, and is served when it is back."""
    await jobs.report(4, {GPU: 8})
    await jobs.start("a", "q", more={GPU: 8}, replicas=4)
    await jobs.wait("b", "q", more={GPU: 8})
    await jobs.report(4)
    await jobs.until_waits("b", workload_pb2.PENDING_REASON_NO_MACHINE)
    assert (await jobs.get("a")).state == ADMITTED
    await jobs.start("c", "q")
    await jobs.release("a")
    await jobs.report(4, {GPU: 8})
    await jobs.until("b", ADMITTED)


async def test_workloads_move_with_their_queue_to_other_machines(jobs: AdmissionSite) -> None:
    """Below a queue of physical isolation there are machines that others do not have."""
    await jobs.site.report(
        100,
        *(node(f"n{n}", cpu=8000, memory=64 * GI) for n in range(4)),
        *(node(f"o{n}", queue=jobs.site.name("own"), cpu=8000, memory=64 * GI) for n in range(2)),
    )
    await jobs.site.create("own", isolation=PHYSICAL, max={"cpu": 16_000, "memory": 128 * GI})
    await jobs.start("a", "q", cores=8, replicas=3)
    await jobs.site.create("moves")
    await jobs.start("b", "moves", cores=8)
    await jobs.wait("c", "moves", cores=8)
    await jobs.site.update("moves", "parent", parent="own")
    await jobs.until("c", ADMITTED)
    await jobs.wait("d", "moves", cores=8)
    await jobs.site.update("moves", "parent")
    await jobs.release("a")
    await jobs.until("d", ADMITTED)
    await jobs.release("b")
    await jobs.start("e", "own", cores=8, replicas=2)
