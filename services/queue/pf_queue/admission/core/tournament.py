"""How candidates get from their queues to the top of the tree.

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
from itertools import islice

from pf_queue.admission.core.ledger import Ledger
from pf_queue.admission.core.places import Admission, Place, Tree
from pf_queue.admission.core.shapes import Shape, Shapes
from pf_queue.admission.core.stands import AHEAD, NO_OFFER, Entry, Key, Stand, add
from pf_queue.admission.core.wishes import Tier

INNER = 16
"""Places below which there are others, of which one look asks who would be first there."""


class Tournament:
    """All places, and who of those below each of them comes first, shape by shape."""

    def __init__(self, tree: Tree, ledger: Ledger) -> None:
        self._ledger = ledger
        self.stands: list[Stand] = []
        deepest = max(len(place.path) for place in tree.places)
        for place in tree.places:
            above = self.stands[place.parent.index] if place.parent else None
            self.stands.append(Stand(place, above, (0.0, 0) * (deepest - len(place.path))))
            if above is not None:
                above.inner = True
        self.shapes = Shapes()
        self._fresh: dict[tuple[Stand, Shape], None] = {}
        """What was blocked, or has a new leader in spite of it, since somebody asked."""
        self._top: list[tuple[Key, int, Shape]] = []
        self._number = 0
        self._inner = [stand for stand in self.stands[1:] if stand.inner]
        self._next = 0
        """The one of these at which to go on."""
        self.looks = 0
        """How many times a place was asked whether it has room: what a decision costs."""

    def came(self, stand: Stand, shape: Shape) -> None:
        """A line has a new first, who came now."""
        if self.shapes.crowded:
            self._tidy()
        stand.touch()
        before = stand.passed.get(shape)
        if before is not None and stand.lines[shape][0] < stand.lines[before][0]:
            del stand.passed[shape]
        self._forget_leader(stand, shape)
        self._present(stand, shape)
        # Whoever speaks for the shape further up may have no right against those who are beside this one.
        self._fresh.update(dict.fromkeys(islice(self._way(stand, shape), 1, None)))

    def left(self, stand: Stand, shape: Shape) -> None:
        """The first of a line is there no more."""
        stand.touch()
        if shape not in stand.lines:
            for known in (stand.offers, stand.blocked, stand.passed):
                known.pop(shape, None)
        self._forget_leader(stand, shape)
        self._let_by(stand, shape)
        if stand.place.strict and shape.tier is Tier.BASE:
            self._present(stand, shape)

    def _forget_leader(self, stand: Stand, shape: Shape) -> None:
        """Whoever leads a shape on the way up may be somebody else than when it was blocked."""
        for at, seen in self._way(stand, shape):
            at.freed.pop(seen, None)

    def charged(self, path: Iterable[Place]) -> None:
        """The ledger was charged. Shares have grown, which shows by itself, but for what is lent to nobody."""
        for place in path:
            stand = self.stands[place.index]
            stand.sure.clear()
            for shape in [shape for shape in stand.held_back() if not self._fits(stand, shape)]:
                self._block(stand, shape)
            if place.local is not None:
                for shape in list(stand.offers):
                    self._present(stand, shape)

    def refunded(self, path: Iterable[Place]) -> None:
        """The ledger was refunded: shares are smaller, and there may be room for the blocked."""
        sent: list[Shape] = []
        for place in path:
            stand = self.stands[place.index]
            stand.sure.clear()
            freed = [shape for shape in stand.blocked if self._fits(stand, shape)]
            for shape in freed:
                del stand.blocked[shape]
                stand.freed[shape] = None
            anew = dict.fromkeys((*freed, *stand.beside(freed), *sent))
            moved = [seen for shape in self._better(stand) if shape not in anew and (seen := self._lower(stand, shape))]
            sent = [*moved, *(seen for shape in anew if (seen := self._send(stand, shape)))]

    def _better(self, stand: Stand) -> list[Shape]:
        """What a place sends up that may stand better there, now that the place has less."""
        if stand.place.local is not None:
            return list(stand.offers)
        if stand.above is None:
            return []
        return [shape for shape, (_, _, key) in stand.offers.items() if self._rank(stand, shape) < key[0]]

    def winner(self) -> tuple[Stand, Shape] | None:
        """The line whose first is next, and where it is."""
        root = self.stands[0]
        while self._top:
            key, number, shape = self._top[0]
            if root.offers.get(shape, NO_OFFER)[1] != number:
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
            elif (found := self._descend(root, shape)) is not None:
                return found
        return None

    def barred(self, stand: Stand, shape: Shape) -> tuple[Stand, Shape] | None:
        """The first place on the way up where a plain shape is blocked, and as which."""
        while shape not in stand.blocked:
            if stand.above is None:
                return None
            shape = self.shapes.below(shape, self._ledger.passes(stand.place, shape.need))
            stand = stand.above
        return stand, shape

    @property
    def turns(self) -> int:
        """How many times it must be asked what is held up, to be told of all places."""
        return -(-len(self._inner) // INNER)

    def held_up(self) -> list[tuple[Stand, Shape]]:
        """What is blocked, and where; and below there, of some places each time, what would be first there."""
        self._fresh.clear()
        blocked = [(stand, shape) for stand in self.stands for shape in stand.blocked]
        begin = self._next if self._next < len(self._inner) else 0
        self._next = begin + INNER
        below = {(stand, shape.plain): None for stand in self._inner[begin : self._next] for shape in stand.groups}
        return [*blocked, *((at, shape) for at, shape in below if shape not in at.blocked and self.barred(at, shape))]

    def newly_held_up(self) -> list[tuple[Stand, Shape]]:
        """What of it is news since either question was asked last, or has a new leader."""
        fresh = [(stand, shape) for stand, shape in self._fresh if self.barred(stand, shape)]
        self._fresh.clear()
        return fresh

    def leader(self, stand: Stand, plain: Shape) -> tuple[Stand, Shape] | None:
        """The line whose first would win of a shape if there were room; none whom its own queue holds back."""
        shape = self._foremost(stand, plain)
        while shape is not None and not shape.own:
            entry = self._head(stand, shape)
            if entry is None:
                return None
            stand, shape = entry[2], entry[3]
        # Whoever was held up here may have left since.
        if shape is None or shape not in stand.lines or stand.over_user_limit(shape):
            return None
        front = stand.front(shape.tier) if stand.place.strict and shape.tier is Tier.BASE else None
        return None if front and front[1] is not shape else (stand, shape)

    def _foremost(self, stand: Stand, plain: Shape) -> Shape | None:
        """Of a plain shape, and the same behind others who are held up, the one whose best comes first."""
        known = stand.variants.get(plain, ())
        variants = [shape for shape in known if shape.behind and self.barred(stand, shape.behind)]
        if not variants:
            return plain
        first, least = None, None
        for shape in (plain, *variants):
            group = stand.groups.get(shape)
            # What stands in front is no better than that, so that most need not be looked at.
            if least is not None and group is not None and group[0][0] >= least:
                continue
            key = self._best_key(stand, shape)
            if key is not None and (least is None or key < least):
                first, least = shape, key
        return first

    def _tidy(self) -> None:
        """Forgets the shapes of those who are gone. Where something is lent to nobody, there are ever new ones."""
        for stand in self.stands:
            for shape in list(stand.groups):
                self._head(stand, shape)
            stand.tidy()
        self.shapes.keep(shape for stand in self.stands for shape in stand.shapes())

    def _descend(self, stand: Stand, shape: Shape) -> tuple[Stand, Shape] | None:
        """The line of the winner of a shape, if there is room on the way down; where there is none, it is blocked."""
        while not shape.own:
            # The entries in front were looked at on the way up, a moment ago.
            _, _, stand, shape = stand.groups[shape][0]
            if shape.plain in stand.blocked or not self._fits(stand, shape):
                self._block(stand, shape)
                return None
        return (stand, shape) if self._comes_first(stand, shape) else None

    def _comes_first(self, stand: Stand, shape: Shape) -> bool:
        """True if of all lines of a place none has a first before the one of this line whom nothing holds up."""
        if stand.place.strict and shape.tier is Tier.BASE:
            # Only the first was sent.
            return True
        before = None
        for number, (_, each) in enumerate(stand.before(shape)):
            if before is not None and number >= AHEAD:
                break
            if self._may_go(stand, each) and before is None:
                before = each
        if before is not None:
            stand.passed[shape] = before
            self._present(stand, shape)
        return before is None

    def _block(self, stand: Stand, shape: Shape) -> None:
        """There is no room for a shape at a place. Those behind it need not wait for it any more."""
        plain = shape.plain
        if stand.offers.pop(shape, None) is not None:
            stand.touch()
        if plain not in stand.blocked:
            stand.blocked[plain] = None
            # If there was room for a moment and others took it, its leader is who it was.
            if stand.freed.pop(plain, NO_OFFER) is NO_OFFER:
                self._fresh[stand, plain] = None
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

    def _may_go(self, stand: Stand, shape: Shape) -> bool:
        """True if there is room for a plain shape on all the way up."""
        if self.barred(stand, shape):
            return False
        for at, seen in self._way(stand, shape):
            if not self._fits(at, seen):
                self._block(at, seen)
                return False
        return True

    def _way(self, stand: Stand, shape: Shape) -> Iterator[tuple[Stand, Shape]]:
        """The places on the way up, and as which each of them sees a plain shape."""
        yield stand, shape
        while stand.above is not None:
            shape = self.shapes.below(shape, self._ledger.passes(stand.place, shape.need))
            stand = stand.above
            yield stand, shape

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
            front = stand.only_front()
            if front is None:
                return None
            shape = front
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
            if stand.offers.pop(shape, None) is not None:
                stand.touch()
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
        stand.touch()
        stand.offers[shape] = (seen, self._number, key)
        if above is None:
            heappush(self._top, (key, self._number, shape))
            return None
        number = self._number
        group = above.groups.setdefault(seen, [])
        add(group, (key, number, stand, shape))
        if seen.behind is not None:
            above.register(seen)
            if seen.behind not in above.blocked and not self._fits(above, seen.behind):
                self._block(above, seen.behind)
        offer = above.offers.get(seen)
        if offer is not None:
            return seen if key < offer[2][2 if above.above else 1 :] else None
        front = self._head(above, seen)
        return seen if front is not None and front[1] == number else None

    def _seen(self, stand: Stand, shape: Shape) -> Shape:
        """As which shape the place above sees it: also behind whom, unless that one is blocked here."""
        behind = stand.passed.get(shape) if shape.own else shape.behind
        need = self._ledger.passes(stand.place, shape.need)
        if behind is None or behind in stand.blocked:
            return self.shapes.below(shape, need)
        before = self.shapes.below(behind, self._ledger.passes(stand.place, behind.need))
        return self.shapes.below(shape, need, before)

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
        return (self._ledger.standing if stand.inner else self._ledger.rank)(stand.place, shape.amounts)

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
            if its in below.sure:
                return entry
            key = self._key(below, its)
            if key is None:
                del below.offers[its]
                heappop(group)
                continue
            below.sure.add(its)
            if key > recorded:
                below.offers[its] = (offer[0], number, key)
                heapreplace(group, (key, number, below, its))
        if group is not None:
            del stand.groups[shape]
            stand.forget(shape)
        return None

    def _fits(self, stand: Stand, shape: Shape) -> bool:
        self.looks += 1
        if not self._ledger.fits(stand.place, shape.amounts, shape.need):
            return False
        return stand.place.per_user is None or not stand.over_user_limit(shape)
