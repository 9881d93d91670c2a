"""Queues and trees for tests, and a checker of the quota tree that shares nothing with the one it checks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pf_queue.clusters.domain import Machines
from pf_queue.quota.domain import Isolation, Queue, QuotaType
from pf_queue.quota.tree import Tree
from pf_queue.resources import Resources

CLUSTER = "main"
AMOUNTS = ("min", "max", "lend_limit", "max_per_user")


def amounts(**named: int) -> Resources:
    return Resources(named)


def queue(name: str, parent: str = "", **fields: Any) -> Queue:
    """An elastic queue; amounts may be given as dictionaries."""
    given: dict[str, Any] = {"cluster": CLUSTER} | fields
    given |= {field: Resources(given[field]) for field in AMOUNTS if field in given}
    return Queue(name=name, parent=parent, **given)


def capability(name: str, **fields: Any) -> Queue:
    return queue(name, quota_type=QuotaType.CAPABILITY, **fields)


def physical(name: str, **fields: Any) -> Queue:
    return queue(name, isolation=Isolation.PHYSICAL, **fields)


def tree(*queues: Queue, machines: Machines | None = None) -> Tree:
    return Tree(queues, machines)


def machines(dedicated: Mapping[str, Mapping[str, int]] | None = None, **capacity: int) -> Machines:
    """Machines with this capacity to share, and others that queues have for themselves."""
    pools = {name: Resources(pool) for name, pool in (dedicated or {}).items()}
    known = dict.fromkeys((name for pool in pools.values() for name in pool), 0)
    return Machines(len(pools) + 1, Resources(known | capacity), pools)


def broken(queues: Sequence[Queue], machines: Machines | None) -> Iterator[str]:
    """Every way in which stored queues break the contract, looked for one resource after the other."""
    by_name = {queue.name: queue for queue in queues}
    if len(by_name) < len(queues):
        yield "two queues share a name"
    for queue in queues:
        yield from _misplaced(queue, by_name)
    for resource in sorted({name for queue in queues for field in AMOUNTS for name in getattr(queue, field)}):
        for queue in queues:
            yield from _unfitting(resource, queue, queues, by_name, machines)


def too_much_promised(queues: Sequence[Queue], machines: Machines | None) -> bool:
    """True if the queues at the top are guaranteed more than there is."""
    if machines is None:
        return False
    for queue in (queue for queue in queues if not queue.parent and queue.isolation is Isolation.PHYSICAL):
        own = machines.dedicated.get(queue.name, Resources())
        if any(own.get(name, 0) < queue.min[name] for name in queue.min):
            return True
    left = dict(machines.capacity)
    for queue in (queue for queue in queues if not queue.parent and queue.isolation is Isolation.LOGICAL):
        for name in queue.min:
            left[name] = left.get(name, 0) - queue.min[name]
    return any(amount < 0 for amount in left.values())


def uncovered(queues: Sequence[Queue], machines: Machines | None) -> Mapping[tuple[str, str, str], int]:
    """How far each amount is beyond what the machines leave it, by queue, field and resource.

    Machines come and go, so there may be such amounts; but no change of a queue makes one, or makes one larger.
    """
    by_name = {queue.name: queue for queue in queues}
    found: dict[tuple[str, str, str], int] = {}
    for queue in queues if machines else ():
        line = _lineage(queue, by_name)
        for field in AMOUNTS:
            limiting = line[1:] if field == "max" else line
            for resource, amount in getattr(queue, field).items():
                limited = any(resource in higher.max for higher in limiting)
                if not limited and line[-1].isolation is Isolation.LOGICAL:
                    found[queue.name, field, resource] = _beyond(machines, field, resource, amount, queue.parent)
    return {place: size for place, size in found.items() if size > 0}


def _beyond(machines: Machines | None, field: str, resource: str, amount: int, parent: str) -> int:
    """A guarantee counts together with others, and a queue at the top may expect more machines."""
    capacity = machines.capacity if machines else Resources()
    if resource not in capacity:
        return amount + 1
    return amount - capacity[resource] if field == "max" and parent else 0


def _lineage(queue: Queue, by_name: Mapping[str, Queue]) -> list[Queue]:
    """The queue and those above it; longer than any tree may be if it goes round."""
    line = [queue]
    while line[-1].parent in by_name and len(line) < 20:
        line.append(by_name[line[-1].parent])
    return line


def _misplaced(queue: Queue, by_name: Mapping[str, Queue]) -> Iterator[str]:
    if queue.parent and queue.parent not in by_name:
        yield f"{queue.name}: its parent is missing"
    if len(_lineage(queue, by_name)) > 16:
        yield f"{queue.name}: stands too deep, or below itself"
    if queue.parent and by_name[queue.parent].quota_type is not QuotaType.ELASTIC:
        yield f"{queue.name}: its parent is flat"
    if queue.parent and by_name[queue.parent].cluster != queue.cluster:
        yield f"{queue.name}: its parent is in another cluster"
    if queue.quota_type is QuotaType.CAPABILITY and (queue.parent or queue.min or queue.lend_limit):
        yield f"{queue.name}: is flat, and has more than a max"
    if queue.isolation is Isolation.PHYSICAL and (queue.parent or queue.lend_limit or queue.min != queue.max):
        yield f"{queue.name}: is isolated, and shares"


def _unfitting(
    resource: str, queue: Queue, queues: Sequence[Queue], by_name: Mapping[str, Queue], machines: Machines | None
) -> Iterator[str]:
    """What machines limit is not looked at: they come and go."""
    line = _lineage(queue, by_name)
    set_above = [higher.max[resource] for higher in line[1:] if resource in higher.max]
    set_here = [higher.max[resource] for higher in line if resource in higher.max]
    by_machines = machines is not None and line[-1].isolation is Isolation.LOGICAL
    if resource in queue.max and set_above and queue.max[resource] > set_above[0]:
        yield f"{queue.name}: max of {resource} is above its parent's"
    if resource in queue.max and queue.parent and not set_above and not by_machines:
        yield f"{queue.name}: {resource} is not declared above"
    if set_here and queue.min.get(resource, 0) > set_here[0]:
        yield f"{queue.name}: min of {resource} is above its ceiling"
    if not set_here and not by_machines and any(resource in getattr(queue, f) for f in ("min", "max_per_user")):
        yield f"{queue.name}: {resource} has no ceiling"
    if queue.lend_limit.get(resource, 0) > queue.min.get(resource, 0):
        yield f"{queue.name}: lends more {resource} than it has"
    below = [other.min.get(resource, 0) for other in queues if other.parent == queue.name]
    if sum(below) > queue.min.get(resource, 0):
        yield f"{queue.name}: promises {sum(below)} of {resource} below"
