"""A gap in the quota tree, told to whoever tried to open it: what, where, how much, and what to do."""

from __future__ import annotations

from paddleflow.problems import (
    ChildrenUncovered,
    LendExceedsMin,
    MaxExceedsParent,
    MinExceedsCluster,
    MinExceedsMax,
    MinExceedsParent,
    QuotaRefused,
    ResourceNotDeclared,
    Violation,
)
from pf_queue.quota.domain import Queue
from pf_queue.quota.rules import Gap, Rule
from pf_queue.resources import readable


def refusal(gap: Gap, changed: Queue) -> QuotaRefused:
    """The problem with a change of one queue that opens this gap."""
    problem, message = _told(gap, changed)
    # What uncovers queues below by a ceiling is this queue's max, whatever the field of theirs.
    inherited = problem is ChildrenUncovered and gap.rule is not Rule.CHILDREN
    field = f"queue.{'max' if inherited else gap.field}.amounts.{gap.excess.resource}"
    limit = {} if gap.excess.limit is None else {"limit": str(gap.excess.limit)}
    return problem(
        message,
        violations=(Violation(field, message),),
        metadata={"queue": changed.name, "resource": gap.excess.resource, "amount": str(gap.excess.amount), **limit},
    )


def _told(gap: Gap, changed: Queue) -> tuple[type[QuotaRefused], str]:
    if gap.rule is Rule.MACHINES:
        return MinExceedsCluster, _machines(gap, changed)
    if gap.rule is Rule.CHILDREN:
        return _children(gap, changed)
    if gap.queue is not None and gap.queue.name != changed.name:
        return ChildrenUncovered, _uncovered(gap, gap.queue, changed)
    if gap.excess.limit is None:
        return ResourceNotDeclared, _undeclared(gap, changed)
    return _too_high(gap, changed)


def _undeclared(gap: Gap, changed: Queue) -> str:
    resource, names = gap.excess.resource, f"queue {changed.name!r} names {gap.excess.resource} in its {gap.field}"
    if gap.rule is Rule.KNOWN:
        return f"{names}, which no machine of cluster {changed.cluster!r} has; correct the name, or add such a machine"
    if changed.parent:
        parent = f"{changed.parent!r} above it"
        return f"{names}, which {parent} does not have; name it in the max of {parent} first"
    return f"{names}, but has no ceiling for it; name {resource} in its max too"


def _too_high(gap: Gap, changed: Queue) -> tuple[type[QuotaRefused], str]:
    amount, limit = _amounts(gap)
    says = f"queue {changed.name!r}: {gap.field} {amount} is above"
    if gap.rule is Rule.PARENT:
        above = f"the ceiling {limit} of {changed.parent!r} above it"
        return MaxExceedsParent, f"{says} {above}; lower it, or raise the max of {changed.parent!r} first"
    if gap.rule is Rule.LENT:
        return LendExceedsMin, f"{says} its min {limit}; a queue can lend only what it is guaranteed"
    ceiling = "its max" if gap.excess.resource in changed.max else "the ceiling it inherits,"
    return MinExceedsMax, f"{says} {ceiling} {limit}; lower min or raise max"


def _children(gap: Gap, changed: Queue) -> tuple[type[QuotaRefused], str]:
    amount, limit = _amounts(gap)
    if gap.queue is not None and gap.queue.name == changed.name:
        says = f"queue {changed.name!r}: the queues below it are guaranteed {amount} together"
        return ChildrenUncovered, f"{says}, more than its min {limit}; lower their min first"
    says = f"queue {changed.name!r}: it and its siblings would be guaranteed {amount}"
    parent = repr(changed.parent)
    return (
        MinExceedsParent,
        f"{says}, more than the min {limit} of {parent}; lower it, or raise the min of {parent} first",
    )


def _machines(gap: Gap, changed: Queue) -> str:
    amount, limit = _amounts(gap)
    if gap.queue is not None:
        says = f"queue {gap.queue.name!r}: min {amount} is more than the machines dedicated to it have, {limit}"
        return f"{says}; lower it, or dedicate more machines to it"
    says = f"queue {changed.name!r}: the queues at the top of cluster {changed.cluster!r} would be guaranteed {amount}"
    return f"{says}, more than its shared machines have, {limit}; lower min, or add machines"


def _uncovered(gap: Gap, lower: Queue, changed: Queue) -> str:
    says = f"queue {changed.name!r}: below it, {lower.name!r}"
    if gap.excess.limit is None:
        named = f"{gap.excess.resource} in its {gap.field}"
        return f"{says} names {named}, which would not be declared any more; remove it there first"
    amount, limit = _amounts(gap)
    return f"{says} has {gap.field} {amount}, above the ceiling {limit} that this change leaves; lower it there first"


def _amounts(gap: Gap) -> tuple[str, str]:
    """The amount and its limit, which is there, in words."""
    resource = gap.excess.resource
    limit = gap.excess.limit or 0
    return f"{readable(resource, gap.excess.amount)} of {resource}", readable(resource, limit)
