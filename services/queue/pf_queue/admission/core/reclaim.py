"""Whom it takes to leave so that somebody can start, if anybody must.

The ladder: surplus; then those who borrow; then lower priorities of the same queue. A plan is made on the ledger of
what is going to be, which is left as it was found. It is good only as a whole: who asks really fits afterwards, each
victim is needed, and what was right when a victim was chosen is right still.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from heapq import heapify, heappop, heapreplace
from math import inf

from pf_queue.admission.core.amounts import Vector, plus, times
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
        self._shrunk: dict[str, tuple[int, ...]] = {}
        """How much of the surplus of each role has been chosen so far."""
        self._elastic: dict[tuple[int, tuple[int, ...]], list[tuple[float, int, Place, list[Holding]]]] = {}
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
        return _together(kept) if right else None

    def _note(self, victim: Victim) -> None:
        if victim.counts is None:
            self._gone.add(victim.holding.workload.id)
        else:
            self._shrunk[victim.holding.workload.id] = plus(self._taken(victim.holding), victim.counts)

    def _taken(self, holding: Holding) -> tuple[int, ...]:
        return self._shrunk.get(holding.workload.id, (0,) * len(holding.surplus))

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
                kept.append(victim if id_ in gone else self._least(victim))
                if victim.counts is None:
                    gone.add(id_)
        return kept[::-1]

    def _least(self, victim: Victim) -> Victim:
        """With no more of its surplus than it takes, if all others leave."""
        if victim.counts is None:
            return victim
        for index, role in enumerate(victim.holding.workload.roles):
            fewer = range(0, victim.counts[index], role.step)
            steps = bisect_left(fewer, True, key=partial(self._would_do, victim, index))
            if steps < len(fewer):
                spared, victim = victim, _with(victim, index, fewer[steps])
                self._ledger.charge(victim.place, plus(spared.amounts, times(victim.amounts, -1)))
        return victim

    def _would_do(self, victim: Victim, role: int, count: int) -> bool:
        """True if it is enough that a victim gives back only so much of a role."""
        spared = plus(victim.amounts, times(_with(victim, role, count).amounts, -1))
        self._ledger.charge(victim.place, spared)
        enough = self._ledger.refusal(self._place, self._base) is None
        self._ledger.refund(victim.place, spared)
        return enough

    def _still_right(self, victim: Victim) -> bool:
        """True if all have left and what was said of a victim holds still."""
        if victim.why is not Why.RECLAIM:
            return True
        return self._has_more(*self._branches(victim.place))

    def _choose(self, full: Place, lacking: Sequence[int]) -> Victim | None:
        if self._place.reach is Reach.NOBODY:
            return self._surplus(full, lacking)
        return self._surplus(full, lacking) or self._borrower(full, lacking) or self._inferior(lacking)

    def _surplus(self, full: Place, lacking: Sequence[int]) -> Victim | None:
        """Surplus of whoever borrows most; in a queue of low priorities first, then of newcomers.

        Whoever has nothing left to give that is of use here is not looked at again in this search.
        """
        key = (full.index, tuple(lacking))
        ranked = self._elastic.get(key)
        if ranked is None:
            ranked = self._elastic[key] = [
                (-self._ledger.share(place), place.index, place, self._yard.with_surplus(name))
                for name, line in self._yard.elastic.items()
                if line and full in (place := self._yard.place(name)).path
            ]
            heapify(ranked)
        while ranked:
            recorded, index, place, givers = ranked[0]
            share = -self._ledger.share(place)
            if share > recorded:
                heapreplace(ranked, (share, index, place, givers))
            elif not givers:
                heappop(ranked)
            elif (victim := self._less(givers[-1], place, full, lacking)) is not None:
                return victim
            else:
                givers.pop()
        return None

    def _less(self, holding: Holding, place: Place, full: Place, lacking: Sequence[int]) -> Victim | None:
        """A workload without as much of its surplus as it takes."""
        counts = [0] * len(holding.surplus)
        amounts = holding.taken_by(counts)
        taken = self._taken(holding)
        for index, role in enumerate(holding.workload.roles):
            left = (holding.surplus[index] - holding.shrinking[index] - taken[index]) // role.step
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
        if holding.workload.id in self._shrunk:
            amounts = plus(amounts, times(holding.taken_by(list(self._taken(holding))), -1))
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

    def _inferior(self, lacking: Sequence[int]) -> Victim | None:
        """Somebody of lower priority in the same queue."""
        if self._place.reach is not Reach.ALL:
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


def _with(victim: Victim, role: int, count: int) -> Victim:
    """The same with another number of replicas of a role."""
    counts = [count if index == role else other for index, other in enumerate(victim.counts or ())]
    return replace(victim, counts=tuple(counts), amounts=victim.holding.taken_by(counts))


def _together(victims: Sequence[Victim]) -> list[Victim]:
    """Each workload once: as a whole if it leaves, or else with all that it gives back."""
    found: dict[str, Victim] = {}
    for victim in victims:
        before = found.setdefault(victim.holding.workload.id, victim)
        if victim.counts is None:
            found[victim.holding.workload.id] = victim
        elif before is not victim and before.counts is not None:
            found[victim.holding.workload.id] = replace(
                before, counts=plus(before.counts, victim.counts), amounts=plus(before.amounts, victim.amounts)
            )
    return list(found.values())
