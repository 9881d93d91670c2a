"""The invariants of the quota tree, and where a tree breaks them.

Each rule compares amounts. Most limits are set by queues, and these rules hold in every stored tree. Some are set by
the machines, which come and go without asking: a tree can break those rules by itself, and a change is refused only if
it adds to the break.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from pf_queue.clusters.domain import Machines
from pf_queue.quota.domain import Promises, Queue
from pf_queue.quota.tree import Tree
from pf_queue.resources import NOTHING, Excess, Resources


class Rule(StrEnum):
    """What must hold, for every resource."""

    KNOWN = "max of a top queue names what some machine has"
    PARENT = "max is at most the ceiling of the queue above"
    CEILING = "min is at most the queue's own ceiling, as far as queues set it"
    DECLARED = "min, lend_limit and max_per_user name what the queue has a ceiling for"
    LENT = "lend_limit is at most min"
    CHILDREN = "the queues below are guaranteed at most what the queue is guaranteed"
    MACHINES = "the queues at the top are guaranteed at most what the machines have"


@dataclass(frozen=True, slots=True)
class Gap:
    """A place where a rule does not hold."""

    rule: Rule
    queue: Queue | None
    """Whose rule it is; None for the top queues of the cluster together."""
    field: str
    """The field of the queue that is too high."""
    excess: Excess
    loose: bool
    """True if the limit is the machines'."""

    @property
    def place(self) -> tuple[Rule, str, str, str]:
        """Tells the gap from others in the tree, and finds it again in another state of the tree."""
        return self.rule, self.queue.name if self.queue else "", self.field, self.excess.resource

    @property
    def size(self) -> int:
        """How far the amount is beyond its limit; what is not declared is further away than 0."""
        return self.excess.amount - (-1 if self.excess.limit is None else self.excess.limit)


def new_gaps(before: Tree, after: Tree, queue: Queue) -> Iterator[Gap]:
    """The gaps that a change of one queue opens or widens."""
    found = list(gaps(after, queue))
    known = {gap.place: gap.size for gap in gaps(before, queue)} if found else {}
    return (gap for gap in found if not (gap.loose and gap.size <= known.get(gap.place, 0)))


def gaps(tree: Tree, queue: Queue) -> Iterator[Gap]:
    """The gaps at a queue, at those below it, and among those beside it."""
    if (stored := tree.get(queue.name)) is not None:
        yield from _own(tree, stored)
        yield from _children(tree, stored)
        for lower in tree.below(stored):
            yield from _inherited(tree, lower)
    parent = tree.get(queue.parent)
    yield from _children(tree, parent) if parent else _machines(tree)


def _own(tree: Tree, queue: Queue) -> Iterator[Gap]:
    yield from _inherited(tree, queue)
    for excess in queue.lend_limit.above(queue.min):
        yield Gap(Rule.LENT, queue, "lend_limit", excess, loose=False)


def _inherited(tree: Tree, queue: Queue) -> Iterator[Gap]:
    """Rules between a queue and the ceilings above it."""
    parent = tree.get(queue.parent)
    if parent is not None:
        for excess in queue.max.beyond(tree.ceiling(parent)):
            loose = excess.resource not in tree.limits(parent)
            yield Gap(Rule.PARENT, queue, "max", excess, loose=loose)
    elif tree.machines is not None:
        for excess in _undeclared(queue.max, tree.machines.capacity):
            yield Gap(Rule.KNOWN, queue, "max", excess, loose=True)
    # What the machines limit is left to the rule on machines: all guarantees together count there.
    for excess in queue.min.beyond(tree.limits(queue)):
        if excess.limit is not None:
            yield Gap(Rule.CEILING, queue, "min", excess, loose=False)
    ceiling = tree.ceiling(queue)
    for field, named in (("min", queue.min), ("lend_limit", queue.lend_limit), ("max_per_user", queue.max_per_user)):
        for excess in _undeclared(named, ceiling):
            yield Gap(Rule.DECLARED, queue, field, excess, loose=True)


def _undeclared(named: Resources, limit: Resources) -> Iterator[Excess]:
    return (excess for excess in named.beyond(limit) if excess.limit is None)


def _children(tree: Tree, queue: Queue) -> Iterator[Gap]:
    for excess in tree.guaranteed(queue.name).above(queue.min):
        yield Gap(Rule.CHILDREN, queue, "min", excess, loose=False)


def _machines(tree: Tree) -> Iterator[Gap]:
    if tree.machines is None:
        return
    for excess in tree.guaranteed("").above(tree.machines.capacity):
        yield Gap(Rule.MACHINES, None, "min", excess, loose=True)
    for queue in tree.children(""):
        if queue.physical:
            for excess in queue.min.above(tree.machines.dedicated.get(queue.name, NOTHING)):
                yield Gap(Rule.MACHINES, queue, "min", excess, loose=True)


def overcommitted(promises: Promises, machines: Machines) -> bool:
    """True if the queues at the top are guaranteed more than the machines have."""
    pools = [(promises.shared, machines.capacity)]
    pools += [(own, machines.dedicated.get(name, NOTHING)) for name, own in promises.isolated.items()]
    return any(any(promised.above(pool)) for promised, pool in pools)
