"""What is told about workloads: why they wait, where they stand, how busy queues are, and what would happen."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from google.protobuf.message import Message

from fixtures_queue import own_service
from paddleflow.problems import (
    PermissionDenied,
    Problem,
    QueueNotFound,
    QueueNotGranted,
)
from paddleflow.queue.v1 import admission_pb2, queue_pb2, workload_pb2
from support.admission_site import ADMITTED, CANCELLED, EVICTED, EVICTING, GI, PENDING, RELEASED, AdmissionSite
from support.callers import Caller
from support.queue_process import QueueProcess
from support.queue_site import QueueSite, opened_site
from support.servers import PostgresServer, ValkeyServer
from support.waiting import eventually

W = workload_pb2
KEEP = admission_pb2.DECISION_KIND_KEEP


@pytest.fixture
async def jobs(site: QueueSite) -> AdmissionSite:
    admission = AdmissionSite(site)
    await admission.prepare("q")
    return admission


@pytest.fixture(scope="module")
def hasty_process(postgres_server: PostgresServer, valkey_server: ValkeyServer) -> Iterator[QueueProcess]:
    """A service in which nobody is passed over for long."""
    with own_service(postgres_server, valkey_server, {"PF_QUEUE_ADMISSION_PASSED_OVER_SECONDS": "1"}) as process:
        yield process


@pytest.fixture
async def hasty(hasty_process: QueueProcess) -> AsyncIterator[AdmissionSite]:
    async with opened_site(hasty_process) as site:
        admission = AdmissionSite(site)
        await admission.prepare("q")
        yield admission


async def load(jobs: AdmissionSite, word: str) -> admission_pb2.QueueLoad:
    found = await jobs.site.root.all(admission_pb2.ListLoadsRequest(cluster=jobs.site.cluster), "loads")
    (one,) = [each for each in found if each.queue == jobs.site.name(word)]
    assert isinstance(one, admission_pb2.QueueLoad)
    return one


async def decisions(jobs: AdmissionSite, caller: Caller | None = None, **chosen: Any) -> list[str]:
    """Jobs and kinds, newest first."""
    request = admission_pb2.ListDecisionsRequest(page_size=2, **chosen)
    found = await (caller or jobs.site.root).all(request, "decisions")
    name = admission_pb2.DecisionKind.Name
    return [f"{each.key.job_id[0]} {name(each.kind).removeprefix('DECISION_KIND_')}" for each in found]


async def listed(jobs: AdmissionSite, **chosen: Any) -> list[str]:
    request = admission_pb2.ListWorkloadsRequest(queue=jobs.site.name("q"), page_size=2, **chosen)
    return [each.key.job_id[0] for each in await jobs.site.root.all(request, "workloads")]


def shortages(story: admission_pb2.ExplainWorkloadResponse) -> list[tuple[str, int, int]]:
    return [(each.resource, each.asked, each.free) for each in story.waiting.shortages]


async def test_a_full_queue_is_named_with_what_it_lacks(jobs: AdmissionSite) -> None:
    await jobs.site.create("small", "q", max={"cpu": 3000, "memory": 64 * GI})
    await jobs.start("a", "small", cores=2)
    await jobs.wait("b", "small", cores=2)
    story = await jobs.until_waits("b", W.PENDING_REASON_QUEUE_FULL)
    assert story.workload.pending_reason == W.PENDING_REASON_QUEUE_FULL
    assert story.waiting.queue == jobs.site.name("small")
    assert shortages(story) == [("cpu", 2000, 1000)]
    assert jobs.site.name("small") in story.waiting.message
    assert "2 cores of cpu asked, 1 core free" in story.waiting.message
    assert not story.waiting.HasField("kept_until")
    assert (story.waiting.position.position, story.waiting.position.waiting) == (1, 1)


async def test_full_machines_are_no_queue(jobs: AdmissionSite) -> None:
    await jobs.site.create("other")
    await jobs.start("a", "other", cores=7, replicas=4)
    await jobs.wait("b", "q", cores=5)
    story = await jobs.until_waits("b", W.PENDING_REASON_NOTHING_TO_BORROW)
    assert (story.waiting.queue, shortages(story)) == ("", [("cpu", 5000, 4000)])
    assert "guaranteed" in story.waiting.message


async def test_machines_that_became_too_small_are_told(jobs: AdmissionSite) -> None:
    await jobs.start("a", "q", cores=8, replicas=4)
    await jobs.wait("b", "q", cores=8)
    jobs.cores = 4
    await jobs.report(4)
    story = await jobs.until_waits("b", W.PENDING_REASON_NO_MACHINE)
    assert shortages(story) == [("cpu", 8000, 4000)]
    assert "Ask for less" in story.waiting.message


async def test_limits_of_users_and_of_jobs_are_told(jobs: AdmissionSite) -> None:
    await jobs.site.create("users", max_per_user={"cpu": 2000})
    await jobs.site.create("few", max_jobs=1)
    await jobs.start("a", "users", cores=2, user="ann")
    await jobs.start("b", "users", cores=2, user="bob")
    await jobs.wait("c", "users", user="ann")
    story = await jobs.until_waits("c", W.PENDING_REASON_USER_LIMIT)
    assert story.waiting.queue == jobs.site.name("users")
    assert "'ann'" in story.waiting.message
    await jobs.start("d", "few")
    await jobs.wait("e", "few")
    story = await jobs.until_waits("e", W.PENDING_REASON_JOB_LIMIT)
    assert (story.waiting.queue, shortages(story)) == (jobs.site.name("few"), [])


async def test_in_a_strict_queue_the_first_is_named(jobs: AdmissionSite) -> None:
    await jobs.site.create("strict", order_policy=queue_pb2.ORDER_POLICY_STRICT_FIFO)
    await jobs.start("a", "strict", cores=8)
    await jobs.wait("b", "strict", cores=8, replicas=4)
    await jobs.wait("c", "strict")
    story = await jobs.until_waits("c", W.PENDING_REASON_BEHIND)
    assert story.waiting.behind == jobs.key("b")
    assert jobs.key("b").job_id in story.waiting.message
    assert story.waiting.position.position == 2


async def test_room_is_kept_for_whoever_was_passed_over_too_long(hasty: AdmissionSite) -> None:
    await hasty.start("a", "q", cores=8, replicas=2)
    await hasty.wait("b", "q", cores=8, replicas=4)
    late = 0

    async def looked_at() -> admission_pb2.ExplainWorkloadResponse | None:
        story = await hasty.explain(f"late{late}")
        passes = story.workload.state == ADMITTED
        return story if passes or story.waiting.reason == W.PENDING_REASON_RESERVED else None

    async def kept() -> bool:
        nonlocal late
        late += 1
        await hasty.submit(hasty.workload(f"late{late}", "q"))
        story = await eventually(looked_at)
        if story.workload.state == ADMITTED:
            await hasty.release(f"late{late}")
        return story.workload.state != ADMITTED

    await eventually(kept)
    story = await hasty.explain("b")
    assert story.waiting.HasField("kept_until")
    assert list(story.waiting.leaving) == []
    assert story.decisions[-1].kind == admission_pb2.DECISION_KIND_KEEP
    assert story.waiting.reason == W.PENDING_REASON_RESERVED
    busy = await load(hasty, "q")
    assert (busy.kept.amounts["cpu"], dict(busy.leaving.amounts)) == (32_000, {})
    await hasty.release("a")
    await hasty.until("b", ADMITTED)


async def test_a_position_counts_those_of_the_queue_and_how_fast_they_go(jobs: AdmissionSite) -> None:
    await jobs.site.create("other")
    await jobs.start("a", "q", cores=8, replicas=4)
    for job, priority in (("b", 0), ("c", 5), ("d", 0)):
        await jobs.wait(job, "q", priority=priority)
    await jobs.wait("e", "other")
    found = [await jobs.site.root(admission_pb2.GetPositionRequest(key=jobs.key(job))) for job in "cbdea"]
    assert [(each.position, each.waiting) for each in found] == [(1, 3), (2, 3), (3, 3), (1, 1), (0, 0)]
    assert [each.estimate.seconds for each in found] == [60, 120, 180, 0, 0]
    assert [each.HasField("estimate") for each in found] == [True, True, True, False, False]


async def test_a_list_has_those_admitted_and_then_those_that_wait(jobs: AdmissionSite) -> None:
    # As important as whoever waits, so that nobody has to leave.
    await jobs.start("a", "q", cores=8, replicas=2, user="ann", priority=5)
    await jobs.start("b", "q", cores=8, replicas=2, user="bob", priority=5)
    await jobs.wait("c", "q", user="ann")
    await jobs.wait("d", "q", user="ann", priority=5)
    await jobs.wait("e", "q", user="bob")
    assert await listed(jobs) == ["a", "b", "d", "c", "e"]
    assert await listed(jobs, user="ann") == ["a", "d", "c"]
    assert await listed(jobs, states=[PENDING]) == ["d", "c", "e"]
    assert await listed(jobs, states=[PENDING, ADMITTED], user="bob") == ["b", "e"]
    assert await listed(jobs, user="nobody") == []
    with pytest.raises(QueueNotFound):
        await jobs.site.root(admission_pb2.ListWorkloadsRequest(queue="none"))


async def test_a_list_goes_on_where_it_ended_whoever_left_meanwhile(jobs: AdmissionSite) -> None:
    await jobs.start("a", "q", cores=8, replicas=4)
    for job in "bcd":
        await jobs.wait(job, "q", cores=8, replicas=4)
    request = admission_pb2.ListWorkloadsRequest(queue=jobs.site.name("q"), page_size=2)
    first = await jobs.site.root(request)
    assert [each.key.job_id[0] for each in first.workloads] == ["a", "b"]
    await jobs.release("a")
    await jobs.until("b", ADMITTED)
    request.page_token = first.next_page_token
    assert [each.key.job_id[0] for each in (await jobs.site.root(request)).workloads] == ["c", "d"]


async def test_those_that_are_over_are_listed_if_they_are_asked_for(jobs: AdmissionSite) -> None:
    for job, user in (("a", "ann"), ("b", "bob"), ("c", "ann")):
        await jobs.start(job, "q", user=user)
        await jobs.release(job, CANCELLED)
    await jobs.start("d", "q")
    assert await listed(jobs) == ["d"]
    assert await listed(jobs, states=[RELEASED]) == ["c", "b", "a"]
    assert await listed(jobs, states=[RELEASED], user="ann") == ["c", "a"]
    assert await listed(jobs, states=[RELEASED, ADMITTED]) == ["d", "c", "b", "a"]
    request = admission_pb2.ListWorkloadsRequest(queue=jobs.site.name("q"), states=[RELEASED])
    assert {each.state for each in (await jobs.site.root(request)).workloads} == {RELEASED}


async def test_decisions_tell_roles_and_how_many_of_them(jobs: AdmissionSite) -> None:
    await jobs.site.create("rich", min={"cpu": 16_000})
    await jobs.start("a", "q", cores=8, replicas=2, most=4)
    await jobs.until_has("a", 2)
    await jobs.wait("r", "rich", cores=8)
    await jobs.until_waits("r", W.PENDING_REASON_RECLAIMING)
    await jobs.resize("a", 1)
    await jobs.until("r", ADMITTED)
    await jobs.site.root(queue_pb2.DrainQueueRequest(name=jobs.site.name("q")))
    await jobs.until("a", EVICTING)
    await jobs.release("a", EVICTED)
    found = await jobs.site.root(admission_pb2.ListDecisionsRequest(job_id=jobs.key("a").job_id))
    kind = admission_pb2.DecisionKind.Name
    told = [
        (kind(each.kind).removeprefix("DECISION_KIND_"), [(n.role, n.base, n.surplus) for n in each.replicas])
        for each in reversed(found.decisions)
    ]
    grown = [grown for what, grown in told if what == "GROW"]
    assert sum(surplus for ((role, base, surplus),) in grown if (role, base) == ("worker", 0)) == 2
    assert [each for each in told if each[0] != "GROW"] == [
        ("ADMIT", [("worker", 2, 0)]),
        ("EVICT", [("worker", 0, 1)]),
        ("EVICT", [("worker", 2, 1)]),
        ("REQUEUE", []),
    ]
    kept = await jobs.site.root(admission_pb2.ListDecisionsRequest(job_id=jobs.key("r").job_id, kinds=[KEEP]))
    assert [(each.role, each.base) for each in kept.decisions[0].replicas] == [("worker", 1)]
    reply = await jobs.site.root(admission_pb2.SimulateRequest(workloads=[jobs.workload("s", "rich", replicas=3)]))
    assert [(each.role, each.base) for each in reply.decisions[0].replicas] == [("worker", 3)]


async def test_an_explanation_is_about_the_attempt_that_is_asked_for(jobs: AdmissionSite) -> None:
    await jobs.start("a", "q")
    await jobs.site.root(queue_pb2.DrainQueueRequest(name=jobs.site.name("q")))
    await jobs.until("a", EVICTING)
    await jobs.release("a", EVICTED)
    name = admission_pb2.DecisionKind.Name

    async def told(attempt: int, *, all_attempts: bool = False) -> list[str]:
        request = admission_pb2.ExplainWorkloadRequest(key=jobs.key("a", attempt), all_attempts=all_attempts)
        found = (await jobs.site.root(request)).decisions
        return [f"{each.key.attempt} {name(each.kind).removeprefix('DECISION_KIND_')}" for each in found]

    assert await told(1) == ["1 ADMIT", "1 EVICT"]
    assert await told(2) == await told(0) == ["2 REQUEUE"]
    assert await told(1, all_attempts=True) == await told(0, all_attempts=True) == ["1 ADMIT", "1 EVICT", "2 REQUEUE"]


async def test_an_explanation_tells_a_user_nothing_of_attempts_in_queues_of_others(jobs: AdmissionSite) -> None:
    user, caller = await jobs.site.add_user()
    await jobs.site.create("mine")
    await jobs.site.grant(user, "mine")
    await jobs.start("a", "q")
    await jobs.release("a")
    await jobs.submit(jobs.workload("a", "mine", attempt=2))
    await jobs.until("a", ADMITTED)
    request = admission_pb2.ExplainWorkloadRequest(key=jobs.key("a", 0), all_attempts=True)
    assert [each.key.attempt for each in (await caller(request)).decisions] == [2]
    assert [each.key.attempt for each in (await jobs.site.root(request)).decisions] == [1, 2]


async def test_loads_are_summed_up_the_tree(jobs: AdmissionSite) -> None:
    await jobs.site.create("rich", min={"cpu": 16_000})
    await jobs.site.create("below", "q")
    for job in "abcd":
        await jobs.start(job, "below", cores=8)
    await jobs.wait("w", "q")
    found = [await load(jobs, word) for word in ("q", "below")]
    assert [each.used.amounts["cpu"] for each in found] == [32_000, 32_000]
    assert [(each.admitted, each.waiting, each.admissions) for each in found] == [(4, 1, 4), (4, 0, 4)]
    assert min(each.share for each in found) > 0
    await jobs.wait("r", "rich", cores=8)
    await jobs.until("d", EVICTING)
    busy, rich = await load(jobs, "q"), await load(jobs, "rich")
    assert (busy.leaving.amounts["cpu"], busy.evictions, busy.used.amounts["cpu"]) == (8000, 1, 32_000)
    assert (rich.kept.amounts["cpu"], rich.waiting, dict(rich.used.amounts)) == (8000, 1, {})
    assert rich.share == 0
    await jobs.release("d", EVICTED)
    await jobs.until("r", ADMITTED)
    below = admission_pb2.ListLoadsRequest(queue=jobs.site.name("q"), page_size=1)
    names = [each.queue for each in await jobs.site.root.all(below, "loads")]
    assert names == sorted([jobs.site.name("below"), jobs.site.name("q")])


async def test_decisions_are_listed_by_what_is_asked_for(jobs: AdmissionSite) -> None:
    await jobs.site.create("other")
    await jobs.start("a", "q")
    await jobs.start("b", "other")
    await jobs.site.root(queue_pb2.DrainQueueRequest(name=jobs.site.name("q")))
    await jobs.until("a", EVICTING)
    await jobs.release("a", EVICTED)
    queue = jobs.site.name("q")
    assert await decisions(jobs, queue=queue) == ["a REQUEUE", "a EVICT", "a ADMIT"]
    assert await decisions(jobs, job_id=jobs.key("b").job_id) == ["b ADMIT"]
    kinds = [admission_pb2.DECISION_KIND_EVICT, admission_pb2.DECISION_KIND_ADMIT]
    assert await decisions(jobs, queue=queue, kinds=kinds) == ["a EVICT", "a ADMIT"]
    newest = (await jobs.explain("a")).decisions[-1]
    assert await decisions(jobs, queue=queue, since=newest.time) == ["a REQUEUE"]
    assert newest.key == jobs.key("a", 2)


async def refused(caller: Caller, request: Message) -> type[Problem]:
    with pytest.raises(Problem) as found:
        await caller(request)
    return type(found.value)


async def test_a_user_is_told_only_of_queues_granted_to_it(jobs: AdmissionSite) -> None:
    user, caller = await jobs.site.add_user()
    await jobs.site.create("mine")
    await jobs.start("a", "q")
    await jobs.start("b", "mine")
    await jobs.site.grant(user, "mine")
    queue = jobs.site.name("q")
    for request in (
        admission_pb2.GetWorkloadRequest(key=jobs.key("a")),
        admission_pb2.GetPositionRequest(key=jobs.key("a")),
        admission_pb2.ExplainWorkloadRequest(key=jobs.key("a")),
        admission_pb2.ListWorkloadsRequest(queue=queue),
        admission_pb2.ListDecisionsRequest(queue=queue),
        admission_pb2.SimulateRequest(workloads=[jobs.workload("c", "q")]),
    ):
        assert await refused(caller, request) is QueueNotGranted
    supposing = admission_pb2.SimulateRequest(queues=[await jobs.site.get("mine")])
    assert await refused(caller, supposing) is PermissionDenied
    assert (await caller(admission_pb2.GetWorkloadRequest(key=jobs.key("b")))).workload.state == ADMITTED
    assert (await caller(admission_pb2.SimulateRequest(workloads=[jobs.workload("c", "mine")]))).workloads[0].admitted
    mine = [each.queue for each in await caller.all(admission_pb2.ListLoadsRequest(), "loads")]
    assert mine == [jobs.site.name("mine")]
    assert await decisions(jobs, caller) == ["b ADMIT"]
    assert await decisions(jobs, caller, job_id=jobs.key("a").job_id) == []
    await jobs.release("a")
    assert await refused(caller, admission_pb2.GetWorkloadRequest(key=jobs.key("a"))) is QueueNotGranted
