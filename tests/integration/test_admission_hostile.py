"""Requests about workloads that mean harm: each is refused naming its fields, and nothing is stored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from google.protobuf.message import Message

from paddleflow.problems import InvalidArgument
from paddleflow.queue.v1 import admission_pb2 as pb
from paddleflow.queue.v1 import workload_pb2
from support.admission_site import FINISHED, AdmissionSite
from support.queue_site import QueueSite

Spoil = Callable[[workload_pb2.Workload], Any]
HUGE = "x" * 100_000


@pytest.fixture
async def jobs(site: QueueSite) -> AdmissionSite:
    admission = AdmissionSite(site)
    await admission.prepare("q")
    return admission


async def violated(jobs: AdmissionSite, request: Message) -> list[str]:
    with pytest.raises(InvalidArgument) as found:
        await jobs.site.root(request)
    assert len(found.value.message) < 2000
    return [violation.field for violation in found.value.violations]


async def nothing_waits(jobs: AdmissionSite) -> bool:
    reply = await jobs.site.root(pb.ListWorkloadsRequest(queue=jobs.site.name("q")))
    return not reply.workloads


def amounts(**named: int) -> Spoil:
    return lambda workload: workload.roles[0].per_replica.amounts.update(named)


def role(**fields: Any) -> Spoil:
    return lambda workload: workload.roles[0].MergeFrom(workload_pb2.RoleRequest(**fields))


def least(number: int, most: int = 0) -> Spoil:
    def spoil(workload: workload_pb2.Workload) -> None:
        workload.roles[0].min_replicas, workload.roles[0].max_replicas = number, most

    return spoil


SPOILED: list[tuple[str, Spoil]] = [
    ("key.job_id", lambda workload: workload.key.ClearField("job_id")),
    *(
        ("key.job_id", lambda workload, word=word: setattr(workload.key, "job_id", word))
        for word in ("a/1", "a b", "-a", "a" * 129, "ä", "nul\0", "line\n", "' or 1=1 --", HUGE)
    ),
    ("key.attempt", lambda workload: workload.key.ClearField("attempt")),
    ("key.attempt", lambda workload: setattr(workload.key, "attempt", -1)),
    ("key.attempt", lambda workload: setattr(workload.key, "attempt", 2**31 - 1)),
    ("queue", lambda workload: setattr(workload, "queue", "Not A Queue")),
    ("user", lambda workload: workload.ClearField("user")),
    ("user", lambda workload: setattr(workload, "user", "nul\0")),
    ("priority", lambda workload: setattr(workload, "priority", 1_000_001)),
    ("priority", lambda workload: setattr(workload, "priority", -(2**31))),
    ("grace_period", lambda workload: setattr(workload.grace_period, "seconds", -1)),
    ("grace_period", lambda workload: setattr(workload.grace_period, "seconds", 2**63 - 1)),
    ("min_run_time", lambda workload: setattr(workload.min_run_time, "nanos", -(2**31))),
    ("min_run_time", lambda workload: setattr(workload.min_run_time, "seconds", 2**63 - 1)),
    ("roles", lambda workload: workload.ClearField("roles")),
    ("roles", lambda workload: workload.roles.extend([workload.roles[0]])),
    ("roles", lambda workload: workload.roles.extend(workload_pb2.RoleRequest(role=f"r{n}") for n in range(32))),
    ("roles", least(0)),
    ("roles", least(0, 5)),
    ("roles", lambda workload: (amounts(cpu=10**18)(workload), least(2)(workload))),
    ("roles", lambda workload: (amounts(cpu=10**18)(workload), least(1, 1_000_000)(workload))),
    ("roles[0].role", role(role="Worker")),
    ("roles[0].role", role(role=HUGE)),
    ("roles[0].min_replicas", least(-1, 1)),
    ("roles[0].min_replicas", least(2**31 - 1)),
    ("roles[0].max_replicas", least(5, 4)),
    ("roles[0].max_replicas", least(1, -1)),
    ("roles[0].surplus_step", role(surplus_step=-1)),
    ("roles[0].per_replica.amounts.cpu", amounts(cpu=-1)),
    ("roles[0].per_replica.amounts.cpu", amounts(cpu=2**63 - 1)),
    ("roles[0].per_replica.amounts", amounts(**{"": 1})),
    ("roles[0].per_replica.amounts", amounts(**{HUGE: 1})),
    ("roles[0].per_replica", amounts(**{f"r{n}": 1 for n in range(1000)})),
]


@pytest.mark.parametrize(("field", "spoil"), SPOILED, ids=map(str, range(len(SPOILED))))
async def test_each_field_that_cannot_be_is_named(jobs: AdmissionSite, field: str, spoil: Spoil) -> None:
    good, bad = jobs.workload("good", "q"), jobs.workload("bad", "q")
    spoil(bad)
    fields = await violated(jobs, pb.SubmitWorkloadsRequest(workloads=[good, bad]))
    assert f"workloads[1].{field}" in fields
    assert await nothing_waits(jobs)
    assert f"workloads[0].{field}" in await violated(jobs, pb.SimulateRequest(workloads=[bad]))


async def test_as_many_as_may_come_at_once_and_no_more(jobs: AdmissionSite) -> None:
    wanted = [jobs.workload(f"j{number}", "q") for number in range(1001)]
    assert await violated(jobs, pb.SubmitWorkloadsRequest(workloads=wanted)) == ["workloads"]
    assert await violated(jobs, pb.SimulateRequest(workloads=wanted)) == ["workloads"]
    assert await violated(jobs, pb.SubmitWorkloadsRequest()) == ["workloads"]
    assert await nothing_waits(jobs)
    results = await jobs.submit(*wanted[1:])
    assert {result.refusal.reason for result in results} == {""}
    releases = [pb.Release(key=each.key, outcome=FINISHED) for each in wanted]
    assert await violated(jobs, pb.ReleaseWorkloadsRequest(releases=releases)) == ["releases"]
    reports = [pb.RunningReport(key=each.key) for each in wanted]
    assert await violated(jobs, pb.ReportRunningRequest(reports=reports)) == ["reports"]


async def test_nobody_is_named_twice(jobs: AdmissionSite) -> None:
    one = jobs.workload("j", "q")
    assert await violated(jobs, pb.SubmitWorkloadsRequest(workloads=[one, one])) == ["workloads"]
    assert await violated(jobs, pb.SimulateRequest(workloads=[one, one])) == ["workloads"]
    release = pb.Release(key=one.key, outcome=FINISHED)
    assert await violated(jobs, pb.ReleaseWorkloadsRequest(releases=[release, release])) == ["releases"]
    assert await nothing_waits(jobs)


async def test_a_release_says_how_it_ended(jobs: AdmissionSite) -> None:
    await jobs.start("j", "q")
    for outcome in (0, 99):
        release = pb.Release(key=jobs.key("j"), grant_id="x")
        release.outcome = outcome  # type: ignore[assignment]  # no outcome at all
        found = await violated(jobs, pb.ReleaseWorkloadsRequest(releases=[release]))
        assert found == ["releases[0].outcome"]


def roles(*grants: tuple[str, int]) -> list[workload_pb2.RoleGrant]:
    return [workload_pb2.RoleGrant(role=name, surplus=surplus) for name, surplus in grants]


async def test_other_requests_name_their_fields_too(jobs: AdmissionSite) -> None:
    key, bad = jobs.key("j"), workload_pb2.WorkloadKey(job_id="a/1", attempt=0)
    requests: list[tuple[Message, str]] = [
        (pb.ReleaseWorkloadsRequest(releases=[pb.Release(key=bad, outcome=FINISHED)]), "releases[0].key.job_id"),
        (pb.ResizeWorkloadRequest(key=bad), "key.attempt"),
        (pb.ResizeWorkloadRequest(key=key, roles=roles(("worker", -1))), "roles"),
        (pb.ResizeWorkloadRequest(key=key, roles=roles(("worker", 1), ("worker", 1))), "roles"),
        (pb.ReportRunningRequest(reports=[pb.RunningReport(key=bad)]), "reports[0].key.job_id"),
        (pb.ResumeWorkloadRequest(key=bad), "key.attempt"),
        (pb.UpdateWorkloadRequest(key=bad), "key.attempt"),
        (pb.UpdateWorkloadRequest(key=key, priority=2_000_000), "priority"),
        (pb.UpdateWorkloadRequest(key=key, revision=-1), "revision"),
        (pb.GetWorkloadRequest(key=bad), "key.job_id"),
        (pb.GetPositionRequest(key=workload_pb2.WorkloadKey(job_id="a", attempt=-1)), "key.attempt"),
        (pb.ExplainWorkloadRequest(), "key.job_id"),
        (pb.ListWorkloadsRequest(), "queue"),
        (pb.ListWorkloadsRequest(queue="q", user="nul\0"), "user"),
        (pb.ListWorkloadsRequest(queue="q", states=[99]), "states"),  # type: ignore[list-item]  # no state at all
        (pb.ListWorkloadsRequest(queue="q", page_size=-1), "page_size"),
        (pb.ListLoadsRequest(cluster=HUGE), "cluster"),
        (pb.ListLoadsRequest(queue="nul\0"), "queue"),
        (pb.ListDecisionsRequest(job_id="nul\0"), "job_id"),
        (pb.ListDecisionsRequest(kinds=[99]), "kinds"),  # type: ignore[list-item]  # no kind at all
    ]
    await jobs.site.create("known")
    for request, field in requests:
        if isinstance(request, pb.ListWorkloadsRequest) and request.queue:
            request.queue = jobs.site.name("known")
        assert field in await violated(jobs, request), request


@pytest.mark.parametrize("seconds", [2**63 - 1, -(2**63), 10**12])
async def test_decisions_since_a_time_that_is_none(jobs: AdmissionSite, seconds: int) -> None:
    request = pb.ListDecisionsRequest()
    request.since.seconds = seconds
    assert await violated(jobs, request) == ["since"]
