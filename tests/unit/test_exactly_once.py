"""The checks of what admission has stored find each way in which it could be wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from paddleflow.queue.v1 import workload_pb2
from support.exactly_once import (
    BACK,
    CANCELLED,
    History,
    Told,
    require_exactly_once,
    require_revised,
    require_seen,
)

FINISHED = workload_pb2.RELEASE_OUTCOME_FINISHED
EVICTED, _ = BACK
Event = workload_pb2.WorkloadEvent
Twist = Callable[[History], History]


def key(job: str, attempt: int = 1) -> workload_pb2.WorkloadKey:
    return workload_pb2.WorkloadKey(job_id=job, attempt=attempt)


def roles(base: int, surplus: int = 0) -> Sequence[workload_pb2.RoleGrant]:
    return [workload_pb2.RoleGrant(role="w", base=base, surplus=surplus)]


def submitted(job: str) -> Event:
    return Event(submitted=workload_pb2.Workload(key=key(job)))


def admitted(job: str, attempt: int = 1, version: int = 1, surplus: int = 0) -> Event:
    held = roles(2, surplus)
    return Event(admitted=workload_pb2.Admitted(key=key(job, attempt), grant_version=version, roles=held))


def evicting(job: str, attempt: int = 1) -> Event:
    return Event(evicting=workload_pb2.Evicting(key=key(job, attempt), replicas=roles(2)))


def released(
    job: str, attempt: int = 1, *, outcome: workload_pb2.ReleaseOutcome.ValueType = FINISHED, base: int = 2
) -> Event:
    return Event(released=workload_pb2.Released(key=key(job, attempt), replicas=roles(base), outcome=outcome))


def requeued(job: str, attempt: int) -> Event:
    return Event(requeued=workload_pb2.Requeued(key=key(job, attempt)))


HONEST = History(
    [
        Told(xid, event)
        for xid, event in enumerate(
            [
                submitted("runs"),
                submitted("stops"),
                admitted("runs"),
                evicting("runs"),
                released("stops", outcome=CANCELLED, base=0),
                released("runs", outcome=EVICTED),
                requeued("runs", 2),
                admitted("runs", 2),
                admitted("runs", 2, version=2, surplus=1),
                released("runs", 2, base=3),
            ]
        )
    ],
    {
        (("runs", 1), "admit"): 1,
        (("runs", 1), "evict"): 1,
        (("runs", 2), "requeue"): 1,
        (("runs", 2), "admit"): 1,
        (("runs", 2), "grow"): 1,
        (("stops", 1), "keep"): 1,
    },
    {xid: 1 if xid < 5 else 2 for xid in range(10)},
)


def require(found: History) -> None:
    require_exactly_once(found, submitted={"runs", "stops"}, cancelled={("stops", 1)}, capacity=3)


def without(*places: int) -> Twist:
    return lambda found: replace(found, told=[each for each in found.told if each.xid not in places])


def then(after: int, *events: Event) -> Twist:
    """These events come after one of the others, by the same transaction."""

    def twisted(found: History) -> History:
        more = [Told(after, event) for event in events]
        return replace(found, told=[*found.told[: after + 1], *more, *found.told[after + 1 :]])

    return twisted


def ending_with(base: int) -> Twist:
    """The last workload gives back so much."""
    return lambda found: replace(found, told=[*found.told[:-1], Told(9, released("runs", 2, base=base))])


def test_an_honest_history_passes() -> None:
    require(HONEST)


@pytest.mark.parametrize(
    ("twist", "complaint"),
    [
        pytest.param(without(1, 4), r"are lost: \['stops'\]", id="a job that was acknowledged is not there"),
        pytest.param(without(9), "runs is lost on its way", id="a job does not end"),
        pytest.param(without(0), "submitted twice, or never", id="a job comes from nowhere"),
        pytest.param(without(6), "comes from nowhere", id="an attempt comes from nowhere"),
        pytest.param(then(2, admitted("runs")), "admitted twice", id="an attempt is admitted twice"),
        pytest.param(then(5, admitted("runs")), "admitted twice", id="an attempt is admitted twice, at last over"),
        pytest.param(then(1, submitted("runs")), "submitted twice", id="a job is submitted twice"),
        pytest.param(then(9, evicting("runs", 2)), "after its end", id="something happens after the end"),
        pytest.param(
            then(4, requeued("stops", 2), admitted("stops", 2), released("stops", 2)),
            "after .* was not sent back",
            id="a cancelled job comes back",
        ),
        pytest.param(
            lambda found: then(3, admitted("stops"), released("stops"))(without(4)(found)),
            "was not cancelled",
            id="a job is admitted though its cancel was answered",
        ),
        pytest.param(
            then(3, released("stops", outcome=EVICTED, base=0), requeued("stops", 2)),
            "after its end",
            id="an attempt ends twice",
        ),
        pytest.param(ending_with(2), "is over and keeps 1", id="not all is given back"),
        pytest.param(ending_with(4), "1 more than it held", id="more is given back than was held"),
        pytest.param(lambda found: replace(found, left=["runs/2"]), "not over", id="a row is left"),
        pytest.param(
            lambda found: replace(found, decided={**found.decided, (("runs", 1), "admit"): 2}),
            "differ",
            id="a decision was written twice",
        ),
        pytest.param(
            lambda found: replace(found, fences=found.fences | {7: 1}), "came after", id="a leader that was overtaken"
        ),
        pytest.param(lambda found: replace(found, fences={}), "have no fence", id="somebody writes who does not lead"),
    ],
)
def test_a_wrong_history_is_told_of(twist: Twist, complaint: str) -> None:
    with pytest.raises(AssertionError, match=complaint):
        require(twist(HONEST))


def test_the_capacity_is_what_may_be_held() -> None:
    with pytest.raises(AssertionError, match="more than 2 is held"):
        require_exactly_once(HONEST, submitted=(), cancelled=(), capacity=2)


def test_what_was_seen_and_has_never_been_is_told_of() -> None:
    require_seen({(("runs", 1), workload_pb2.WORKLOAD_STATE_EVICTING)}, HONEST.told)
    with pytest.raises(AssertionError, match=r"never been stored: .*ADMITTED"):
        require_seen({(("stops", 1), workload_pb2.WORKLOAD_STATE_ADMITTED)}, HONEST.told)


def updated(*revisions: int) -> Sequence[Told]:
    return [
        Told(xid, Event(updated=workload_pb2.Workload(key=key("job"), revision=revision)))
        for xid, revision in enumerate(revisions)
    ]


def test_changes_that_were_told_of_are_kept_in_order() -> None:
    require_revised({"job": 3}, updated(1, 3, 4))
    with pytest.raises(AssertionError, match="changed to 2 after 3"):
        require_revised({}, updated(3, 2))
    with pytest.raises(AssertionError, match="nothing is known"):
        require_revised({"job": 3}, updated(1, 2))
