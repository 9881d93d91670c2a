"""Where a queue may stand, and what its kind allows: all about a change that has nothing to do with sums."""

from __future__ import annotations

from paddleflow.problems import (
    ParentNotFound,
    PhysicalIsolationConflict,
    QueueCycle,
    QuotaRefused,
    QuotaTypeConflict,
    TreeTooDeep,
    Violation,
)
from pf_kit.fields import shown
from pf_queue.quota.domain import DEEPEST, Queue
from pf_queue.quota.refusals import refusal
from pf_queue.quota.rules import new_gaps
from pf_queue.quota.tree import Tree


def settle(tree: Tree, queue: Queue) -> Tree:
    """The tree after a queue was added or changed. Raises a problem if the tree does not allow it."""
    _check_kind(queue)
    _check_place(tree, queue)
    after = tree.with_queue(queue)
    for gap in new_gaps(tree, after, queue):
        raise refusal(gap, queue)
    return after


def missing_parent(queue: Queue) -> ParentNotFound:
    """The problem with a queue whose parent does not exist where it looks for it."""
    where = f"cluster {queue.cluster!r} has" if queue.cluster else "there is"
    message = f"{where} no queue {shown(queue.parent)} for {queue.name!r} to stand below"
    return ParentNotFound(message, violations=(Violation("queue.parent", message),))


def _check_kind(queue: Queue) -> None:
    if queue.capability:
        _check_capability(queue)
    elif queue.physical:
        _check_physical(queue)


def _check_capability(queue: Queue) -> None:
    flat = f"queue {queue.name!r} is a {queue.quota_type}, which"
    if queue.parent:
        raise _refused(QuotaTypeConflict, "parent", f"{flat} is flat: it stands below no other queue")
    if queue.physical:
        raise _refused(QuotaTypeConflict, "isolation", f"{flat} has no guarantee, and so no machines for itself")
    for field in ("min", "lend_limit"):
        if getattr(queue, field):
            raise _refused(QuotaTypeConflict, field, f"{flat} has a max only; leave {field} out")


def _check_physical(queue: Queue) -> None:
    isolated = f"queue {queue.name!r} is isolated physically"
    if queue.parent:
        raise _refused(PhysicalIsolationConflict, "parent", f"{isolated}, and so stands at the top; leave parent out")
    if queue.lend_limit:
        raise _refused(PhysicalIsolationConflict, "lend_limit", f"{isolated}, and lends nothing; leave lend_limit out")
    if not queue.max:
        raise _refused(PhysicalIsolationConflict, "max", f"{isolated}; say in max what its machines have")
    if queue.min != queue.max:
        raise _refused(PhysicalIsolationConflict, "min", f"{isolated}, and its min is its max; leave min out")


def _check_place(tree: Tree, queue: Queue) -> None:
    parent = tree.get(queue.parent)
    if queue.parent and parent is None:
        raise missing_parent(queue)
    if parent is None:
        return
    if parent.capability:
        raise _refused(
            QuotaTypeConflict, "parent", f"{parent.name!r} is a {parent.quota_type}: nothing stands below it"
        )
    above = [parent, *tree.above(parent)]
    if any(higher.name == queue.name for higher in above):
        raise _refused(QueueCycle, "parent", f"{parent.name!r} is {queue.name!r} or stands below it; choose another")
    if len(above) + tree.height(queue) > DEEPEST:
        raise _refused(TreeTooDeep, "parent", f"a tree is at most {DEEPEST} queues deep; choose a higher parent")


def _refused(problem: type[QuotaRefused], field: str, message: str) -> QuotaRefused:
    return problem(message, violations=(Violation(f"queue.{field}", message),))
