"""Who is next of all who wait for a pool, and who is held up."""

from __future__ import annotations

from collections.abc import Iterable

from pf_queue.admission.core.amounts import Vector
from pf_queue.admission.core.ledger import Ledger
from pf_queue.admission.core.places import Place, Tree
from pf_queue.admission.core.shapes import Shape
from pf_queue.admission.core.stands import Barrier, InLine, Stand
from pf_queue.admission.core.tournament import Tournament
from pf_queue.admission.core.wishes import Tier, Wish


class Contest:
    """All who wait for a pool."""

    def __init__(self, tree: Tree, ledger: Ledger) -> None:
        self._tree = tree
        self._tournament = Tournament(tree, ledger)
        self._wishes: dict[tuple[str, Tier], tuple[Wish, Shape]] = {}
        self._winner: tuple[Wish | None] | None = None
        """Who is next, as long as nothing changes."""

    def __len__(self) -> int:
        return len(self._wishes)

    @property
    def looks(self) -> int:
        """How many times a place was asked whether it has room: what a decision costs."""
        return self._tournament.looks

    @property
    def turns(self) -> int:
        """How many times it must be asked who is held up, to be told of all places."""
        return self._tournament.turns

    def enter(self, wish: Wish) -> None:
        """Somebody begins to wait."""
        stand = self._stand(wish.queue)
        shape = self._own(wish, stand)
        self._wishes[wish.id, wish.tier] = (wish, shape)
        if stand.join(shape, (wish.order, wish.id)):
            self._winner = None
            self._tournament.came(stand, shape)

    def leave(self, id: str, tier: Tier) -> None:  # noqa: A002 - what it is called
        """Somebody waits no more."""
        wish, shape = self._wishes.pop((id, tier))
        stand = self._stand(wish.queue)
        if stand.step_out(shape, (wish.order, wish.id), lambda entry: self._waits(shape, entry)):
            self._winner = None
            self._tournament.left(stand, shape)

    def wish(self, id: str, tier: Tier) -> Wish | None:  # noqa: A002
        return found[0] if (found := self._wishes.get((id, tier))) else None

    def best(self) -> Wish | None:
        """Who is served next: the first in order for whom there is room everywhere."""
        if self._winner is None:
            line = self._tournament.winner()
            self._winner = (self._first_of(*line) if line else None,)
        return self._winner[0]

    def tightened(self, place: Place, user: str, amounts: Vector) -> None:
        """The ledger was charged."""
        self._winner = None
        self._tournament.stands[place.index].charge_user(user, amounts)
        self._tournament.charged(place.path)

    def loosened(self, place: Place, user: str, amounts: Vector) -> None:
        """The ledger was refunded."""
        self._winner = None
        self._tournament.stands[place.index].charge_user(user, tuple(-amount for amount in amounts))
        self._tournament.refunded(place.path)

    def barrier(self, id: str, tier: Tier) -> Barrier | None:  # noqa: A002
        """Where a wish is held up; None if nothing but others who come first."""
        wish, shape = self._wishes[id, tier]
        stand = self._stand(wish.queue)
        if stand.over_user_limit(shape):
            return Barrier(stand.place, shape, user=True)
        if stand.place.strict and tier is Tier.BASE and self.first(wish.queue) is not wish:
            return None
        barred = self._tournament.barred(stand, shape)
        return Barrier(barred[0].place, barred[1], user=False) if barred else None

    def held_up(self) -> list[tuple[Place, Wish]]:
        """The first of each shape that is blocked somewhere, with the place."""
        return self._leaders(self._tournament.held_up())

    def newly_held_up(self) -> list[tuple[Place, Wish]]:
        """Those of whom this is news since either question was asked last."""
        return self._leaders(self._tournament.newly_held_up())

    def first(self, queue: str) -> Wish | None:
        """Who is first in a queue."""
        stand = self._stand(queue)
        front = stand.front(Tier.BASE)
        return self._first_of(stand, front[1]) if front else None

    def after(self, wish: Wish) -> Wish | None:
        """Who is first now of those of a queue who want the same as one who has left."""
        stand = self._stand(wish.queue)
        shape = self._own(wish, stand)
        return self._first_of(stand, shape) if shape in stand.lines else None

    def _own(self, wish: Wish, stand: Stand) -> Shape:
        place = stand.place
        return self._tournament.shapes.own(wish.tier, wish.amounts, place.reach, wish.user if place.per_user else "")

    def _stand(self, queue: str) -> Stand:
        return self._tournament.stands[self._tree.by_name[queue].index]

    def _waits(self, shape: Shape, entry: InLine) -> bool:
        found = self._wishes.get((entry[1], shape.tier))
        return found is not None and found[1] is shape and found[0].order == entry[0]

    def _first_of(self, stand: Stand, shape: Shape) -> Wish:
        return self._wishes[stand.lines[shape][0][1], shape.tier][0]

    def _leaders(self, blocked: Iterable[tuple[Stand, Shape]]) -> list[tuple[Place, Wish]]:
        found = []
        for stand, shape in blocked:
            barred, line = self._tournament.barred(stand, shape), self._tournament.leader(stand, shape)
            if barred and line:
                found.append((barred[0].place, self._first_of(*line)))
        return found
