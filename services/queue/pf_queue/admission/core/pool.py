"""The decisions of one pool of machines: what happens goes in, and what is to be done comes out.

Nothing here looks at a clock, at a file or at chance. Whoever gives a pool the same inputs gets the same decisions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush

from pf_queue.admission.core.amounts import Vector
from pf_queue.admission.core.claims import Claims
from pf_queue.admission.core.contest import Contest
from pf_queue.admission.core.decisions import Admit, Book, Decision, Evict, Grow, Unbook
from pf_queue.admission.core.machines import Machines
from pf_queue.admission.core.passing import Passing
from pf_queue.admission.core.places import Admission, Place, Tree
from pf_queue.admission.core.reclaim import Victim, plan
from pf_queue.admission.core.shields import Shields
from pf_queue.admission.core.waiting import Waiting
from pf_queue.admission.core.wishes import Tier, Wish
from pf_queue.admission.core.workloads import Holding, Why, Workload
from pf_queue.admission.core.yard import Yard

SECOND = 1_000_000
"""Microseconds."""


@dataclass(frozen=True, slots=True)
class Tuning:
    """How patient a pool is; times in microseconds."""

    decisions: int = 100
    """Of one round; the next goes on."""
    plans: int = 8
    """Searches of one round for victims of those who have no right to what they ask for, but less than others have."""
    rebalance: int = SECOND // 10
    """The time between two attempts to take from those who borrow more."""
    patience: int = 60 * SECOND
    """How long the first may be passed over until room is kept for it."""
    hold: int = 60 * SECOND
    """How long, after the grace of those who leave, their room is kept for whom they leave for."""


@dataclass(frozen=True, slots=True)
class Booking:
    """Room that is kept for a workload."""

    workload: Workload
    deadline: int
    starving: bool
    """True if nobody leaves for it."""


class Pool:
    """Who waits for one pool of machines, and who has it."""

    def __init__(self, tree: Tree, machines: Machines, tuning: Tuning) -> None:
        self.yard = Yard(tree)
        self.machines = machines
        self.contest = Contest(tree, self.yard.booked)
        self.claims = Claims(self.yard, self.contest, tuning.plans)
        self.waiting = Waiting()
        self.misfits: dict[str, None] = {}
        """Who waits for machines that are large enough."""
        self.bookings: dict[str, Booking] = {}
        self._unserved: dict[str, None] = {}
        """Those of them for whom there may be room since they were looked at last."""
        self.tuning = tuning
        self._draining = [
            place for place in tree.places if any(above.admission is Admission.DRAINING for above in place.path)
        ]
        self._later: list[tuple[int, str]] = []
        self._shields = Shields(self.yard.holdings)
        self.passing = Passing(tuning.patience)
        self._admitted = 0
        self._looked = -tuning.rebalance
        self._changes = 0
        self._seen = 0
        """How many changes there had been when all who wait were looked at last."""

    def submit(self, workload: Workload, now: int) -> None:
        """A workload begins to wait."""
        self._changes += 1
        self.waiting[workload.id] = workload
        if not self._could_run(workload):
            self.misfits[workload.id] = None
        elif workload.not_before > now:
            heappush(self._later, (workload.not_before, workload.id))
        else:
            self._enter(workload)

    def restore_holding(self, holding: Holding) -> None:
        """A workload was admitted before, and has this."""
        self._admitted = max(self._admitted, holding.number)
        self.yard.restore(holding)
        self._tighten(holding.workload, holding.all)
        self._wish_surplus(holding)
        self._shields.expect(holding)

    def restore_booking(self, booking: Booking, now: int) -> None:
        """Room is kept for a workload since before; no longer, if it could not start there."""
        workload = booking.workload
        if not self.yard.place(workload.queue).open or not self._could_run(workload):
            self.submit(workload, now)
            return
        self.waiting[workload.id] = workload
        self._book(workload, booking.deadline, starving=booking.starving)

    def revise(self, workload: Workload, now: int) -> None:
        """A workload that waits is of another priority. Room that is kept for it stays so."""
        if (booking := self.bookings.get(workload.id)) is None:
            self.cancel(workload.id)
            self.submit(workload, now)
            return
        self._changes += 1
        self.waiting[workload.id] = workload
        self.bookings[workload.id] = replace(booking, workload=workload)
        self._unserved[workload.id] = None

    def cancel(self, id_: str) -> None:
        """A workload waits no more."""
        self._changes += 1
        del self.waiting[id_]
        self.misfits.pop(id_, None)
        if id_ in self.bookings:
            self._unbook(id_)
        elif self.contest.wish(id_, Tier.BASE):
            self.contest.leave(id_, Tier.BASE)
        self.claims.went(id_)

    def running(self, id_: str, now: int) -> None:
        """A workload was seen running."""
        holding = self.yard.holdings[id_]
        holding.running = now
        self._shields.expect(holding)

    def release(self, id_: str) -> Workload:
        """A workload has given back all it had."""
        self._changes += 1
        holding = self.yard.holdings[id_]
        self._wish_no_surplus(holding)
        self._loosen(holding.workload, self.yard.leave(holding))
        self._shields.tidy()
        self._unserved = dict.fromkeys(self.bookings)
        return holding.workload

    def shrink(self, id_: str, counts: tuple[int, ...]) -> None:
        """A workload has given back some of its surplus."""
        self._changes += 1
        holding = self.yard.holdings[id_]
        # What it wishes for next may be another role now.
        self._wish_no_surplus(holding)
        self._loosen(holding.workload, self.yard.give_back(holding, counts))
        self._unserved = dict.fromkeys(self.bookings)
        self._wish_surplus(holding)

    def round(self, now: int) -> list[Decision]:
        """Decides as much as one round may."""
        decided: list[Decision] = []
        for step in (self._drain, self._wake, self._unbook_late, self._serve_booked, self._serve):
            decided.extend(step(now))
        decided.extend(self._reclaim(now))
        if len(decided) < self.tuning.decisions:
            decided.extend(self._serve_surplus(self.tuning.decisions - len(decided)))
        return decided

    def next_time(self) -> int | None:
        """When a round must be held even if nothing happens; None if never."""
        times = [booking.deadline for booking in self.bookings.values()]
        if self._later:
            times.append(self._later[0][0])
        if self._shields.next is not None:
            times.append(self._shields.next)
        if (self._changes != self._seen or self.claims.unfinished) and len(self.contest):
            times.append(self._looked + self.tuning.rebalance)
        if self.passing.due is not None:
            times.append(max(self.passing.due, self._looked + self.tuning.rebalance))
        return min(times, default=None)

    def _drain(self, now: int) -> Iterator[Decision]:
        for place in self._draining:
            for holding in list(self.yard.by_queue.get(place.name, {}).values()):
                if not holding.leaving:
                    yield self._evict(holding, None, Why.DRAIN, "", now)

    def _wake(self, now: int) -> Iterator[Decision]:
        """Those whose time has come wait from now on like all others, and may take whose shield has ended."""
        while self._later and self._later[0][0] <= now:
            _, id_ = heappop(self._later)
            workload = self.waiting.get(id_)
            # Somebody of this name may have been submitted anew, for a later time.
            due = workload is not None and workload.not_before <= now and id_ not in self.misfits
            if workload is not None and due and id_ not in self.bookings and not self.contest.wish(id_, Tier.BASE):
                self._enter(workload)
        self._changes += self._shields.ended(now)
        return iter(())

    def _unbook_late(self, now: int) -> Iterator[Decision]:
        for id_ in [id_ for id_, booking in self.bookings.items() if booking.deadline <= now]:
            self._enter(self._unbook(id_))
            yield Unbook(id_)

    def _serve_booked(self, now: int) -> Iterator[Decision]:
        """Those come in for whom there is room now; whom others left for before whom nobody did."""
        looked_at = [booking for id_ in self._unserved if (booking := self.bookings.get(id_))]
        self._unserved = {}
        refused: set[tuple[str, Vector]] = set()
        for booking in sorted(looked_at, key=lambda each: (each.starving, each.deadline, each.workload.order)):
            workload = booking.workload
            wish = (workload.queue, workload.base)
            # Of a thousand that want the same, one is enough to know.
            if wish in refused:
                continue
            if self.yard.held.refusal(self.yard.place(workload.queue), workload.base) is None:
                del self.bookings[workload.id]
                yield self._admit(workload, now, booked=True, settled=not booking.starving)
            else:
                refused.add(wish)

    def _serve(self, now: int) -> Iterator[Decision]:
        for _ in range(self.tuning.decisions):
            wish = self.contest.best()
            if wish is None or wish.tier is not Tier.BASE:
                return
            self.contest.leave(wish.id, Tier.BASE)
            decision = self._admit(self.waiting[wish.id], now, booked=False, settled=False)
            self._tighten(self.yard.holdings[wish.id].workload, wish.amounts)
            yield decision

    def _serve_surplus(self, count: int) -> Iterator[Decision]:
        for _ in range(count):
            wish = self.contest.best()
            if wish is None or wish.tier is not Tier.SURPLUS:
                return
            self.contest.leave(wish.id, Tier.SURPLUS)
            holding = self.yard.holdings[wish.id]
            growth = holding.growth()
            if growth is None:
                continue
            self._changes += 1
            self._tighten(holding.workload, self.yard.grow(holding, *growth))
            self._wish_surplus(holding)
            yield Grow(wish.id, *growth)

    def _reclaim(self, now: int) -> Iterator[Decision]:
        """Makes room for those who have a right to it, and now and then looks at all who wait."""
        best = self.contest.best()
        if best is not None and best.tier is Tier.BASE:
            return
        if now < self._looked + self.tuning.rebalance:
            yield from self._make_room(self.claims.new(self._changes), now)
            return
        self._looked, self._seen = now, self._changes
        held_up = self.contest.held_up()
        claims, more = self.claims.all(held_up, self._changes)
        if more:
            self._look_again(now)
        yield from self._make_room(claims, now)
        yield from self._keep_for_starving(held_up, now)

    def _look_again(self, now: int) -> None:
        """The next round looks at all who wait, whenever it is."""
        self._looked, self._seen = now - self.tuning.rebalance, self._changes - 1

    def _make_room(self, claims: Iterable[Wish], now: int) -> Iterator[Decision]:
        for claim in claims:
            wish: Wish | None = claim
            while wish is not None:
                decided = self._plan(wish, now)
                if decided is None:
                    self.claims.in_vain(wish, self._changes)
                    break
                self._look_again(now)
                yield from decided
                wish = self.claims.helped(wish)

    def _plan(self, wish: Wish, now: int) -> list[Decision] | None:
        workload = self.waiting[wish.id]
        barrier = self.contest.barrier(wish.id, Tier.BASE)
        if barrier is None or barrier.user:
            return None
        victims = plan(self.yard, workload, now)
        # Room that becomes free by itself is for whoever comes first then, but for those who have a right to it.
        if victims is None or not (victims or self.claims.guaranteed(wish)):
            return None
        return self._send_away(workload, victims, now)

    def _send_away(self, workload: Workload, victims: Sequence[Victim], now: int) -> list[Decision]:
        decided: list[Decision] = [
            self._evict(victim.holding, victim.counts, victim.why, workload.id, now) for victim in victims
        ]
        grace = max((victim.holding.workload.grace for victim in victims), default=0)
        decided.append(self._book(workload, now + grace + self.tuning.hold, starving=False))
        return decided

    def _keep_for_starving(self, held_up: Sequence[tuple[Place, Wish]], now: int) -> Iterator[Decision]:
        """Keeps room for whoever is first at a place and has been passed over for too long; for one at a time."""
        waits = [wish for wish in held_up if self.contest.wish(wish[1].id, wish[1].tier)]
        starving = self.passing.too_long(waits, self.yard.tree.space.names, self.yard.booked, now)
        if starving and not any(booking.starving for booking in self.bookings.values()):
            yield self._book(self.waiting[starving[0].id], now + self.tuning.hold, starving=True)

    def _could_run(self, workload: Workload) -> bool:
        """True if the machines are large enough."""
        return all(self.machines.room(role.each) >= role.least for role in workload.roles if role.least)

    def _enter(self, workload: Workload) -> None:
        self.claims.came(workload)
        self.contest.enter(Wish(workload.id, workload.queue, workload.user, Tier.BASE, workload.base, workload.order))

    def _admit(self, workload: Workload, now: int, *, booked: bool, settled: bool) -> Decision:
        self._changes += 1
        self._admitted += 1
        del self.waiting[workload.id]
        self.claims.went(workload.id)
        none = [0] * len(workload.roles)
        holding = Holding(workload, now, self._admitted, list(none), list(none))
        place = self.yard.place(workload.queue)
        self.yard.take(holding, booked=booked, settled=settled)
        self.passing.admitted(place, self.yard.tree.space.names, workload.base, now)
        self._wish_surplus(holding)
        return Admit(workload.id)

    def _evict(
        self, holding: Holding, counts: tuple[int, ...] | None, why: Why, beneficiary: str, now: int
    ) -> Decision:
        self._changes += 1
        self._wish_no_surplus(holding)
        self.yard.send_away(holding, counts)
        return Evict(holding.workload.id, counts, why, beneficiary, now + holding.workload.grace)

    def _book(self, workload: Workload, deadline: int, *, starving: bool) -> Decision:
        self._changes += 1
        if self.contest.wish(workload.id, Tier.BASE):
            self.contest.leave(workload.id, Tier.BASE)
        self.bookings[workload.id] = Booking(workload, deadline, starving)
        self._unserved[workload.id] = None
        place = self.yard.place(workload.queue)
        self.yard.booked.charge(place, workload.base)
        if not starving:
            self.yard.settled.charge(place, workload.base)
        self._tighten(workload, workload.base)
        return Book(workload.id, deadline, starving)

    def _unbook(self, id_: str) -> Workload:
        self._changes += 1
        booking = self.bookings.pop(id_)
        workload = booking.workload
        place = self.yard.place(workload.queue)
        self.yard.booked.refund(place, workload.base)
        if not booking.starving:
            self.yard.settled.refund(place, workload.base)
        self._loosen(workload, workload.base)
        return workload

    def _wish_surplus(self, holding: Holding) -> None:
        """A workload that could use more waits for it."""
        workload, growth = holding.workload, holding.growth()
        if growth is None or self.contest.wish(workload.id, Tier.SURPLUS):
            return
        role, count = growth
        amounts = holding.taken_by([count if index == role else 0 for index in range(len(workload.roles))])
        self.contest.enter(Wish(workload.id, workload.queue, workload.user, Tier.SURPLUS, amounts, workload.order))

    def _wish_no_surplus(self, holding: Holding) -> None:
        if self.contest.wish(holding.workload.id, Tier.SURPLUS):
            self.contest.leave(holding.workload.id, Tier.SURPLUS)

    def _tighten(self, workload: Workload, amounts: Vector) -> None:
        self.contest.tightened(self.yard.place(workload.queue), workload.user, amounts)

    def _loosen(self, workload: Workload, amounts: Vector) -> None:
        self.contest.loosened(self.yard.place(workload.queue), workload.user, amounts)
