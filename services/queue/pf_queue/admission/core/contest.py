"""Who is next: a tournament over the tree, in which nobody is looked at who cannot win.

Those who wait are grouped by *shape*: what they want, and of whom. At each place the candidates of one shape stand in a
heap, in the order in which they would be served; each place sends the best of each shape up to the place above. A shape
that a place has no room for is *blocked* there: the place sends nobody of that shape up, until it has room again. So a
thousand queues that wait for the same cost one look.

Of one queue only the first goes whom nothing holds up. Whoever comes to the top while somebody of the same queue is
before him stands *behind* that one's shape from then on: a shape of its own, which is sent up as far as where the other
may be blocked, and gets no further until it is.

Keys only grow while nothing is given back: an admission makes its queue's share larger. A key in a heap is therefore a
lower bound, and is looked at again when its entry comes to the top. What makes keys smaller announces itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import heappop, heappush, heapreplace

from pf_queue.admission.core.amounts import Vector
from pf_queue.admission.core.ledger import Ledger
from pf_queue.admission.core.places import Admission, Place, Tree
from pf_queue.admission.core.shapes import Shape, Shapes
from pf_queue.admission.core.stands import Barrier, Entry, InLine, Key, Stand
from pf_queue.admission.core.wishes import Tier, Wish

_NONE = (None, 0)


class Contest:
    """All who wait for a pool."""

    def __init__(self, tree: Tree, ledger: Ledger) -> None:
        self._tree = tree
        self._ledger = ledger
        self._stands: list[Stand] = []
        deepest = max(len(place.path) for place in tree.places)
        for place in tree.places:
            above = self._stands[place.parent.index] if place.parent else None
            self._stands.append(Stand(place, above, (0.0, 0) * (deepest - len(place.path))))
            if above is not None:
                above.inner = True
        self._shapes = Shapes()
        self._wishes: dict[tuple[str, Tier], tuple[Wish, Shape]] = {}
        self._top: list[tuple[Key, int, Shape]] = []
        self._fresh: dict[tuple[Stand, Shape], None] = {}
        """What was blocked, or has a new leader in spite of it, since somebody asked."""
        self._number = 0
        self._winner: tuple[Wish | None] | None = None
        """Who is next, as long as nothing changes."""
        self.looks = 0
        """How many times a place was asked whether it has room: what a decision costs."""

    def __len__(self) -> int:
        return len(self._wishes)

    def enter(self, wish: Wish) -> None:
        """Somebody begins to wait."""
        stand = self._stand(wish.queue)
        place = stand.place
        shape = self._shapes.own(wish.tier, wish.amounts, place.reach, wish.user if place.per_user else "")
        self._wishes[wish.id, wish.tier] = (wish, shape)
        if stand.join(shape, (wish.order, wish.id)):
            self._winner = None
            before = stand.passed.get(shape)
            if before is not None and stand.lines[shape][0] < stand.lines[before][0]:
                del stand.passed[shape]
            self._present(stand, shape)

    def leave(self, id: str, tier: Tier) -> None:  # noqa: A002 - what it is called
        """Somebody waits no more."""
        wish, shape = self._wishes.pop((id, tier))
        stand = self._stand(wish.queue)
        if not stand.step_out(shape, (wish.order, wish.id), lambda entry: self._waits(shape, entry)):
            return
        self._winner = None
        if shape not in stand.lines:
            for known in (stand.offers, stand.blocked, stand.passed):
                known.pop(shape, None)
        self._let_by(stand, shape)
        if stand.place.strict and tier is Tier.BASE:
            self._present(stand, shape)

    def wish(self, id: str, tier: Tier) -> Wish | None:  # noqa: A002
        return found[0] if (found := self._wishes.get((id, tier))) else None

    def best(self) -> Wish | None:
        """Who is served next: the first in order for whom there is room everywhere."""
        if self._winner is None:
            self._winner = (self._find(),)
        return self._winner[0]

    def tightened(self, place: Place, user: str, amounts: Vector) -> None:
        """The ledger was charged. Shares have grown, which shows by itself, but for what is lent to nobody."""
        self._winner = None
        self._stands[place.index].charge_user(user, amounts)
        for at in place.path:
            stand = self._stands[at.index]
            for shape in [shape for shape in stand.held_back() if not self._fits(stand, shape)]:
                self._block(stand, shape)
            if at.local is not None:
                for shape in list(stand.offers):
                    self._present(stand, shape)

    def loosened(self, place: Place, user: str, amounts: Vector) -> None:
        """The ledger was refunded: shares are smaller, and there may be room for the blocked."""
        self._winner = None
        self._stands[place.index].charge_user(user, tuple(-amount for amount in amounts))
        sent: list[Shape] = []
        for at in place.path:
            stand = self._stands[at.index]
            freed = [shape for shape in stand.blocked if self._fits(stand, shape)]
            for shape in freed:
                del stand.blocked[shape]
            again = [shape for shape in stand.groups if shape.plain in freed or shape.behind in freed] if freed else ()
            anew = dict.fromkeys((*freed, *again, *sent))
            moved = [seen for shape in list(stand.offers) if shape not in anew and (seen := self._lower(stand, shape))]
            sent = [*moved, *(seen for shape in anew if (seen := self._send(stand, shape)))]

    def barrier(self, id: str, tier: Tier) -> Barrier | None:  # noqa: A002
        """Where a wish is held up; None if nothing but others who come first."""
        wish, shape = self._wishes[id, tier]
        stand = self._stand(wish.queue)
        if stand.over_user_limit(shape):
            return Barrier(stand.place, shape, user=True)
        if stand.place.strict and tier is Tier.BASE and self.first(wish.queue) is not wish:
            return None
        blocked = self._blocked(stand, shape)
        return Barrier(blocked[0].place, blocked[1], user=False) if blocked else None

    def held_up(self) -> list[tuple[Place, Wish]]:
        """The first of each shape that is blocked somewhere, with the place."""
        self._fresh.clear()
        return self._leaders((stand, shape) for stand in self._stands for shape in stand.blocked)

    def newly_held_up(self) -> list[tuple[Place, Wish]]:
        """Those of whom this is news since either question was asked last."""
        fresh = [(stand, shape) for stand, shape in self._fresh if shape in stand.blocked]
        self._fresh.clear()
        return self._leaders(fresh)

    def first(self, queue: str) -> Wish | None:
        """Who is first in a queue."""
        front = self._stand(queue).front(Tier.BASE)
        return self._wishes[front[0][1], Tier.BASE][0] if front else None

    def _stand(self, queue: str) -> Stand:
        return self._stands[self._tree.by_name[queue].index]

    def _waits(self, shape: Shape, entry: InLine) -> bool:
        found = self._wishes.get((entry[1], shape.tier))
        return found is not None and found[1] is shape and found[0].order == entry[0]

    def _find(self) -> Wish | None:
        root = self._stands[0]
        while self._top:
            key, number, shape = self._top[0]
            if root.offers.get(shape, _NONE)[1] != number:
                heappop(self._top)
                continue
            if shape.plain in root.blocked or not self._fits(root, shape):
                self._block(root, shape)
                continue
            best = self._best_key(root, shape)
            if best is None:
                del root.offers[shape]
            elif (now := (shape.tier, *best)) > key:
                root.offers[shape] = (shape, number, now)
                heapreplace(self._top, (now, number, shape))
            elif (wish := self._descend(root, shape)) is not None:
                return wish
        return None

    def _descend(self, stand: Stand, shape: Shape) -> Wish | None:
        """The winner of a shape, if every place below has room on the way down; where one has none, it is blocked."""
        while not shape.own:
            # The entries in front were looked at on the way up, a moment ago.
            _, _, stand, shape = stand.groups[shape][0]
            if shape.plain in stand.blocked or not self._fits(stand, shape):
                self._block(stand, shape)
                return None
        return self._first(stand, shape)

    def _block(self, stand: Stand, shape: Shape) -> None:
        """There is no room for a shape at a place. Those behind it need not wait for it any more."""
        plain = shape.plain
        stand.offers.pop(shape, None)
        if plain not in stand.blocked:
            stand.blocked[plain] = self._fresh[stand, plain] = None
            for behind in list(stand.behind.get(plain, ())):
                self._present(stand, behind)
            if shape.own:
                self._let_by(stand, shape)

    def _let_by(self, stand: Stand, shape: Shape) -> None:
        """Who waits at a place behind a shape does so no more, if that is blocked there or not before him any more."""
        line = stand.lines.get(shape) if shape not in stand.blocked else None
        for behind in stand.those_behind(shape) if stand.passed else ():
            if line is None or stand.lines[behind][0] < line[0]:
                del stand.passed[behind]
                self._present(stand, behind)

    def _first(self, stand: Stand, shape: Shape) -> Wish | None:
        """Who is first in a line, if of all lines of the place nobody is before him whom nothing holds up."""
        # Of a strict queue only the first was sent.
        sent_alone = stand.place.strict and shape.tier is Tier.BASE
        before = [] if sent_alone else [each for each in stand.before(shape) if self._may_go(stand, each[1])]
        if not before:
            return self._wishes[stand.lines[shape][0][1], shape.tier][0]
        stand.passed[shape] = min(before)[1]
        self._present(stand, shape)
        return None

    def _may_go(self, stand: Stand, shape: Shape) -> bool:
        """True if there is room for a plain shape on all the way up."""
        if self._blocked(stand, shape):
            return False
        for at, seen in self._way(stand, shape):
            if not self._fits(at, seen):
                self._block(at, seen)
                return False
        return True

    def _blocked(self, stand: Stand, shape: Shape) -> tuple[Stand, Shape] | None:
        """The first place on the way up where a plain shape is blocked, and as which."""
        return next(((at, seen) for at, seen in self._way(stand, shape) if seen in at.blocked), None)

    def _way(self, stand: Stand, shape: Shape) -> Iterator[tuple[Stand, Shape]]:
        """The places on the way up, and as which each of them sees a plain shape."""
        yield stand, shape
        while stand.above is not None:
            shape = self._shapes.below(shape, self._ledger.passes(stand.place, shape.need))
            stand = stand.above
            yield stand, shape

    def _leaders(self, blocked: Iterable[tuple[Stand, Shape]]) -> list[tuple[Place, Wish]]:
        return [(stand.place, wish) for stand, shape in list(blocked) if (wish := self._leader(stand, shape))]

    def _leader(self, stand: Stand, shape: Shape) -> Wish | None:
        """Who would be the winner of a plain shape if there were room; nobody whom its own queue holds back."""
        heads = [
            (key, each) for each in self._variants(stand, shape) if (key := self._best_key(stand, each)) is not None
        ]
        if not heads:
            return None
        shape = min(heads, key=lambda head: head[0])[1]
        while not shape.own:
            entry = self._head(stand, shape)
            if entry is None:
                return None
            stand, shape = entry[2], entry[3]
        front = stand.front(shape.tier)
        behind = front is not None and stand.place.strict and shape.tier is Tier.BASE and front[1] is not shape
        if behind or stand.over_user_limit(shape):
            return None
        return self._wishes[stand.lines[shape][0][1], shape.tier][0]

    def _variants(self, stand: Stand, plain: Shape) -> Iterator[Shape]:
        """A plain shape, and the same behind others, as far as they are held up."""
        yield plain
        for shape in list(stand.groups):
            if shape.bare is plain and shape.behind is not None and self._blocked(stand, shape.behind):
                yield shape

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
            front = stand.front(Tier.BASE)
            for other in [other for other in stand.offers if other.own and other.tier is Tier.BASE]:
                if front is None or other is not front[1]:
                    del stand.offers[other]
            if front is None:
                return None
            shape = front[1]
        if shape.plain in stand.blocked:
            self._fresh[stand, shape.plain] = None
            return None
        if stand.place.admission is not Admission.OPEN:
            return None
        if stand.above is None and shape.behind is not None and shape.behind not in stand.blocked:
            stand.offers.pop(shape, None)
            return None
        key = self._best_key(stand, shape) if stand.above is None else self._key(stand, shape)
        if key is None:
            stand.offers.pop(shape, None)
            return None
        return self._push(stand, shape, key)

    def _lower(self, stand: Stand, shape: Shape) -> Shape | None:
        """Says anew how a place stands that has less than before; its best are looked at when they are needed."""
        group = stand.groups.get(shape)
        if group is None or stand.place.local is not None:
            return self._send(stand, shape)
        if stand.above is None:
            return None
        # Whoever stands in front is there no longer, or no better than that.
        return self._push(stand, shape, (self._rank(stand, shape), -stand.place.priority, *group[0][0]))

    def _push(self, stand: Stand, shape: Shape, key: Key) -> Shape | None:
        above, old = stand.above, stand.offers.get(shape)
        if above is None:
            key = (shape.tier, *key)
        seen = shape if above is None else self._seen(stand, shape)
        if old is not None and old[0] is seen and old[2] <= key:
            # What is recorded there is a lower bound still.
            return None
        self._number += 1
        stand.offers[shape] = (seen, self._number, key)
        if above is None:
            heappush(self._top, (key, self._number, shape))
            return None
        number = self._number
        group = above.groups.setdefault(seen, [])
        heappush(group, (key, number, stand, shape))
        if seen.behind is not None:
            above.behind.setdefault(seen.behind, {})[seen] = None
            if seen.behind not in above.blocked and not self._fits(above, seen.behind):
                self._block(above, seen.behind)
        offer = above.offers.get(seen)
        if offer is None:
            return seen if group[0][1] == number else None
        return seen if key < offer[2][2 if above.above else 1 :] else None

    def _seen(self, stand: Stand, shape: Shape) -> Shape:
        """As which shape the place above sees it: also behind whom, unless that one is blocked here."""
        behind = stand.passed.get(shape) if shape.own else shape.behind
        need = self._ledger.passes(stand.place, shape.need)
        if behind is None or behind in stand.blocked:
            return self._shapes.below(shape, need)
        before = self._shapes.below(behind, self._ledger.passes(stand.place, behind.need))
        return self._shapes.below(shape, need, before)

    def _best_key(self, stand: Stand, shape: Shape) -> Key | None:
        """Where the best of a shape stands among all of a place; None if there is nobody."""
        if shape.own:
            line = stand.lines.get(shape)
            return (*stand.padding, *line[0][0]) if line else None
        entry = self._head(stand, shape)
        return entry[0] if entry else None

    def _key(self, stand: Stand, shape: Shape) -> Key | None:
        """Where the best of a shape stands among those of the places beside; None if there is nobody."""
        best = self._best_key(stand, shape)
        if best is None:
            return None
        return (self._rank(stand, shape), -stand.place.priority, *best)

    def _rank(self, stand: Stand, shape: Shape) -> float:
        ledger = self._ledger
        return (ledger.standing if stand.inner else ledger.rank)(stand.place, shape.amounts)

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
            if shape.behind is not None:
                stand.forget(shape.behind, shape)
        return None

    def _fits(self, stand: Stand, shape: Shape) -> bool:
        self.looks += 1
        if not self._ledger.fits(stand.place, shape.amounts, shape.need):
            return False
        return stand.place.per_user is None or not stand.over_user_limit(shape)
