"""Who is next: a tournament over the tree, in which nobody is looked at who cannot win.

Those who wait are grouped by *shape*: what they want, and of whom. At each place the candidates of one shape stand in a
heap, in the order in which they would be served; each place sends the best of each shape up to the place above. A shape
that a place has no room for is *blocked* there: the place sends nobody of that shape up, until it has room again. So a
thousand queues that wait for the same cost one look. Between shapes, each place sends for its own first: whoever comes
to the top for another one is *passed* there, until that first is served or held up.

Keys only grow while nothing is given back: an admission makes its queue's share larger. A key in a heap is therefore a
lower bound, and is looked at again when its entry comes to the top. What makes keys smaller announces itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from heapq import heappop, heappush, heapreplace

from pf_queue.admission.core.amounts import Vector
from pf_queue.admission.core.ledger import Ledger
from pf_queue.admission.core.places import Admission, Place, Reach, Tree
from pf_queue.admission.core.stands import Entry, Stand
from pf_queue.admission.core.wishes import Key, Order, Shape, Tier, Wish

_NONE = (None, 0)


@dataclass(frozen=True, slots=True)
class Barrier:
    """Where a wish is held up."""

    place: Place
    shape: Shape
    user: bool
    """True if it is the limit of its user there."""


class Contest:
    """All who wait for a pool."""

    def __init__(self, tree: Tree, ledger: Ledger) -> None:
        self._tree = tree
        self._ledger = ledger
        self._stands: list[Stand] = []
        for place in tree.places:
            above = self._stands[place.parent.index] if place.parent else None
            self._stands.append(Stand(place, above))
        self._shapes: dict[tuple[Tier, Vector, Vector, Reach, str, bool], Shape] = {}
        self._wishes: dict[tuple[str, Tier], tuple[Wish, Shape]] = {}
        self._top: list[tuple[Key, int, Shape]] = []
        self._fresh: dict[tuple[Stand, Shape], None] = {}
        """What was blocked, or has a new leader in spite of it, since somebody asked."""
        self._passed: dict[Stand, None] = {}
        """Where somebody is passed."""
        self._waiting: dict[tuple[Stand, Shape], dict[Stand, None]] = {}
        """Where somebody is passed for a shape, by where that shape may be blocked."""
        self._number = 0
        self.looks = 0
        """How many times a place was asked whether it has room: what a decision costs."""

    def __len__(self) -> int:
        return len(self._wishes)

    def enter(self, wish: Wish) -> None:
        """Somebody begins to wait."""
        stand = self._stands[self._tree.by_name[wish.queue].index]
        place = stand.place
        user = wish.user if place.per_user else ""
        shape = self._shape(wish.tier, wish.amounts, wish.amounts, place.reach, user, own=True)
        self._wishes[wish.id, wish.tier] = (wish, shape)
        line = stand.lines.setdefault(shape, [])
        heappush(line, (wish.order, wish.id))
        if line[0][1] == wish.id:
            self._present(stand, shape)

    def leave(self, id: str, tier: Tier) -> None:  # noqa: A002 - what it is called
        """Somebody waits no more."""
        wish, shape = self._wishes.pop((id, tier))
        stand = self._stands[self._tree.by_name[wish.queue].index]
        if self._first(stand, shape) is None:
            stand.offers.pop(shape, None)
            stand.blocked.pop(shape, None)
            stand.passed.pop(shape, None)
        self._recall(stand.place)
        if stand.place.strict and tier is Tier.BASE:
            self._present(stand, shape)

    def wish(self, id: str, tier: Tier) -> Wish | None:  # noqa: A002
        return found[0] if (found := self._wishes.get((id, tier))) else None

    def best(self) -> Wish | None:
        """Who is served next: the first in order for whom there is room everywhere."""
        root = self._stands[0]
        while self._top:
            key, number, shape = self._top[0]
            if root.offers.get(shape, _NONE)[1] != number:
                heappop(self._top)
                continue
            entry = self._head(root, shape)
            if entry is None:
                del root.offers[shape]
            elif entry[0] > key:
                root.offers[shape] = (shape, number, entry[0])
                heapreplace(self._top, (entry[0], number, shape))
            elif (wish := self._descend(root, shape)) is not None:
                return wish
        return None

    def tightened(self, place: Place, user: str, amounts: Vector) -> None:
        """The ledger was charged. Shares have grown, which shows by itself, but for what is lent to nobody."""
        self._stands[place.index].charge_user(user, amounts)
        self._recall(place)
        for at in place.path:
            if at.local is not None:
                stand = self._stands[at.index]
                for shape in list(stand.offers):
                    self._present(stand, shape)

    def loosened(self, place: Place, user: str, amounts: Vector) -> None:
        """The ledger was refunded: shares are smaller, and there may be room for the blocked."""
        self._stands[place.index].charge_user(user, tuple(-amount for amount in amounts))
        sent: list[Shape] = []
        for at in place.path:
            stand = self._stands[at.index]
            freed = [shape for shape in stand.blocked if self._fits(stand, shape)]
            for shape in freed:
                del stand.blocked[shape]
            passed, stand.passed = stand.passed, {}
            sent = [
                seen
                for shape in dict.fromkeys((*stand.offers, *freed, *passed, *sent))
                if (seen := self._send(stand, shape)) is not None
            ]

    def barrier(self, id: str, tier: Tier) -> Barrier | None:  # noqa: A002
        """Where a wish is held up; None if nothing but others who come first."""
        wish, shape = self._wishes[id, tier]
        stand = self._stands[self._tree.by_name[wish.queue].index]
        at, user = stand, stand.over_user_limit(shape)
        while not user and shape not in at.blocked:
            offer = at.offers.get(shape)
            if offer is None or at.above is None:
                return None
            shape, at = offer[0], at.above
        return Barrier(at.place, shape, user)

    def held_up(self) -> list[tuple[Place, Wish]]:
        """The first of each shape that is blocked somewhere, with the place."""
        self._fresh.clear()
        return self._leaders((stand, shape) for stand in self._stands for shape in stand.blocked)

    def newly_held_up(self) -> list[tuple[Place, Wish]]:
        """Those of whom this is news since either question was asked last."""
        fresh = [(stand, shape) for stand, shape in self._fresh if shape in stand.blocked]
        self._fresh.clear()
        return self._leaders(fresh)

    def _leaders(self, blocked: Iterable[tuple[Stand, Shape]]) -> list[tuple[Place, Wish]]:
        return [(stand.place, wish) for stand, shape in list(blocked) if (wish := self._leader(stand, shape))]

    def first(self, queue: str) -> Wish | None:
        """Who is first in a queue."""
        stand = self._stands[self._tree.by_name[queue].index]
        shape = self._first_shape(stand)
        first = self._first(stand, shape) if shape else None
        return self._wishes[first[1], Tier.BASE][0] if first else None

    def _descend(self, stand: Stand, shape: Shape) -> Wish | None:
        """The winner of a shape, if every place on the way down has room; where one has none, the shape is blocked."""
        while True:
            if not self._fits(stand, shape):
                stand.blocked[shape] = self._fresh[stand, shape] = None
                stand.offers.pop(shape, None)
                self._recall_below(stand, shape)
                if stand.above is not None:
                    self._recall(stand.above.place)
                return None
            if (other := self._passed_for(stand, shape)) is not None:
                self._pass(stand, shape, other)
                return None
            if shape.own:
                first = self._first(stand, shape)
                return self._wishes[first[1], shape.tier][0] if first else None
            entry = self._head(stand, shape)
            if entry is None:
                return None
            stand, shape = entry[2], entry[3]

    def _passed_for(self, stand: Stand, shape: Shape) -> tuple[Shape, Key] | None:
        """Another shape of which somebody comes first at a place and is not held up, as far as is known."""
        if stand.above is None or len(stand.offers) == 1:
            return None
        best, least = shape, self._inner_key(stand, shape)
        for other in list(stand.offers) if least is not None else ():
            if other is not shape and stand.goes_up(other):
                key = self._inner_key(stand, other)
                if key is not None and least is not None and key < least:
                    best, least = other, key
        return None if best is shape or least is None else (best, least)

    def _pass(self, stand: Stand, shape: Shape, other: tuple[Shape, Key]) -> None:
        stand.passed[shape] = other
        self._passed[stand] = None
        stand.offers.pop(shape, None)
        at, its = stand, other[0]
        while True:
            self._waiting.setdefault((at, its), {})[stand] = None
            if at.above is None:
                break
            its, at = self._seen(at, its), at.above
        if stand.above is not None:
            self._recall(stand.above.place)

    def _inner_key(self, stand: Stand, shape: Shape) -> Key | None:
        """Where the best of a shape stands among all of a place; those of the place itself borrow nothing from it."""
        if shape.own:
            return (shape.tier, 0.0, 0, *first[0]) if (first := self._first(stand, shape)) else None
        while (entry := self._head(stand, shape)) is not None:
            other = self._passed_for(entry[2], entry[3])
            if other is None:
                return entry[0]
            self._pass(entry[2], entry[3], other)
        return None

    def _recall(self, place: Place) -> None:
        """On the way from a place to the top, those stand up again who were passed for somebody who has changed."""
        for at in place.path if self._passed else ():
            stand = self._stands[at.index]
            for other in dict.fromkeys(stand.passed.values()):
                if not stand.goes_up(other[0]) or self._inner_key(stand, other[0]) != other[1]:
                    self._present_passed(stand, other[0])

    def _recall_below(self, stand: Stand, shape: Shape) -> None:
        """From a place that has no room down, those stand up again who were passed for somebody of a shape."""
        for passing in self._waiting.pop((stand, shape), ()):
            self._present_passed(passing, None)

    def _present_passed(self, stand: Stand, other: Shape | None) -> None:
        """Sends up who was passed for another shape, or for any."""
        shapes = [shape for shape, passed in stand.passed.items() if other is None or passed[0] is other]
        for shape in shapes:
            stand.passed.pop(shape, None)
            self._present(stand, shape)
        if not stand.passed:
            self._passed.pop(stand, None)

    def _leader(self, stand: Stand, shape: Shape) -> Wish | None:
        """Who would be the winner of a shape if there were room; nobody whom its own queue holds back."""
        while not shape.own:
            entry = self._head(stand, shape)
            if entry is None:
                return None
            stand, shape = entry[2], entry[3]
        behind = stand.place.strict and shape.tier is Tier.BASE and self._first_shape(stand) is not shape
        if behind or stand.over_user_limit(shape):
            return None
        first = self._first(stand, shape)
        return self._wishes[first[1], shape.tier][0] if first else None

    def _present(self, stand: Stand, shape: Shape) -> None:
        """Sends the best of a shape up, as far as it is news."""
        at: Stand | None = stand
        seen: Shape | None = shape
        while at is not None and seen is not None:
            seen, at = self._send(at, seen), at.above

    def _send(self, stand: Stand, shape: Shape) -> Shape | None:
        """Sends the best of a shape one place up, and says as which shape, if that place must send it on.

        Nobody is sent of a shape that is blocked, and by a place that admits nobody. Of a strict queue only the first
        is, whatever its shape.
        """
        if stand.place.strict and shape.own and shape.tier is Tier.BASE:
            first = self._first_shape(stand)
            for other in [other for other in stand.offers if other.own and other.tier is Tier.BASE]:
                if other is not first:
                    del stand.offers[other]
            if first is None:
                return None
            shape = first
        if shape in stand.blocked:
            self._fresh[stand, shape] = None
            return None
        if stand.place.admission is not Admission.OPEN:
            return None
        key = self._key(stand, shape)
        if key is None:
            stand.offers.pop(shape, None)
            return None
        return self._push(stand, shape, key)

    def _push(self, stand: Stand, shape: Shape, key: Key) -> Shape | None:
        above, old = stand.above, stand.offers.get(shape)
        seen = shape if above is None else self._seen(stand, shape)
        if old is not None and old[0] is seen and old[2] <= key:
            # What is recorded there is a lower bound still.
            return None
        self._number += 1
        stand.offers[shape] = (seen, self._number, key)
        if above is None:
            heappush(self._top, (key, self._number, shape))
            return None
        group = above.groups.setdefault(seen, [])
        heappush(group, (key, self._number, stand, shape))
        is_news = group[0][1] == self._number
        if old is not None and old[0] is not seen:
            # As what it is seen now, it may be blocked above.
            for passing in list(self._passed):
                self._present_passed(passing, None)
        return seen if is_news else None

    def _seen(self, stand: Stand, shape: Shape) -> Shape:
        """As which shape the place above sees it."""
        need = self._ledger.passes(stand.place, shape.need)
        return self._shape(shape.tier, shape.amounts, need, shape.reach)

    def _first_shape(self, stand: Stand) -> Shape | None:
        """The shape of the first in a strict queue."""
        firsts = [
            (first, shape)
            for shape in list(stand.lines)
            if shape.tier is Tier.BASE and (first := self._first(stand, shape)) is not None
        ]
        return min(firsts, key=lambda each: each[0])[1] if firsts else None

    def _key(self, stand: Stand, shape: Shape) -> Key | None:
        """Where the best of a shape stands among those of the places beside; None if there is nobody."""
        if shape.own:
            first = self._first(stand, shape)
            if first is None:
                return None
            order = first[0]
        else:
            entry = self._head(stand, shape)
            if entry is None:
                return None
            if stand.above is None:
                return entry[0]
            order = entry[0][3:]
        return (shape.tier, self._ledger.rank(stand.place, shape.amounts), -stand.place.priority, *order)

    def _head(self, stand: Stand, shape: Shape) -> Entry | None:
        """The best of a shape from below."""
        group = stand.groups.get(shape)
        while group:
            entry = group[0]
            recorded, number, below, its = entry
            offer = below.offers.get(its)
            if offer is None or offer[1] != number:
                heappop(group)
                continue
            key = self._key(below, its)
            if key is None:
                del below.offers[its]
                heappop(group)
            elif key > recorded:
                below.offers[its] = (offer[0], number, key)
                heapreplace(group, (key, number, below, its))
            else:
                return entry
        if group is not None:
            del stand.groups[shape]
        return None

    def _first(self, stand: Stand, shape: Shape) -> tuple[Order, str] | None:
        """Who is first in a line."""
        line = stand.lines.get(shape)
        while line:
            if self._waits(shape, line[0]):
                return line[0]
            heappop(line)
        if line is not None:
            del stand.lines[shape]
        return None

    def _waits(self, shape: Shape, entry: tuple[Order, str]) -> bool:
        found = self._wishes.get((entry[1], shape.tier))
        return found is not None and found[1] is shape and found[0].order == entry[0]

    def _fits(self, stand: Stand, shape: Shape) -> bool:
        self.looks += 1
        if not self._ledger.fits(stand.place, shape.amounts, shape.need):
            return False
        return not stand.over_user_limit(shape)

    def _shape(
        self, tier: Tier, amounts: Vector, need: Vector, reach: Reach, user: str = "", *, own: bool = False
    ) -> Shape:
        values = (tier, amounts, need, reach, user, own)
        shape = self._shapes.get(values)
        if shape is None:
            shape = self._shapes[values] = Shape(*values)
        return shape
