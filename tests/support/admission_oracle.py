"""Who is admitted in which order, found out the slow way: no heaps, no shapes, nothing remembered.

For pools from which nobody has to leave: each queue puts forward the first of its own who fits. They are compared from
the top of the tree down, queue by queue, and at last by their own order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from pf_queue.admission.core.places import QueueRules
from pf_queue.admission.core.workloads import Workload

Amounts = Mapping[str, int]
BARELY = Fraction(1, 10**300)
"""Less than any share, but more than none: of who is about to borrow."""


@dataclass(frozen=True)
class Candidate:
    workload: Workload
    amounts: Amounts


class Oracle:
    """Queues with all that was admitted to them."""

    def __init__(self, queues: Sequence[QueueRules], capacity: Amounts) -> None:
        self._queues = {queue.name: queue for queue in queues}
        self._capacity = capacity
        self._admitted: list[Candidate] = []
        self._depth = max((len(list(self._path(queue.name))) for queue in queues), default=0)

    def order(self, waiting: Sequence[Candidate]) -> list[str]:
        """All who are admitted, one after the other."""
        left = list(waiting)
        while (first := self._first(left)) is not None:
            self._admitted.append(first)
            left.remove(first)
        return [candidate.workload.id for candidate in self._admitted]

    def _first(self, waiting: Sequence[Candidate]) -> Candidate | None:
        put_forward = (self._first_of(queue, waiting) for queue in self._queues.values())
        return min((each for each in put_forward if each is not None), key=self._standing, default=None)

    def _standing(self, candidate: Candidate) -> tuple[Fraction | int, ...]:
        """Where a candidate stands, from the top of the tree down."""
        path = list(self._path(candidate.workload.queue))[::-1]
        levels = [(self._rank(queue, candidate.amounts), -queue.priority) for queue in path]
        levels += [(Fraction(0), 0)] * (self._depth - len(levels))
        return (*(each for level in levels for each in level), *candidate.workload.order)

    def _first_of(self, queue: QueueRules, waiting: Sequence[Candidate]) -> Candidate | None:
        own = sorted((each for each in waiting if each.workload.queue == queue.name), key=lambda c: c.workload.order)
        fitting = (candidate for candidate in (own[:1] if queue.strict else own) if self._fits(candidate))
        return next(fitting, None)

    def _fits(self, candidate: Candidate) -> bool:
        after = [*self._admitted, candidate]
        for queue in self._path(candidate.workload.queue):
            used = self._used(queue.name, after)
            if any(candidate.amounts[r] and used[r] > queue.max.get(r, used[r]) for r in self._capacity):
                return False
        before, drawn = self._drawn("", self._admitted), self._drawn("", after)
        kept = self._kept("")
        return all(drawn[r] == before[r] or drawn[r] <= self._capacity[r] - kept[r] for r in self._capacity)

    def _rank(self, queue: QueueRules, amounts: Amounts) -> Fraction:
        """0 within the guarantee; else its share, with what is asked for if nobody is below it."""
        used = self._used(queue.name, self._admitted)
        over = {r: used[r] + amounts[r] - queue.min.get(r, 0) for r in self._capacity}
        if not any(amounts[r] and over[r] > 0 for r in self._capacity):
            return Fraction(0)
        if any(other.parent == queue.name for other in self._queues.values()):
            return max(self._share(queue, {r: over[r] - amounts[r] for r in self._capacity}), BARELY)
        return self._share(queue, over)

    def _share(self, queue: QueueRules, over: Amounts) -> Fraction:
        most = self._most_together(queue.parent)
        return max(Fraction(max(0, over[r]), max(1, most[r]) * queue.weight) for r in self._capacity)

    def _most_together(self, place: str) -> Amounts:
        """What the queues below a place could have together."""
        ceilings = [queue.max for queue in self._path(place)]
        return {r: min([most, *(c[r] for c in ceilings if r in c)]) for r, most in self._capacity.items()}

    def _used(self, place: str, admitted: Sequence[Candidate]) -> Amounts:
        inside = [each for each in admitted if any(queue.name == place for queue in self._path(each.workload.queue))]
        return {r: sum(each.amounts[r] for each in inside) for r in self._capacity}

    def _drawn(self, place: str, admitted: Sequence[Candidate]) -> Amounts:
        """What a place and those below it take that is not theirs alone."""
        own = [each for each in admitted if each.workload.queue == place]
        total = {r: sum(each.amounts[r] for each in own) for r in self._capacity}
        for queue in (queue for queue in self._queues.values() if queue.parent == place):
            below, local = self._drawn(queue.name, admitted), self._local(queue)
            total = {r: total[r] + max(0, below[r] - local[r]) for r in self._capacity}
        return total

    def _local(self, queue: QueueRules) -> Amounts:
        """What a queue lends to nobody, beyond what those below it keep."""
        below = self._kept(queue.name)
        lent = {r: queue.lend_limit.get(r, queue.min.get(r, 0)) for r in self._capacity}
        return {r: max(0, queue.min.get(r, 0) - below[r] - lent[r]) for r in self._capacity}

    def _kept(self, place: str) -> Amounts:
        """What is lent to nobody below a place."""
        total = dict.fromkeys(self._capacity, 0)
        for queue in (queue for queue in self._queues.values() if queue.parent == place):
            local, below = self._local(queue), self._kept(queue.name)
            total = {r: total[r] + local[r] + below[r] for r in self._capacity}
        return total

    def _path(self, name: str) -> Iterator[QueueRules]:
        while name:
            yield self._queues[name]
            name = self._queues[name].parent
