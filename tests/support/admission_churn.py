"""A pool under churn, in virtual time: workloads end, others come at once, and queues change what they want."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from random import Random

from pf_queue.admission.core.amounts import Space
from pf_queue.admission.core.decisions import Admit, Decision, Evict
from pf_queue.admission.core.machines import Machines
from pf_queue.admission.core.places import QueueRules, plant
from pf_queue.admission.core.pool import SECOND, Pool, Tuning
from pf_queue.admission.core.workloads import Role, Workload
from support.admission_shares import Vessel

PLENTY = 10**9
"""Workloads of a queue that wants all it can get."""
AHEAD = 10
"""So many of them wait at any moment."""
RUN = 600
"""Seconds that a workload runs, on average."""
GRACE = 30
"""Seconds at most that it takes to leave."""
ROUNDS = 10_000
"""More than it takes to decide whatever there is to decide at one moment."""


@dataclass
class Churn:
    """Whoever ends is replaced by one more of the same queue, as long as the queue wants so many."""

    vessels: Sequence[Vessel]
    capacity: Mapping[str, int]
    each: Mapping[str, Mapping[str, int]]
    """What one workload of each queue takes."""
    chance: Random
    wants: dict[str, int] = field(default_factory=dict)
    """How many workloads each queue has, waiting and running."""
    now: int = 0
    ended: int = 0
    evicted: int = 0
    on_decision: Callable[[Decision, int], None] = lambda decision, number: None
    """Told of each decision, with the number of its round among those of the same moment."""

    def __post_init__(self) -> None:
        space = Space.of(self.capacity)
        rules = [
            QueueRules(
                name=vessel.name,
                parent=vessel.parent,
                min=vessel.min,
                max=vessel.max,
                weight=vessel.weight,
                lend_limit={},
                max_per_user={},
            )
            for vessel in self.vessels
        ]
        self.pool = Pool(plant(space, rules, self.capacity), Machines(space, [self.capacity]), Tuning())
        self._space = space
        self._numbers = count(1)
        self._events: list[tuple[int, int, Callable[[], None]]] = []
        self._attempt: dict[str, int] = {}
        """By workload, what grows as it comes and goes: what was to happen to it before does not."""

    def has(self, queue: str) -> int:
        """How many workloads of a queue run or wait."""
        return len(self.pool.yard.by_queue.get(queue, {})) + self.pool.waiting.count(queue)

    def used(self, queue: str, resource: str) -> int:
        yard = self.pool.yard
        return yard.held.used[yard.place(queue).index][yard.tree.space.names.index(resource)]

    def submit(self, queue: str) -> str:
        number = next(self._numbers)
        role = Role("worker", 1, 1, 1, self._space.demand(self.each[queue]))
        grace = self.chance.randint(1, GRACE) * SECOND
        workload = Workload(f"{queue}-{number}", queue, "somebody", 0, (role,), self.now, number, grace=grace)
        self.pool.submit(workload, self.now)
        return workload.id

    def want(self, queue: str, workloads: int) -> None:
        """From now on a queue has so many; those that wait and are too many are cancelled, the newest first."""
        self.wants[queue] = workloads
        newest = list(self.pool.waiting.in_order(queue))[::-1]
        for workload in newest[: max(0, self.has(queue) - workloads)]:
            self.pool.cancel(workload.id)

    def stop(self, queue: str) -> None:
        """All that runs of a queue ends."""
        for id_ in list(self.pool.yard.by_queue.get(queue, {})):
            self._attempt.pop(id_)
            self.pool.release(id_)

    def play(self, seconds: int) -> Iterator[tuple[int, int]]:
        """Yields the stretches of time in which nothing changes, after each of which something does."""
        end = self.now + seconds * SECOND
        self.settle()
        while self.now < end:
            due = [end, *(at for at, *_ in self._events[:1])]
            if (looks := self.pool.next_time()) is not None:
                due.append(max(self.now + 1, looks))
            then = min(due)
            yield self.now, then
            self.now = then
            while self._events and self._events[0][0] <= self.now:
                heappop(self._events)[2]()
            self.settle()

    def settle(self) -> None:
        """All that is decided at this moment."""
        for number in range(1, ROUNDS):
            self._refill()
            decided = self.pool.round(self.now)
            for decision in decided:
                self._follow(decision)
                self.on_decision(decision, number)
            if not decided:
                return
        raise AssertionError(f"after {ROUNDS} rounds the pool decides still")

    def _refill(self) -> None:
        for queue, wanted in self.wants.items():
            for _ in range(min(wanted - self.has(queue), AHEAD - self.pool.waiting.count(queue))):
                self.submit(queue)

    def _follow(self, decision: Decision) -> None:
        match decision:
            case Admit(id=id_):
                attempt = self._attempt[id_] = self._attempt.get(id_, 0) + 1
                self._at(self.now + round(self.chance.expovariate(1 / RUN) * SECOND), lambda: self._end(id_, attempt))
            case Evict(id=id_, deadline=deadline):
                attempt = self._attempt[id_]
                self.evicted += 1
                self._at(self.chance.randint(self.now + 1, deadline), lambda: self._leave(id_, attempt))

    def _at(self, time: int, event: Callable[[], None]) -> None:
        heappush(self._events, (time, next(self._numbers), event))

    def _end(self, id_: str, attempt: int) -> None:
        if self._attempt.get(id_) == attempt and not self.pool.yard.holdings[id_].leaving:
            del self._attempt[id_]
            self.ended += 1
            self.pool.release(id_)

    def _leave(self, id_: str, attempt: int) -> None:
        """Whoever was told to has left, and waits again in its place, unless its queue has enough."""
        if self._attempt.get(id_) != attempt:
            return
        workload = self.pool.release(id_)
        if self.has(workload.queue) < self.wants[workload.queue]:
            self._attempt[id_] += 1
            self.pool.submit(workload, self.now)
        else:
            del self._attempt[id_]
