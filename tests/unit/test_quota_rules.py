"""Every invariant of the quota tree: what breaks it, which problem says so, and in which words."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from paddleflow.problems import (
    ChildrenUncovered,
    LendExceedsMin,
    MaxExceedsParent,
    MinExceedsCluster,
    MinExceedsMax,
    MinExceedsParent,
    ParentNotFound,
    PhysicalIsolationConflict,
    Problem,
    QueueCycle,
    QuotaTypeConflict,
    ResourceNotDeclared,
    TreeTooDeep,
)
from pf_queue.clusters.domain import Machines
from pf_queue.quota.domain import Queue
from pf_queue.quota.placing import settle
from support.trees import broken, capability, machines, physical, queue, tree

GI = 2**30
GPU = "nvidia.com/gpu"
TOP = queue("top", min={"cpu": 10_000}, max={"cpu": 20_000, "memory": 40 * GI})
MID = queue("mid", "top", min={"cpu": 6_000}, max={"cpu": 12_000})
LOW = queue("low", "mid", min={"cpu": 4_000}, max={"cpu": 8_000}, lend_limit={"cpu": 1_000})
FAMILY = (TOP, MID, LOW)


@dataclass(frozen=True)
class Refused:
    change: Queue
    problem: type[Problem]
    says: str
    path: str
    standing: tuple[Queue, ...] = FAMILY
    machines: Machines | None = None
    metadata: dict[str, str] = field(default_factory=dict)


def low(parent: str = "mid", **fields: Any) -> Queue:
    return queue("low", parent, **{"min": {"cpu": 4_000}, "max": {"cpu": 8_000}, **fields})


REFUSED = {
    "no such parent": Refused(
        queue("new", "nowhere"),
        ParentNotFound,
        "cluster 'main' has no queue 'nowhere' for 'new' to stand below",
        "queue.parent",
    ),
    "below itself": Refused(
        queue("top", "top"), QueueCycle, "'top' is 'top' or stands below it; choose another", "queue.parent"
    ),
    "below one of its own": Refused(
        queue("top", "low"), QueueCycle, "'low' is 'top' or stands below it; choose another", "queue.parent"
    ),
    "too deep": Refused(
        queue("q17", "q16"),
        TreeTooDeep,
        "a tree is at most 16 queues deep; choose a higher parent",
        "queue.parent",
        standing=(queue("q1"), *(queue(f"q{n}", f"q{n - 1}") for n in range(2, 17))),
    ),
    "too deep with what hangs below it": Refused(
        queue("branch", "q15"),
        TreeTooDeep,
        "a tree is at most 16 queues deep; choose a higher parent",
        "queue.parent",
        standing=(
            queue("q1"),
            *(queue(f"q{n}", f"q{n - 1}") for n in range(2, 16)),
            queue("branch"),
            queue("leaf", "branch"),
        ),
    ),
    "a resource the parent does not have": Refused(
        queue("new", "top", max={GPU: 1}),
        ResourceNotDeclared,
        "queue 'new' names nvidia.com/gpu in its max, which 'top' above it does not have; name it in the max of"
        " 'top' above it first",
        f"queue.max.amounts.{GPU}",
        metadata={"queue": "new", "resource": GPU, "amount": "1"},
    ),
    "a guarantee of what has no ceiling": Refused(
        queue("new", min={GPU: 1}),
        ResourceNotDeclared,
        "queue 'new' names nvidia.com/gpu in its min, but has no ceiling for it; name nvidia.com/gpu in its max too",
        f"queue.min.amounts.{GPU}",
    ),
    "even nothing of what is not declared": Refused(
        queue("new", "top", min={GPU: 0}),
        ResourceNotDeclared,
        "queue 'new' names nvidia.com/gpu in its min, which 'top' above it does not have; name it in the max of"
        " 'top' above it first",
        f"queue.min.amounts.{GPU}",
    ),
    "a user's share of what is not declared": Refused(
        queue("new", "top", max_per_user={GPU: 1}),
        ResourceNotDeclared,
        "queue 'new' names nvidia.com/gpu in its max_per_user, which 'top' above it does not have; name it in the max"
        " of 'top' above it first",
        f"queue.max_per_user.amounts.{GPU}",
    ),
    "lending what is not declared": Refused(
        queue("new", "top", lend_limit={GPU: 0}),
        ResourceNotDeclared,
        "queue 'new' names nvidia.com/gpu in its lend_limit, which 'top' above it does not have; name it in the max"
        " of 'top' above it first",
        f"queue.lend_limit.amounts.{GPU}",
    ),
    "what no machine has": Refused(
        queue("new", max={"gpu": 1}),
        ResourceNotDeclared,
        "queue 'new' names gpu in its max, which no machine of cluster 'main' has; correct the name, or add such a"
        " machine",
        "queue.max.amounts.gpu",
        standing=(),
        machines=machines(cpu=1_000),
    ),
    "min above its own max": Refused(
        low(min={"cpu": 8_500}),
        MinExceedsMax,
        "queue 'low': min 8.5 cores of cpu is above its max 8 cores; lower min or raise max",
        "queue.min.amounts.cpu",
        metadata={"queue": "low", "resource": "cpu", "amount": "8500", "limit": "8000"},
    ),
    "min above the ceiling it inherits": Refused(
        low(min={"memory": 41 * GI}),
        MinExceedsMax,
        "queue 'low': min 41Gi of memory is above the ceiling it inherits, 40Gi; lower min or raise max",
        "queue.min.amounts.memory",
    ),
    "max above the parent's": Refused(
        low(max={"cpu": 12_001}),
        MaxExceedsParent,
        "queue 'low': max 12.001 cores of cpu is above the ceiling 12 cores of 'mid' above it; lower it, or raise the"
        " max of 'mid' first",
        "queue.max.amounts.cpu",
    ),
    "max above what the parent inherits": Refused(
        low(max={"memory": 40 * GI + 1}),
        MaxExceedsParent,
        "queue 'low': max 42949672961 bytes of memory is above the ceiling 40Gi of 'mid' above it; lower it, or raise"
        " the max of 'mid' first",
        "queue.max.amounts.memory",
    ),
    "guarantees beside it and its own above the parent's": Refused(
        queue("new", "mid", min={"cpu": 2_001}),
        MinExceedsParent,
        "queue 'new': it and its siblings would be guaranteed 6.001 cores of cpu, more than the min 6 cores of 'mid';"
        " lower it, or raise the min of 'mid' first",
        "queue.min.amounts.cpu",
    ),
    "a guarantee the parent does not have at all": Refused(
        queue("new", "top", min={"memory": 1}),
        MinExceedsParent,
        "queue 'new': it and its siblings would be guaranteed 1 byte of memory, more than the min 0 bytes of 'top';"
        " lower it, or raise the min of 'top' first",
        "queue.min.amounts.memory",
    ),
    "lends more than it has": Refused(
        low(lend_limit={"cpu": 4_001}),
        LendExceedsMin,
        "queue 'low': lend_limit 4.001 cores of cpu is above its min 4 cores; a queue can lend only what it is"
        " guaranteed",
        "queue.lend_limit.amounts.cpu",
    ),
    "lends what it is not guaranteed": Refused(
        low(lend_limit={"memory": 1}),
        LendExceedsMin,
        "queue 'low': lend_limit 1 byte of memory is above its min 0 bytes; a queue can lend only what it is"
        " guaranteed",
        "queue.lend_limit.amounts.memory",
    ),
    "min lowered below the children's": Refused(
        queue("mid", "top", min={"cpu": 3_999}, max={"cpu": 12_000}),
        ChildrenUncovered,
        "queue 'mid': the queues below it are guaranteed 4 cores of cpu together, more than its min 3.999 cores;"
        " lower their min first",
        "queue.min.amounts.cpu",
    ),
    "max lowered below a child's": Refused(
        queue("mid", "top", min={"cpu": 6_000}, max={"cpu": 7_999}),
        ChildrenUncovered,
        "queue 'mid': below it, 'low' has max 8 cores of cpu, above the ceiling 7.999 cores that this change leaves;"
        " lower it there first",
        "queue.max.amounts.cpu",
    ),
    "max lowered below what inherits it further down": Refused(
        queue("top", min={"cpu": 10_000}, max={"cpu": 20_000, "memory": 8 * GI}),
        ChildrenUncovered,
        "queue 'top': below it, 'deep' has max 9Gi of memory, above the ceiling 8Gi that this change leaves; lower it"
        " there first",
        "queue.max.amounts.memory",
        standing=(TOP, MID, queue("deep", "mid", max={"memory": 9 * GI})),
    ),
    "a resource taken away from a child": Refused(
        queue("top", min={"cpu": 10_000}, max={"cpu": 20_000}),
        ChildrenUncovered,
        "queue 'top': below it, 'child' names memory in its max, which would not be declared any more; remove it"
        " there first",
        "queue.max.amounts.memory",
        standing=(TOP, queue("child", "top", max={"memory": GI})),
    ),
    "more than the machines": Refused(
        queue("new", min={"cpu": 3_000}),
        MinExceedsCluster,
        "queue 'new': the queues at the top of cluster 'main' would be guaranteed 13 cores of cpu, more than its"
        " shared machines have, 12 cores; lower min, or add machines",
        "queue.min.amounts.cpu",
        machines=machines(cpu=12_000, memory=64 * GI),
    ),
    "more than the machines, without a ceiling of its own": Refused(
        queue("new", min={"cpu": 12_001}),
        MinExceedsCluster,
        "queue 'new': the queues at the top of cluster 'main' would be guaranteed 12.001 cores of cpu, more than its"
        " shared machines have, 12 cores; lower min, or add machines",
        "queue.min.amounts.cpu",
        standing=(),
        machines=machines(cpu=12_000),
    ),
    "more than the machines dedicated to it": Refused(
        physical("iso", min={"cpu": 5_000}, max={"cpu": 5_000}),
        MinExceedsCluster,
        "queue 'iso': min 5 cores of cpu is more than the machines dedicated to it have, 4 cores; lower it, or"
        " dedicate more machines to it",
        "queue.min.amounts.cpu",
        machines=machines({"iso": {"cpu": 4_000}}, cpu=64_000),
    ),
    "flat, and below another": Refused(
        capability("flat", parent="top"),
        QuotaTypeConflict,
        "queue 'flat' is a volcanoCapabilityQuota, which is flat: it stands below no other queue",
        "queue.parent",
    ),
    "flat, and guaranteed": Refused(
        capability("flat", min={"cpu": 1}, max={"cpu": 1}),
        QuotaTypeConflict,
        "queue 'flat' is a volcanoCapabilityQuota, which has a max only; leave min out",
        "queue.min",
    ),
    "flat, and lending": Refused(
        capability("flat", lend_limit={"cpu": 0}, max={"cpu": 1}),
        QuotaTypeConflict,
        "queue 'flat' is a volcanoCapabilityQuota, which has a max only; leave lend_limit out",
        "queue.lend_limit",
    ),
    "flat, and isolated": Refused(
        physical("flat", quota_type=capability("x").quota_type, max={"cpu": 1}),
        QuotaTypeConflict,
        "queue 'flat' is a volcanoCapabilityQuota, which has no guarantee, and so no machines for itself",
        "queue.isolation",
    ),
    "below a flat one": Refused(
        queue("new", "flat"),
        QuotaTypeConflict,
        "'flat' is a volcanoCapabilityQuota: nothing stands below it",
        "queue.parent",
        standing=(capability("flat", max={"cpu": 1}),),
    ),
    "isolated, and below another": Refused(
        physical("iso", parent="top", max={"cpu": 1}),
        PhysicalIsolationConflict,
        "queue 'iso' is isolated physically, and so stands at the top; leave parent out",
        "queue.parent",
    ),
    "isolated, and lending": Refused(
        physical("iso", max={"cpu": 1}, min={"cpu": 1}, lend_limit={"cpu": 1}),
        PhysicalIsolationConflict,
        "queue 'iso' is isolated physically, and lends nothing; leave lend_limit out",
        "queue.lend_limit",
    ),
    "isolated, without a max": Refused(
        physical("iso"),
        PhysicalIsolationConflict,
        "queue 'iso' is isolated physically; say in max what its machines have",
        "queue.max",
    ),
    "isolated, and guaranteed less than its max": Refused(
        physical("iso", min={"cpu": 1}, max={"cpu": 2}),
        PhysicalIsolationConflict,
        "queue 'iso' is isolated physically, and its min is its max; leave min out",
        "queue.min",
    ),
}


def test_the_family_stands() -> None:
    assert list(broken(FAMILY, None)) == []


@pytest.mark.parametrize("case", [pytest.param(case, id=name) for name, case in REFUSED.items()])
def test_what_breaks_a_rule_is_refused(case: Refused) -> None:
    with pytest.raises(case.problem) as refused:
        settle(tree(*case.standing, machines=case.machines), case.change)
    assert type(refused.value) is case.problem
    assert refused.value.message == case.says
    assert [violation.field for violation in refused.value.violations] == [case.path]
    assert case.metadata.items() <= refused.value.metadata.items()


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(queue("new"), id="nothing set"),
        pytest.param(queue("new", "mid", min={"cpu": 2_000}), id="all that is left of the parent's guarantee"),
        pytest.param(queue("new", "low", max={"memory": 40 * GI}), id="a ceiling inherited from the top"),
        pytest.param(low(max={"cpu": 12_000}), id="as much as the parent"),
        pytest.param(low(lend_limit={"cpu": 4_000}), id="lends all"),
        pytest.param(low("top"), id="moved up"),
        pytest.param(queue("mid", min={"cpu": 6_000}, max={"cpu": 9_000}), id="moved to the top with what is below it"),
        pytest.param(queue("mid", "top", min={"cpu": 4_000}, max={"cpu": 8_000}), id="lowered to what its child has"),
        pytest.param(queue("mid", "top", min={"cpu": 6_000}), id="own ceiling taken away, the parent's is higher"),
        pytest.param(queue("any", max={"made-up": 1}), id="any resource, as long as no machine is reported"),
        pytest.param(capability("flat"), id="flat without any limit"),
        pytest.param(physical("iso", min={"cpu": 1}, max={"cpu": 1}), id="isolated before any report"),
    ],
)
def test_what_breaks_no_rule_is_settled(change: Queue) -> None:
    settled = settle(tree(*FAMILY), change)
    assert settled.get(change.name) == change
    stored = {each.name: each for each in FAMILY} | {change.name: change}
    assert list(broken(list(stored.values()), None)) == []


def test_ceilings_are_inherited_resource_by_resource() -> None:
    stands = tree(*FAMILY, queue("bare", "low"))
    assert dict(stands.ceiling(LOW)) == {"cpu": 8_000, "memory": 40 * GI}
    assert dict(stands.ceiling(queue("bare", "low"))) == {"cpu": 8_000, "memory": 40 * GI}
    assert dict(stands.ceiling(TOP)) == dict(TOP.max)


def test_at_the_top_machines_limit_what_the_queue_does_not() -> None:
    top, iso = queue("top", max={"cpu": 50_000}), physical("iso", min={"cpu": 1}, max={"cpu": 1})
    stands = tree(top, iso, machines=machines({"iso": {GPU: 8}}, cpu=2_000, memory=GI))
    assert dict(stands.ceiling(top)) == {"cpu": 50_000, "memory": GI, GPU: 0}
    assert dict(stands.ceiling(iso)) == {"cpu": 1}
