"""Workloads of the client: to and from the wire, batches of which a part is refused, and their watch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

import paddleflow
from paddleflow import aio
from paddleflow.common.v1 import event_pb2
from paddleflow.models import (
    Admitted,
    Bookmark,
    Change,
    ChangeKind,
    Decision,
    DecisionKind,
    Evicting,
    EvictionReason,
    GoneNode,
    Node,
    PendingReason,
    Position,
    Queue,
    QueueLoad,
    Release,
    Released,
    ReleaseOutcome,
    Requeued,
    RoleGrant,
    RoleRequest,
    RunningReport,
    Shortage,
    SimulatedWorkload,
    Waiting,
    WatchItem,
    Workload,
    WorkloadFact,
    WorkloadKey,
    WorkloadState,
)
from paddleflow.problems import (
    FailedPrecondition,
    GrantMismatch,
    InvalidArgument,
    NeverFits,
    QueueNotFound,
    ShuttingDown,
    WorkloadNotFound,
)
from paddleflow.queue.v1 import admission_pb2, workload_pb2
from paddleflow.sync import PaddleFlow
from paddleflow.wire.admission import decision_from_wire, simulation_from_wire
from paddleflow.wire.workloads import workload_from_wire, workload_to_wire
from support.fake_paddleflow import FakePaddleFlow
from support.fake_services import BEGAN, PASSWORD, Stream

NAMES = st.text(max_size=8)
COUNTS = st.integers(0, 2**31 - 1)
LASTING = st.timedeltas(timedelta(), timedelta(days=365))
ROLES = st.builds(
    RoleRequest,
    role=NAMES,
    min_replicas=COUNTS,
    per_replica=st.dictionaries(NAMES, st.integers(0, 10**18), max_size=3),
    max_replicas=COUNTS,
    surplus_step=COUNTS,
)
WORKLOADS = st.builds(
    Workload,
    key=st.builds(WorkloadKey, NAMES, COUNTS),
    queue=NAMES,
    user=NAMES,
    roles=st.lists(ROLES, max_size=3).map(tuple),
    priority=st.integers(-1_000_000, 1_000_000),
    grace_period=LASTING,
    min_run_time=LASTING,
)
MOMENT = BEGAN.ToDatetime(tzinfo=UTC)
KEY = workload_pb2.WorkloadKey(job_id="a", attempt=1)
A = Workload(WorkloadKey("a", 1), "team", "alice", (RoleRequest("worker", 2, {"cpu": 1000}),))


@pytest.fixture
def client(fake: FakePaddleFlow) -> Iterator[PaddleFlow]:
    with paddleflow.connect(fake.address, user="root", password=PASSWORD) as opened:
        opened.queues.create(Queue("team"))
        yield opened


@given(WORKLOADS)
def test_a_workload_survives_the_wire(workload: Workload) -> None:
    sent = workload_pb2.Workload.FromString(workload_to_wire(workload).SerializeToString())
    assert workload_from_wire(sent) == workload


@pytest.mark.parametrize(
    ("text", "key"),
    [("job", WorkloadKey("job")), ("job/3", WorkloadKey("job", 3)), ("a.b-c/12", WorkloadKey("a.b-c", 12))],
)
def test_a_key_is_read_as_it_is_written(text: str, key: WorkloadKey) -> None:
    assert WorkloadKey.parse(text) == key
    assert str(key) == text


@pytest.mark.parametrize("text", ["job/", "job/x", "job/-1", "job/1/2", "job/²", "job/99999999999"])
def test_what_is_no_key_is_refused(text: str) -> None:
    with pytest.raises(InvalidArgument, match="JOB/ATTEMPT"):
        WorkloadKey.parse(text)


def test_each_of_a_batch_is_taken_or_refused_by_itself(client: PaddleFlow) -> None:
    taken, refused = client.workloads.submit([A, replace(A, key=WorkloadKey("b", 1), queue="else")])
    assert taken.outcome == replace(A, state=WorkloadState.PENDING, create_time=MOMENT)
    assert refused.key == WorkloadKey("b", 1)
    assert isinstance(refused.outcome, QueueNotFound)
    assert refused.outcome.message == "there is no queue else"


def test_a_release_names_what_is_held(fake: FakePaddleFlow, client: PaddleFlow) -> None:
    client.workloads.submit([A])
    fake.world.workloads["a"].admitted.grant_id = "g"
    [wrong] = client.workloads.release([Release(A.key, ReleaseOutcome.FINISHED)])
    assert isinstance(wrong.outcome, GrantMismatch)
    [right] = client.workloads.release([Release(A.key, ReleaseOutcome.FINISHED, "g")], request_id="r")
    assert isinstance(right.outcome, Workload)
    assert right.outcome.state is WorkloadState.RELEASED
    assert fake.world.asked(admission_pb2.ReleaseWorkloadsRequest)[-1].request_id == "r"


def test_a_reason_that_is_not_known_here_is_told_by_its_code_and_in_the_metadata() -> None:
    told = admission_pb2.SimulateResponse()
    refusal = told.workloads.add().refusal
    refusal.code, refusal.reason, refusal.metadata["limit"] = "FAILED_PRECONDITION", "FROM_THE_FUTURE", "3"
    [simulated] = simulation_from_wire(told).workloads
    assert type(simulated.refusal) is FailedPrecondition
    assert simulated.refusal.metadata == {"limit": "3", "reason": "FROM_THE_FUTURE"}


def test_surplus_is_given_back_and_running_told(fake: FakePaddleFlow, client: PaddleFlow) -> None:
    client.workloads.submit([A])
    fake.world.workloads["a"].admitted.MergeFrom(
        workload_pb2.Admitted(
            key=KEY, grant_id="g", grant_version=2, roles=[workload_pb2.RoleGrant(role="worker", base=2, surplus=4)]
        )
    )
    left = client.workloads.resize(A.key, "g", {"worker": 1})
    assert left.admitted == Admitted(A.key, "g", 2, (RoleGrant("worker", 2, 1),))
    client.workloads.report_running([RunningReport(A.key, "g")])
    [asked] = fake.world.asked(admission_pb2.ReportRunningRequest)
    assert [report.grant_id for report in asked.reports] == ["g"]
    assert asked.request_id


def test_a_workload_is_read_listed_and_resumed(fake: FakePaddleFlow, client: PaddleFlow) -> None:
    client.workloads.submit([A, replace(A, key=WorkloadKey("b", 1))])
    fake.world.workloads["b"].state = workload_pb2.WORKLOAD_STATE_HELD
    assert [each.key.job_id for each in client.workloads.list("team")] == ["a", "b"]
    [held] = client.workloads.list("team", states=[WorkloadState.HELD], user="alice")
    assert held.key == WorkloadKey("b", 1)
    assert client.workloads.resume(held.key).state is WorkloadState.PENDING
    assert client.workloads.get(WorkloadKey("b")).state is WorkloadState.PENDING
    with pytest.raises(WorkloadNotFound):
        client.workloads.get(WorkloadKey("c"))


def test_the_priority_of_a_workload_is_changed(fake: FakePaddleFlow, client: PaddleFlow) -> None:
    client.workloads.submit([A])
    changed = client.workloads.update(A.key, 1000, revision=2)
    assert (changed.priority, changed.revision) == (1000, 2)
    assert fake.world.asked(admission_pb2.UpdateWorkloadRequest)[-1].request_id


def test_why_a_workload_waits_is_told_wholly(fake: FakePaddleFlow, client: PaddleFlow) -> None:
    client.workloads.submit([A])
    told = admission_pb2.ExplainWorkloadResponse()
    told.waiting.reason = workload_pb2.PENDING_REASON_RECLAIMING
    told.waiting.message, told.waiting.queue = "Others leave.", "team"
    told.waiting.shortages.add(resource="cpu", asked=2000, free=500)
    told.waiting.behind.job_id = "x"
    told.waiting.leaving.add(job_id="y", attempt=2)
    told.waiting.kept_until.CopyFrom(BEGAN)
    told.waiting.position.position, told.waiting.position.waiting = 1, 3
    told.waiting.position.estimate.FromSeconds(90)
    told.decisions.add(id=7, time=BEGAN, key=KEY, queue="team", kind=admission_pb2.DECISION_KIND_KEEP)
    fake.world.explained["a"] = told
    explained = client.workloads.explain(WorkloadKey("a"))
    position = Position(1, 3, timedelta(seconds=90))
    assert explained.waiting == Waiting(
        PendingReason.RECLAIMING,
        "Others leave.",
        "team",
        (Shortage("cpu", 2000, 500),),
        behind=WorkloadKey("x"),
        leaving=(WorkloadKey("y", 2),),
        kept_until=MOMENT,
        position=position,
    )
    assert explained.decisions == [Decision(7, MOMENT, WorkloadKey("a", 1), "team", DecisionKind.KEEP)]
    client.workloads.explain(WorkloadKey("a"), all_attempts=True)
    assert [asked.all_attempts for asked in fake.world.asked(admission_pb2.ExplainWorkloadRequest)] == [False, True]
    assert client.workloads.position(A.key) == position


def test_a_workload_that_does_not_wait_has_no_reason(client: PaddleFlow) -> None:
    client.workloads.submit([A])
    assert client.workloads.explain(A.key).waiting is None
    assert client.workloads.position(A.key) == Position(0)


def test_an_eviction_tells_for_whom() -> None:
    told = admission_pb2.DecisionRecord(
        kind=admission_pb2.DECISION_KIND_EVICT,
        eviction_reason=workload_pb2.EVICTION_REASON_RECLAIM,
        beneficiary=KEY,
        replicas=[workload_pb2.RoleGrant(role="worker", surplus=2)],
    )
    decision = decision_from_wire(told)
    assert decision.eviction_reason is EvictionReason.RECLAIM
    assert decision.beneficiary == WorkloadKey("a", 1)
    assert decision.replicas == (RoleGrant("worker", 0, 2),)


def test_a_simulation_sends_all_that_is_supposed(fake: FakePaddleFlow, client: PaddleFlow) -> None:
    never = fake.world.simulated.workloads.add(key=KEY)
    never.refusal.code, never.refusal.reason = "FAILED_PRECONDITION", "NEVER_FITS"
    fake.world.simulated.workloads.add(key=workload_pb2.WorkloadKey(job_id="b", attempt=1), admitted=True)
    fake.world.simulated.horizon.FromSeconds(60)
    fake.world.simulated.cut_off = True
    found = client.workloads.simulate(
        [A],
        queues=[Queue("team", max={"cpu": 1})],
        nodes=[Node("n", {"cpu": 4000}, cluster="c")],
        gone=[GoneNode("c", "m")],
    )
    first, second = found.workloads
    assert isinstance(first.refusal, NeverFits)
    assert second == SimulatedWorkload(WorkloadKey("b", 1), admitted=True)
    [asked] = fake.world.asked(admission_pb2.SimulateRequest)
    assert [(node.cluster, node.name) for node in asked.nodes] == [("c", "n")]
    assert [(node.cluster, node.name) for node in asked.gone] == [("c", "m")]
    assert [queue.name for queue in asked.queues] == ["team"]
    assert (found.horizon, found.cut_off) == (timedelta(seconds=60), True)


def test_loads_and_decisions_are_listed(fake: FakePaddleFlow, client: PaddleFlow) -> None:
    fake.world.loads = [admission_pb2.QueueLoad(queue="team", share=0.5, waiting=1, admitted=2, admissions=3)]
    fake.world.loads[0].used.amounts["cpu"] = 2000
    [load] = client.workloads.loads(queue="team")
    assert load == QueueLoad("team", {"cpu": 2000}, share=0.5, waiting=1, admitted=2, admissions=3)
    fake.world.decisions = [admission_pb2.DecisionRecord(id=number, key=KEY) for number in (2, 1)]
    since = datetime(2026, 5, 1, tzinfo=UTC)
    told = client.workloads.decisions(queue="team", job_id="a", kinds=[DecisionKind.EVICT], since=since)
    assert [decision.id for decision in told] == [2, 1]
    [asked] = fake.world.asked(admission_pb2.ListDecisionsRequest)
    assert list(asked.kinds) == [admission_pb2.DECISION_KIND_EVICT]
    assert asked.since.ToDatetime(tzinfo=UTC) == since


def changes() -> admission_pb2.WatchWorkloadsResponse:
    """A message with every kind of fact, and one that is not known here."""
    message = admission_pb2.WatchWorkloadsResponse(resume_token="t2")
    for fact in (
        workload_pb2.WorkloadEvent(admitted=workload_pb2.Admitted(key=KEY, grant_id="g", queue="team", deadline=BEGAN)),
        workload_pb2.WorkloadEvent(
            evicting=workload_pb2.Evicting(
                key=KEY, grant_id="g", reason=workload_pb2.EVICTION_REASON_DRAIN, grace_deadline=BEGAN
            )
        ),
        workload_pb2.WorkloadEvent(
            released=workload_pb2.Released(key=KEY, grant_id="g", outcome=workload_pb2.RELEASE_OUTCOME_EVICTED)
        ),
        workload_pb2.WorkloadEvent(requeued=workload_pb2.Requeued(key=KEY, held=True)),
        workload_pb2.WorkloadEvent(),
    ):
        message.events.add(kind=event_pb2.CHANGE_KIND_UPDATED, event=fact)
    return message


async def test_a_watch_tells_what_there_is_then_what_happens_and_resumes(fake: FakePaddleFlow) -> None:
    existing = admission_pb2.WatchWorkloadsResponse(resume_token="t1", bookmark=True)
    existing.events.add(kind=event_pb2.CHANGE_KIND_EXISTING, workload=workload_to_wire(A))
    fake.world.streams = [
        Stream([existing], ends_with=ShuttingDown()),
        Stream([changes()], silent=True),
    ]
    items: list[WatchItem[WorkloadFact]] = []
    async with aio.connect(fake.address, user="root", password=PASSWORD) as client:
        watching = client.workloads.watch(queues=["team"])
        while len(items) < 7:
            items.append(await anext(watching))
    key = A.key
    assert items == [
        Change(ChangeKind.EXISTING, A),
        Bookmark("t1", caught_up=True),
        Change(ChangeKind.UPDATED, Admitted(key, "g", queue="team", deadline=MOMENT)),
        Change(ChangeKind.UPDATED, Evicting(key, "g", reason=EvictionReason.DRAIN, grace_deadline=MOMENT)),
        Change(ChangeKind.UPDATED, Released(key, "g", outcome=ReleaseOutcome.EVICTED)),
        Change(ChangeKind.UPDATED, Requeued(key, held=True)),
        Bookmark("t2", caught_up=False),
    ]
    asked = fake.world.asked(admission_pb2.WatchWorkloadsRequest)
    assert [(request.resume_token, list(request.queues)) for request in asked] == [("", ["team"]), ("t1", ["team"])]


def test_the_twin_watches_too(fake: FakePaddleFlow, client: PaddleFlow) -> None:
    submitted = admission_pb2.WatchWorkloadsResponse(resume_token="t1", bookmark=True)
    submitted.events.add(
        kind=event_pb2.CHANGE_KIND_CREATED, event=workload_pb2.WorkloadEvent(submitted=workload_to_wire(A))
    )
    fake.world.streams = [Stream([submitted], silent=True)]
    assert list(islice(client.workloads.watch(), 1)) == [Change(ChangeKind.CREATED, A)]
