"""Who has how much of a tree. Every question costs as many steps as the tree is deep."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pf_queue.admission.core.amounts import JOBS, Vector
from pf_queue.admission.core.places import Place

BARELY = 5e-324
"""The share of a place that is about to borrow: more than none, and less than any."""


class Ledger:
    """Amounts charged to the places of a tree.

    `used` is all that a place and those below it have. `drawn` is what they have beyond what is theirs alone: what a
    queue uses of the part of its guarantee that it lends to nobody is not drawn from the place above.
    """

    __slots__ = ("_nothing", "drawn", "used")

    def __init__(self, places: Sequence[Place]) -> None:
        self.used = [[0] * len(place.min) for place in places]
        # Where nothing is withheld from lending, both are the same, and are kept once.
        self.drawn = [
            used if place.lends_all else [0] * len(used) for place, used in zip(places, self.used, strict=True)
        ]
        self._nothing = (0,) * len(places[0].min)

    def charge(self, place: Place, amounts: Vector) -> None:
        """Charges amounts, which may be negative, to a place and all above it."""
        asked = [(resource, amount) for resource, amount in enumerate(amounts) if amount]
        need: Sequence[int] = amounts
        for at in place.path:
            used = self.used[at.index]
            for resource, amount in asked:
                used[resource] += amount
            if not at.lends_all:
                need = self._draw(at, asked, need)

    def _draw(self, at: Place, asked: Sequence[tuple[int, int]], need: Sequence[int]) -> Sequence[int]:
        """Charges what a place draws, and says what of that has to come from above."""
        drawn, local = self.drawn[at.index], at.local
        if local is None:
            for resource, _ in asked:
                drawn[resource] += need[resource]
            return need
        passed = [0] * len(need)
        for resource, _ in asked:
            before = drawn[resource]
            after = drawn[resource] = before + need[resource]
            passed[resource] = max(0, after - local[resource]) - max(0, before - local[resource])
        return passed

    def refund(self, place: Place, amounts: Vector) -> None:
        self.charge(place, tuple(-amount for amount in amounts))

    def passes(self, at: Place, need: Vector) -> Vector:
        """What of a need at a place must come from the place above."""
        local = at.local
        if local is None:
            return need
        drawn = self.drawn[at.index]
        return tuple(
            max(0, has + amount - own) - max(0, has - own) if amount else 0
            for has, amount, own in zip(drawn, need, local, strict=True)
        )

    def lacks(self, at: Place, amounts: Vector, need: Vector) -> list[int]:
        """The resources for which a place has no room for so much more, of which `need` has to come from it."""
        used, most = self.used[at.index], at.max
        if at.parent is not None:
            return [r for r, amount in enumerate(amounts) if amount and used[r] + amount > most[r]]
        drawn, limit = self.drawn[at.index], at.limit
        return [
            r
            for r, amount in enumerate(amounts)
            if amount and (used[r] + amount > most[r] or (need[r] and drawn[r] + need[r] > limit[r]))
        ]

    def fits(self, at: Place, amounts: Vector, need: Vector) -> bool:
        """True if the place itself has room; the same as to lack nothing, but sooner known."""
        used, most = self.used[at.index], at.max
        for resource in at.limited:
            if (amount := amounts[resource]) and used[resource] + amount > most[resource]:
                return False
        if at.limit is at.max:
            return True
        for has, more, ceiling in zip(self.drawn[at.index], need, at.limit, strict=True):
            if more and has + more > ceiling:
                return False
        return True

    def free(self, at: Place, resource: int) -> int:
        """What a place itself has left of a resource."""
        left = at.max[resource] - self.used[at.index][resource]
        if at.parent is None:
            left = min(left, at.limit[resource] - self.drawn[at.index][resource])
        return left

    def refusal(self, place: Place, amounts: Vector) -> tuple[Place, list[int]] | None:
        """The first place on the way up without room, and for which resources; None if there is room everywhere."""
        return next(self.refusals(place, amounts), None)

    def refusals(self, place: Place, amounts: Vector) -> Iterator[tuple[Place, list[int]]]:
        """All places on the way up without room, and for which resources."""
        need = amounts
        for at in place.path:
            if not self.fits(at, amounts, need):
                yield at, self.lacks(at, amounts, need)
            need = self.passes(at, need)

    def share(self, at: Place) -> float:
        """What a place borrows of what it could, by its dominant resource and weight; 0 if it borrows nothing."""
        return self.share_with(at, self._nothing)

    def share_with(self, at: Place, extra: Vector) -> float:
        """The same with something extra.

        A quotient of whole numbers is rounded once, so that shares which are equal in truth are equal here.
        """
        used, guaranteed, measure = self.used[at.index], at.min, at.measure
        most = 0.0
        for resource in at.measured:
            over = used[resource] + extra[resource] - guaranteed[resource]
            if over > 0 and (share := over / measure[resource]) > most:
                most = share
        return most

    def rank(self, at: Place, extra: Vector) -> float:
        """How a place that asks for something extra stands among its siblings; the least is served first.

        It is 0 within the guarantee of all that is asked for, whatever the place borrows of other resources.
        """
        used, guaranteed, measure = self.used[at.index], at.min, at.measure
        most, beyond = 0.0, False
        for resource in at.measured:
            amount = extra[resource]
            over = used[resource] + amount - guaranteed[resource]
            if over > 0:
                beyond = beyond or amount > 0
                if (share := over / measure[resource]) > most:
                    most = share
        return most if beyond else 0.0

    def standing(self, at: Place, extra: Vector) -> float:
        """How a place that something extra is asked for below stands among its siblings; the least is served first.

        It is 0 within the guarantee of all that is asked for, else the share as it is: what is asked for makes no
        difference, so that among those below large wishes stand no worse than small ones.
        """
        used, guaranteed = self.used[at.index], at.min
        for resource in at.measured:
            if extra[resource] and used[resource] + extra[resource] > guaranteed[resource]:
                return self.share(at) or BARELY
        return 0.0

    def borrowed(self, at: Place, resources: Sequence[int]) -> list[int]:
        """Of which of these resources a place has more than its guarantee; of jobs nobody is promised any."""
        used, guaranteed = self.used[at.index], at.min
        return [resource for resource in resources if resource != JOBS and used[resource] > guaranteed[resource]]
