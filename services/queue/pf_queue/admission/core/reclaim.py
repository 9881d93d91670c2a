"""Whom it takes to leave so that somebody can start, if anybody must.

The ladder: surplus; then those who borrow; then lower priorities of the same queue. A plan is made on the ledger of
what is going to be, which is left as it was found. It is good only as a whole: who asks really fits afterwards, each
victim is needed, and what was right when a victim was chosen is right still.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heapreplace
from math import inf

from pf_queue.admission.core.amounts import Vector
from pf_queue.admission.core.places import Place, Reach
from pf_queue.admission.core.workloads import Holding, Why, Workload
from pf_queue.admission.core.yard import Yard

MOST_VICTIMS = 1000
"""Victims of one plan; a plan that takes more is not made."""


@dataclass(frozen=True, slots=True)
class Victim:
    """Somebody who would have to leave, or to shrink."""

    holding: Holding
    counts: tuple[int, ...] | None
    """Of the surplus of each role; None for all of the workload."""
    amounts: Vector
    place: Place
    why: Why


def plan(yard: Yard, workload: Workload, now: int) -> Sequence[Victim] | None:
    """Who must leave so that a workload fits; nobody, if it is going to fit anyway; None if it cannot be made to."""
    return _Search(yard, workload, now).run()


class _Search:
    def __init__(self, yard: Yard, workload: Workload, now: int) -> None:
        self._yard = yard
        self._ledger = yard.settled
        self._workload = workload
        self._place = yard.place(workload.queue)
        self._base = workload.base
        self._now = now
        self._shrunk: dict[str, Victim] = {}
        self._gone: set[str] = set()
        self._ranked: dict[tuple[int, tuple[int, ...]], list[tuple[float, int, Place]]] = {}

    def run(self) -> Sequence[Victim] | None:
        taken: list[Victim] = []
        while (refusal := self._ledger.refusal(self._place, self._base)) is not None:
            victim = self._choose(*refusal) if len(taken) < MOST_VICTIMS else None
            if victim is None:
                self._put_back(taken)
                return None
            taken.append(victim)
            self._note(victim)
            self._ledger.refund(victim.place, victim.amounts)
        kept = self._spare(taken)
        right = all(self._still_right(victim) for victim in kept)
        self._put_back(kept)
        gone = {victim.holding.workload.id for victim in kept if victim.counts is None}
        kept = [victim for victim in kept if victim.counts is None or victim.holding.workload.id not in gone]
        return kept if right else None

    def _note(self, victim: Victim) -> None:
        if victim.counts is None:
            self._gone.add(victim.holding.workload.id)
        else:
            self._shrunk[victim.holding.workload.id] = victim

    def _put_back(self, victims: Sequence[Victim]) -> None:
        for victim in victims:
            self._ledger.charge(victim.place, victim.amounts)

    def _spare(self, taken: Sequence[Victim]) -> list[Victim]:
        """Those without whom it does not work; the last chosen are spared first."""
        kept: list[Victim] = []
        gone: set[str] = set()
        for victim in reversed(taken):
            id_ = victim.holding.workload.id
            self._ledger.charge(victim.place, victim.amounts)
            # Who leaves as a whole keeps no surplus.
            if id_ in gone or self._ledger.refusal(self._place, self._base) is not None:
                self._ledger.refund(victim.place, victim.amounts)
                kept.append(victim)
                if victim.counts is None:
                    gone.add(id_)
        return kept[::-1]

    def _still_right(self, victim: Victim) -> bool:
        """True if all have left and what was said of a victim holds still."""
        if victim.why is not Why.RECLAIM:
            return True
        return self._has_more(*self._branches(victim.place))

    def _choose(self, full: Place, lacking: Sequence[int]) -> Victim | None:
        if self._place.reach is Reach.NOBODY:
            return self._surplus(full, lacking)
        return self._surplus(full, lacking) or self._borrower(full, lacking) or self._inferior(full, lacking)

    def _surplus(self, full: Place, lacking: Sequence[int]) -> Victim | None:
        """Surplus of whoever borrows most, the newest first."""
        queues = [
            place for name, ids in self._yard.elastic.items() if ids and full in (place := self._yard.place(name)).path
        ]
        for place in sorted(queues, key=lambda place: (-self._ledger.share(place), place.index)):
            for id_ in reversed(self._yard.elastic[place.name]):
                holding = self._yard.holdings[id_]
                if not holding.leaving and (victim := self._less(holding, place, full, lacking)) is not None:
                    return victim
        return None

    def _less(self, holding: Holding, place: Place, full: Place, lacking: Sequence[int]) -> Victim | None:
        """A workload without as much of its surplus as it takes."""
        if holding.workload.id in self._shrunk:
            return None
        counts = [0] * len(holding.surplus)
        amounts = holding.taken_by(counts)
        for index, role in enumerate(holding.workload.roles):
            left = (holding.surplus[index] - holding.shrinking[index]) // role.step
            missing = {r: self._missing(full, r) - amounts[r] for r in lacking if role.each[r]}
            wanted = max((-(-amount // (role.each[r] * role.step)) for r, amount in missing.items()), default=0)
            counts[index] = min(left, max(0, wanted)) * role.step
            amounts = holding.taken_by(counts)
        return Victim(holding, tuple(counts), amounts, place, Why.SURPLUS) if any(counts) else None

    def _missing(self, full: Place, resource: int) -> int:
        """How much of a resource a place lacks."""
        return max(1, self._base[resource] - self._ledger.free(full, resource))

    def _borrower(self, full: Place, lacking: Sequence[int]) -> Victim | None:
        """Somebody of a queue that has more than its guarantee, of whatever borrows most."""
        path = self._place.path
        # From the place that is full, down along the own branch: the queues beside it could give.
        for above in reversed(path[1 : path.index(full) + 1]):
            mine = path[path.index(above) - 1]
            for theirs in self._by_share(above, lacking, mine):
                if theirs is not mine and (victim := self._first_below(theirs, mine, theirs, lacking)) is not None:
                    return victim
        return None

    def _first_below(self, at: Place, mine: Place, theirs: Place, lacking: Sequence[int]) -> Victim | None:
        # What a place has within its guarantee is not to be had, however much it borrows of something else.
        lacking = self._ledger.borrowed(at, lacking)
        refused: set[Vector] = set()
        for holding in self._in_order(at, lacking):
            victim = self._whole(holding, at, Why.RECLAIM)
            # Of a thousand workloads of one size, one is enough to know.
            if victim.amounts in refused:
                continue
            if self._may_take(victim, mine, theirs):
                return victim
            refused.add(victim.amounts)
        for place in self._by_share(at, lacking):
            if (found := self._first_below(place, mine, theirs, lacking)) is not None:
                return found
        return None

    def _by_share(self, above: Place, lacking: Sequence[int], mine: Place | None = None) -> Iterator[Place]:
        """The queues below a place that have more than their guarantee; who borrows most comes first.

        For one of these queues, only those that have more than it would have: whoever comes after has less still.

        Whom the loop goes past is not seen again in this search: from whom nothing can be taken now, nothing can later,
        since shares only fall.
        """
        key = (above.index, tuple(lacking))
        ranked = self._ranked.get(key)
        if ranked is None:
            ranked = self._ranked[key] = [
                (-self._ledger.share(place), place.index, place) for place in self._yard.below[above.index]
            ]
            heapify(ranked)
        while ranked:
            recorded, _, place = ranked[0]
            share = -self._ledger.share(place)
            if share > recorded:
                heapreplace(ranked, (share, place.index, place))
                continue
            if mine is not None and not self._has_more(mine, place):
                ranked.clear()
                return
            if self._ledger.borrowed(place, lacking):
                yield place
            heappop(ranked)

    def _whole(self, holding: Holding, at: Place, why: Why) -> Victim:
        """All that a workload still has in this search."""
        amounts = holding.staying
        if (shrunk := self._shrunk.get(holding.workload.id)) is not None:
            amounts = tuple(a - b for a, b in zip(amounts, shrunk.amounts, strict=True))
        return Victim(holding, None, amounts, at, why)

    def _may_take(self, victim: Victim, mine: Place, theirs: Place) -> bool:
        """True if who asks stays within its guarantee, or borrows less than the others do even then."""
        self._ledger.refund(victim.place, victim.amounts)
        more = self._has_more(mine, theirs)
        self._ledger.charge(victim.place, victim.amounts)
        return more

    def _has_more(self, mine: Place, theirs: Place) -> bool:
        """True if others borrow more than who asks would; whoever stays within its guarantee borrows nothing."""
        return self._guaranteed(mine) or self._ledger.share_with(mine, self._base) < self._ledger.share(theirs)

    def _guaranteed(self, mine: Place) -> bool:
        return self._ledger.rank(mine, self._base) == 0.0

    def _inferior(self, full: Place, lacking: Sequence[int]) -> Victim | None:
        """Somebody of lower priority in the same queue."""
        if self._place.reach is not Reach.ALL or full not in self._place.path:
            return None
        lower = next(self._in_order(self._place, lacking, below=self._workload.priority), None)
        return self._whole(lower, self._place, Why.PRIORITY) if lower else None

    def _in_order(self, at: Place, lacking: Sequence[int], below: float = inf) -> Iterator[Holding]:
        """Who could leave a queue and is of use: low priorities, which are below this one, and newcomers first."""
        for holding in self._yard.last(at.name):
            if holding.workload.priority >= below:
                return
            useful = any(holding.staying[resource] for resource in lacking)
            if useful and holding.workload.id not in self._gone and not holding.shielded(self._now):
                yield holding

    def _branches(self, victim: Place) -> tuple[Place, Place]:
        """The places directly below the nearest that is above both: on the own side, and on the victim's."""
        own, other = self._place.path[::-1], victim.path[::-1]
        depth = next(depth for depth, (a, b) in enumerate(zip(own, other, strict=False)) if a is not b)
        return own[depth], other[depth]
