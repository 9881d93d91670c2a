"""Submitting, releasing, resizing and resuming workloads over a socket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

from fixtures_queue import own_service
from paddleflow.common.v1 import event_pb2
from paddleflow.problems import GrantMismatch, WorkloadNotFound, WorkloadStateConflict
from paddleflow.queue.v1 import admission_pb2, queue_pb2, workload_pb2
from support.admission_site import (
    ADMITTED,
    CANCELLED,
    EVICTED,
    EVICTING,
    FINISHED,
    HELD,
    NOT_STARTED,
    PENDING,
    RELEASED,
    AdmissionSite,
    watching,
)
from support.queue_process import QueueProcess
from support.queue_site import QueueSite, opened_site
from support.servers import PostgresServer, ValkeyServer


@pytest.fixture
async def jobs(site: QueueSite) -> AdmissionSite:
    admission = AdmissionSite(site)
    await admission.prepare("q")
    return admission


@pytest.fixture(scope="module")
def hasty_process(postgres_server: PostgresServer, valkey_server: ValkeyServer) -> Iterator[QueueProcess]:
    """A service that is patient with nobody."""
    settings = {"PF_QUEUE_ADMISSION_BACKOFF_SECONDS": "0.05", "PF_QUEUE_ADMISSION_REQUEUES": "2"}
    with own_service(postgres_server, valkey_server, settings) as process:
        yield process


@pytest.fixture
async def hasty(hasty_process: QueueProcess) -> AsyncIterator[AdmissionSite]:
    async with opened_site(hasty_process) as site:
        admission = AdmissionSite(site)
        await admission.prepare("q")
        yield admission


async def test_what_is_submitted_is_admitted_and_told(jobs: AdmissionSite) -> None:
    wanted = jobs.workload("j", "q", cores=2, replicas=3, priority=5, user="ann")
    wanted.grace_period.FromSeconds(30)
    wanted.min_run_time.FromSeconds(60)
    (result,) = await jobs.submit(wanted)
    assert result.key == jobs.key("j")
    assert result.workload.state == ADMITTED
    found = await jobs.until("j", ADMITTED)
    assert (found.queue, found.user, found.priority) == (wanted.queue, "ann", 5)
    assert (found.grace_period.seconds, found.min_run_time.seconds) == (30, 60)
    (role,) = found.roles
    assert (role.min_replicas, role.max_replicas, role.surplus_step) == (3, 3, 1)
    assert found.admitted.cluster == jobs.site.cluster
    assert found.admitted.key == found.key
    assert found.admitted.deadline.seconds > found.create_time.seconds
    assert list(found.admitted.roles) == [workload_pb2.RoleGrant(role="worker", base=3)]


async def test_submitting_again_is_answered_with_what_became_of_it(jobs: AdmissionSite) -> None:
    await jobs.start("j", "q")
    (again,) = await jobs.submit(jobs.workload("j", "q"))
    assert again.workload == await jobs.get("j")
    (other,) = await jobs.submit(jobs.workload("j", "q", cores=2))
    assert (other.refusal.code, other.refusal.reason) == ("ALREADY_EXISTS", "WORKLOAD_EXISTS")
    assert other.key == jobs.key("j")
    await jobs.release("j")
    (over,) = await jobs.submit(jobs.workload("j", "q"))
    assert over.workload.state == RELEASED
    (other,) = await jobs.submit(jobs.workload("j", "q", cores=2))
    assert other.refusal.reason == "WORKLOAD_EXISTS"


async def test_each_workload_is_taken_or_refused_by_itself(jobs: AdmissionSite) -> None:
    await jobs.site.create("closed")
    await jobs.site.root(queue_pb2.CloseQueueRequest(name=jobs.site.name("closed")))
    results = await jobs.submit(
        jobs.workload("a", "q"), jobs.workload("b", "none"), jobs.workload("c", "closed"), jobs.workload("d", "q")
    )
    told = [(result.refusal.code, result.refusal.reason) for result in results]
    assert told == [("", ""), ("NOT_FOUND", "QUEUE_NOT_FOUND"), ("FAILED_PRECONDITION", "QUEUE_STATE"), ("", "")]
    assert jobs.site.name("none") in results[1].refusal.message
    assert "closed" in results[2].refusal.message
    assert [result.HasField("workload") for result in results] == [True, False, False, True]
    with pytest.raises(WorkloadNotFound):
        await jobs.get("b")


async def test_what_can_never_run_is_refused_with_the_reason(jobs: AdmissionSite) -> None:
    await jobs.site.create("small", max={"cpu": 4000, "memory": 2**40}, max_per_user={"cpu": 2000})
    results = await jobs.submit(
        jobs.workload("a", "small", cores=1, replicas=5),
        jobs.workload("b", "small", cores=1, replicas=3),
        jobs.workload("c", "q", cores=9),
        jobs.workload("d", "q", cores=8, replicas=5),
    )
    assert {result.refusal.reason for result in results} == {"NEVER_FITS"}
    queue = jobs.site.name("small")
    told = [dict(result.refusal.metadata) for result in results]
    assert told[0]["resource"] == told[1]["resource"] == "cpu"
    assert (told[1]["asked"], told[1]["most"], told[1]["queue"]) == ("3000", "2000", queue)
    assert told[2] == {"resource": "cpu", "asked": "9000", "most": "8000", "role": "worker"}
    assert told[3] == {"asked": "5", "most": "4", "role": "worker"}
    assert "nearest machine" in results[2].refusal.message


async def test_a_resource_that_the_queue_does_not_have_is_refused(jobs: AdmissionSite) -> None:
    (result,) = await jobs.submit(jobs.workload("j", "q", more={"nvidia.com/gpu": 1}))
    assert (result.refusal.code, result.refusal.reason) == ("FAILED_PRECONDITION", "RESOURCE_NOT_DECLARED")
    assert result.refusal.metadata["resource"] == "nvidia.com/gpu"


@pytest.mark.parametrize("outcome", [FINISHED, CANCELLED])
async def test_what_is_released_is_over_and_free(
    jobs: AdmissionSite, outcome: workload_pb2.ReleaseOutcome.ValueType
) -> None:
    await jobs.start("j", "q", cores=8, replicas=4)
    await jobs.wait("next", "q")
    result = await jobs.release("j", outcome)
    assert result.workload.state == RELEASED
    assert not result.workload.HasField("admitted")
    await jobs.until("next", ADMITTED)
    assert (await jobs.get("j")).key.attempt == 1
    again = await jobs.end(jobs.key("j"), f"{jobs.key('j').job_id}/1", FINISHED)
    assert again.workload == result.workload
    with pytest.raises(WorkloadNotFound):
        await jobs.get("j", attempt=2)


async def test_what_waits_is_released_without_a_grant(jobs: AdmissionSite) -> None:
    await jobs.start("j", "q", cores=8, replicas=4)
    await jobs.wait("w", "q")
    refused = await jobs.end(jobs.key("w"), "something")
    assert refused.refusal.reason == "GRANT_MISMATCH"
    assert (await jobs.end(jobs.key("w"), "", CANCELLED)).workload.state == RELEASED
    assert (await jobs.end(jobs.key("w"), "", CANCELLED)).workload.state == RELEASED
    assert (await jobs.get("j")).state == ADMITTED


async def test_only_who_names_what_it_holds_ends_it(jobs: AdmissionSite) -> None:
    await jobs.start("j", "q")
    for grant in ("", "other"):
        refused = await jobs.end(jobs.key("j"), grant)
        assert (refused.refusal.code, refused.refusal.reason) == ("FAILED_PRECONDITION", "GRANT_MISMATCH")
    unknown = await jobs.end(jobs.key("nobody"), "")
    assert (unknown.refusal.code, unknown.refusal.reason) == ("NOT_FOUND", "WORKLOAD_NOT_FOUND")
    assert (await jobs.get("j")).state == ADMITTED
    await jobs.release("j")
    late = await jobs.end(jobs.key("j"), "other")
    assert late.refusal.reason == "GRANT_MISMATCH"


async def test_nobody_says_it_was_evicted_who_was_not_told_to_leave(jobs: AdmissionSite) -> None:
    await jobs.start("j", "q")
    refused = await jobs.release("j", EVICTED)
    assert (refused.refusal.code, refused.refusal.reason) == ("FAILED_PRECONDITION", "WORKLOAD_STATE")
    assert (await jobs.get("j")).state == ADMITTED


async def test_who_was_told_to_leave_waits_again_as_the_next_attempt(jobs: AdmissionSite) -> None:
    await jobs.start("j", "q")
    await jobs.site.root(queue_pb2.DrainQueueRequest(name=jobs.site.name("q")))
    first = await jobs.until("j", EVICTING)
    over = await jobs.release("j", EVICTED)
    assert over.workload.state == RELEASED
    again = await jobs.until("j", PENDING)
    assert (again.key.attempt, again.create_time, again.requeue_count) == (2, first.create_time, 0)
    assert (await jobs.get("j", attempt=1)).state == RELEASED
    await jobs.site.root(queue_pb2.OpenQueueRequest(name=jobs.site.name("q")))
    assert (await jobs.until("j", ADMITTED)).admitted.grant_id != first.admitted.grant_id


async def change(jobs: AdmissionSite, job: str, priority: int, revision: int = 0) -> workload_pb2.Workload:
    request = admission_pb2.UpdateWorkloadRequest(key=jobs.key(job), priority=priority, revision=revision)
    changed: workload_pb2.Workload = (await jobs.site.root(request)).workload
    return changed


async def test_who_waits_is_first_once_its_priority_is_higher(jobs: AdmissionSite) -> None:
    await jobs.start("all", "q", cores=8, replicas=4)
    for job in ("a", "b"):
        await jobs.wait(job, "q", cores=8, replicas=4)
    async with watching(jobs.site.root, jobs.site.name("q")) as watcher:
        await watcher.existing()
        changed = await change(jobs, "b", 1000)
        assert (changed.priority, changed.state) == (1000, PENDING)
        assert (await watcher.until("updated")).updated == changed
    assert (await jobs.explain("b")).waiting.position.position == 1
    await jobs.release("all")
    await jobs.until("b", ADMITTED)
    assert (await jobs.get("a")).state == PENDING
    with pytest.raises(WorkloadStateConflict):
        await change(jobs, "b", 0)
    with pytest.raises(WorkloadNotFound):
        await change(jobs, "none", 0)


async def test_an_older_wish_that_comes_late_is_passed_over(jobs: AdmissionSite) -> None:
    await jobs.site.root(queue_pb2.HoldQueueRequest(name=jobs.site.name("q")))
    await jobs.wait("j", "q", priority=1, revision=1)
    assert (await change(jobs, "j", 3, revision=3)).priority == 3
    assert (await change(jobs, "j", 2, revision=2)).priority == 3
    assert (await change(jobs, "j", 4, revision=3)).priority == 3
    (again,) = await jobs.submit(jobs.workload("j", "q", priority=1, revision=1))
    assert (again.workload.priority, again.workload.revision) == (3, 3)
    assert (await change(jobs, "j", 5)).revision == 3


async def test_what_could_not_be_started_waits_for_a_while(jobs: AdmissionSite) -> None:
    await jobs.start("j", "q")
    await jobs.release("j", NOT_STARTED)
    story = await jobs.until_waits("j", workload_pb2.PENDING_REASON_BACKOFF)
    assert (story.workload.key.attempt, story.workload.requeue_count) == (2, 1)
    wait = story.waiting.not_before.seconds - story.decisions[-1].time.seconds
    assert 59 <= wait <= 67
    assert (await jobs.site.root(admission_pb2.ResumeWorkloadRequest(key=story.workload.key))).workload.state == PENDING


async def test_what_can_never_be_started_is_held_until_somebody_resumes_it(hasty: AdmissionSite) -> None:
    await hasty.start("j", "q")
    for attempt in (1, 2, 3):
        await hasty.until("j", ADMITTED, attempt)
        await hasty.release("j", NOT_STARTED)
    held = await hasty.until("j", HELD)
    assert (held.key.attempt, held.requeue_count) == (4, 3)
    assert "resume" in (await hasty.explain("j")).waiting.message
    listed = await hasty.site.root(admission_pb2.ListWorkloadsRequest(queue=hasty.site.name("q")))
    assert [workload.state for workload in listed.workloads] == [HELD]
    await hasty.site.root(admission_pb2.ResumeWorkloadRequest(key=held.key))
    admitted = await hasty.until("j", ADMITTED)
    assert (admitted.key, admitted.requeue_count) == (held.key, 0)
    with pytest.raises(WorkloadStateConflict):
        await hasty.site.root(admission_pb2.ResumeWorkloadRequest(key=held.key))


async def test_what_is_held_can_be_released(hasty: AdmissionSite) -> None:
    await hasty.start("j", "q")
    for attempt in (1, 2, 3):
        await hasty.until("j", ADMITTED, attempt)
        await hasty.release("j", NOT_STARTED)
    await hasty.until("j", HELD)
    assert (await hasty.release("j", CANCELLED)).workload.state == RELEASED
    with pytest.raises(WorkloadNotFound):
        await hasty.site.root(admission_pb2.ResumeWorkloadRequest(key=hasty.key("none")))


async def test_a_job_has_one_attempt_at_a_time(jobs: AdmissionSite) -> None:
    await jobs.start("j", "q")
    (early,) = await jobs.submit(jobs.workload("j", "q", attempt=2))
    assert early.refusal.reason == "WORKLOAD_EXISTS"
    assert f"{jobs.key('j').job_id}/1" in early.refusal.message
    await jobs.site.root(queue_pb2.DrainQueueRequest(name=jobs.site.name("q")))
    await jobs.until("j", EVICTING)
    await jobs.release("j", EVICTED)
    assert (await jobs.until("j", PENDING)).key.attempt == 2


async def test_the_facts_about_a_job_are_numbered_over_its_attempts(jobs: AdmissionSite) -> None:
    head = (await jobs.site.root(event_pb2.GetEventHeadRequest())).head
    for attempt in (1, 2):
        await jobs.start("j", "q", attempt=attempt)
        await jobs.release("j")
    batch = (await jobs.site.root(event_pb2.ListEventsRequest(after=head, limit=1000))).batch
    subject = f"workload/{jobs.key('j').job_id}"
    versions = [event.subject_version for event in batch.events if event.subject == subject]
    assert len(versions) == 6
    assert versions == sorted(set(versions))


async def test_a_retry_that_the_job_submits_is_the_last_attempt(jobs: AdmissionSite) -> None:
    await jobs.start("j", "q")
    await jobs.release("j")
    await jobs.start("j", "q", attempt=2)
    assert (await jobs.get("j")).key.attempt == 2
    await jobs.release("j")
    assert (await jobs.get("j")).key.attempt == 2


async def test_an_attempt_that_comes_back_may_have_a_number_that_was_used(jobs: AdmissionSite) -> None:
    """Whoever numbers attempts in another order than they come does harm to nobody else."""
    await jobs.start("j", "q", attempt=2)
    await jobs.release("j")
    await jobs.start("j", "q")
    await jobs.site.root(queue_pb2.DrainQueueRequest(name=jobs.site.name("q")))
    await jobs.until("j", EVICTING)
    await jobs.release("j", EVICTED, attempt=1)
    again = await jobs.until("j", PENDING)
    assert again.key.attempt == 2
    assert (await jobs.release("j", CANCELLED)).workload.state == RELEASED


async def test_surplus_is_given_back_in_steps(jobs: AdmissionSite) -> None:
    await jobs.start("j", "q", cores=8, replicas=2, most=6, step=2)
    before = await jobs.until_has("j", 2)
    for surplus in (1, 3, 4, 6):
        with pytest.raises(WorkloadStateConflict, match="steps of 2"):
            await jobs.resize("j", surplus)
    with pytest.raises(GrantMismatch):
        await jobs.resize("j", 0, grant="other")
    assert await jobs.resize("j", 2) == await jobs.get("j")
    smaller = await jobs.resize("j", 0)
    assert smaller.admitted.grant_version > before.admitted.grant_version
    assert [(role.base, role.surplus) for role in smaller.admitted.roles] == [(2, 0)]


async def test_who_waits_holds_nothing_to_give_back(jobs: AdmissionSite) -> None:
    await jobs.start("j", "q", cores=8, replicas=4)
    await jobs.wait("w", "q")
    with pytest.raises(GrantMismatch):
        await jobs.resize("w", 0)
    with pytest.raises(WorkloadNotFound):
        await jobs.resize("none", 0)


async def test_unknown_workloads_and_old_grants_are_passed_over(jobs: AdmissionSite) -> None:
    await jobs.start("j", "q")
    reports = [
        admission_pb2.RunningReport(key=jobs.key("none"), grant_id="x"),
        admission_pb2.RunningReport(key=jobs.key("j"), grant_id="old"),
    ]
    await jobs.site.root(admission_pb2.ReportRunningRequest(reports=reports))
    assert (await jobs.get("j")).state == ADMITTED


async def test_what_ends_is_found_at_every_moment(jobs: AdmissionSite) -> None:
    names = [f"j{number}" for number in range(100)]
    await jobs.submit(*(jobs.workload(name, "q", cores=0) for name in names))
    await jobs.until(names[-1], ADMITTED)
    releases = [admission_pb2.Release(key=jobs.key(name), outcome=FINISHED) for name in names]
    for release in releases:
        release.grant_id = f"{release.key.job_id}/1"
    ending = asyncio.create_task(jobs.site.root(admission_pb2.ReleaseWorkloadsRequest(releases=releases)))
    while not ending.done():
        found = await asyncio.gather(*(jobs.get(name, attempt) for name in names[:10] for attempt in (0, 1)))
        assert {each.key.attempt for each in found} == {1}
    await ending
