"""A pool as it stands: its tree, what is charged to it, and who has it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from pf_queue.admission.core.amounts import Vector
from pf_queue.admission.core.ledger import Ledger
from pf_queue.admission.core.places import Place, Tree
from pf_queue.admission.core.waiting import Line
from pf_queue.admission.core.wishes import Order
from pf_queue.admission.core.workloads import Holding


class Yard:
    """Three ledgers, because what is decided takes a while to happen."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.held = Ledger(tree.places)
        """What workloads have. It is never above a ceiling."""
        self.booked = Ledger(tree.places)
        """That, and what is kept for others: nobody else gets it."""
        self.settled = Ledger(tree.places)
        """What is going to be held when all who were told to leave have left, and those they leave for have started."""
        self.holdings: dict[str, Holding] = {}
        self.by_queue: defaultdict[str, dict[str, Holding]] = defaultdict(dict)
        self.staying: defaultdict[str, Line] = defaultdict(Line)
        """By queue, the workloads that were not told to leave, in the order in which they would be."""
        self.elastic: defaultdict[str, Line] = defaultdict(Line)
        """The same of those that have surplus, also if they were told to leave."""
        self.below: defaultdict[int, list[Place]] = defaultdict(list)
        for place in tree.places[1:]:
            self.below[place.path[1].index].append(place)

    def place(self, queue: str) -> Place:
        return self.tree.by_name[queue]

    def take(self, holding: Holding, *, booked: bool, settled: bool) -> None:
        """A workload has its base from now on; True for the ledgers that are charged with it already."""
        workload = holding.workload
        place, base = self.place(workload.queue), workload.base
        self.held.charge(place, base)
        if not booked:
            self.booked.charge(place, base)
        if not settled:
            self.settled.charge(place, base)
        self._enter(holding)

    def restore(self, holding: Holding) -> None:
        """A workload has had this since before."""
        workload = holding.workload
        place, amounts = self.place(workload.queue), holding.all
        self.held.charge(place, amounts)
        self.booked.charge(place, amounts)
        self.settled.charge(place, holding.staying)
        self._enter(holding)
        if any(holding.surplus):
            self.elastic[workload.queue].add(_turn(holding))

    def _enter(self, holding: Holding) -> None:
        workload = holding.workload
        self.holdings[workload.id] = self.by_queue[workload.queue][workload.id] = holding
        if not holding.leaving:
            self.staying[workload.queue].add(_turn(holding))

    def last(self, queue: str) -> Iterator[Holding]:
        """Who would be told to leave a queue: low priorities first, then newcomers."""
        if queue in self.staying:
            yield from (self.holdings[id_] for id_ in self.staying[queue].after(None))

    def with_surplus(self, queue: str) -> list[Holding]:
        """Who stays in a queue and has surplus; who would be told to leave first comes last."""
        holdings = [self.holdings[id_] for id_ in self.elastic[queue].after(None)]
        return [holding for holding in reversed(holdings) if not holding.leaving]

    def grow(self, holding: Holding, role: int, count: int) -> Vector:
        """A workload has more replicas from now on; returns what they take."""
        counts = [count if index == role else 0 for index in range(len(holding.surplus))]
        amounts, workload = holding.taken_by(counts), holding.workload
        for ledger in (self.held, self.booked, self.settled):
            ledger.charge(self.place(workload.queue), amounts)
        if not any(holding.surplus):
            self.elastic[workload.queue].add(_turn(holding))
        holding.surplus[role] += count
        return amounts

    def send_away(self, holding: Holding, counts: tuple[int, ...] | None) -> None:
        """A workload is told to give back so much of its surplus; None for all it has."""
        place = self.place(holding.workload.queue)
        if counts is None:
            self.settled.refund(place, holding.staying)
            self.staying[holding.workload.queue].remove(_turn(holding))
            holding.leaving = True
        else:
            self.settled.refund(place, holding.taken_by(list(counts)))
            holding.shrinking = [a + b for a, b in zip(holding.shrinking, counts, strict=True)]

    def give_back(self, holding: Holding, counts: tuple[int, ...]) -> Vector:
        """So much of the surplus is gone; returns what it took."""
        place, workload = self.place(holding.workload.queue), holding.workload
        amounts, before = holding.taken_by(list(counts)), holding.staying
        holding.surplus = [a - b for a, b in zip(holding.surplus, counts, strict=True)]
        holding.shrinking = [max(0, a - b) for a, b in zip(holding.shrinking, counts, strict=True)]
        self.held.refund(place, amounts)
        self.booked.refund(place, amounts)
        self.settled.refund(place, tuple(a - b for a, b in zip(before, holding.staying, strict=True)))
        if any(counts) and not any(holding.surplus):
            self.elastic[workload.queue].remove(_turn(holding))
        return amounts

    def leave(self, holding: Holding) -> Vector:
        """A workload is gone; returns what it had."""
        workload, amounts = holding.workload, holding.all
        place = self.place(workload.queue)
        self.held.refund(place, amounts)
        self.booked.refund(place, amounts)
        self.settled.refund(place, holding.staying)
        if not holding.leaving:
            self.staying[workload.queue].remove(_turn(holding))
        del self.holdings[workload.id]
        del self.by_queue[workload.queue][workload.id]
        if any(holding.surplus):
            self.elastic[workload.queue].remove(_turn(holding))
        return amounts


def _turn(holding: Holding) -> tuple[Order, str]:
    """When a workload of a queue would be told to leave."""
    return (holding.workload.priority, -holding.number, 0), holding.workload.id
