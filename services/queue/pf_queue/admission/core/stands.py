"""The places of the tournament, and what they know."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import TypeAlias

from pf_queue.admission.core.amounts import Vector
from pf_queue.admission.core.places import Place
from pf_queue.admission.core.shapes import Shape
from pf_queue.admission.core.wishes import Order, Tier

Key: TypeAlias = tuple[float, ...]
"""How candidates of one place are ordered: for each level of the tree from there down how the queue stands and its
negative priority; then the order of the workload."""
InLine: TypeAlias = tuple[Order, str]
"""A workload that waits at a place, and where it stands there."""
Front: TypeAlias = tuple[InLine, Shape]
"""Who is first of a shape; nobody is twice, so that shapes are never compared."""

NO_OFFER = (None, 0)
AHEAD = 16
"""Lines of a queue that are looked at in any case if they are before the one whose turn it is: who is held up there is
known the sooner."""
CROWD = 1024
"""Each time a heap has grown by so many, the entries are taken out that stand for nobody any more."""


class Stand:
    """A place in the tournament."""

    __slots__ = (
        "above",
        "behind",
        "blocked",
        "dead",
        "freed",
        "fronts",
        "groups",
        "inner",
        "lines",
        "offers",
        "padding",
        "passed",
        "place",
        "sure",
        "users",
        "variants",
    )

    def __init__(self, place: Place, above: Stand | None, padding: Key) -> None:
        self.place = place
        self.above = above
        self.padding = padding
        """What stands in keys for the levels that other branches of the tree have below this place."""
        self.inner = False
        """True if there are places below."""
        self.groups: dict[Shape, list[Entry]] = {}
        """By shape, the best of the places below."""
        self.lines: dict[Shape, list[InLine]] = {}
        """By shape, who waits here itself; whoever stands first in a line does wait."""
        self.dead: dict[Shape, int] = {}
        """How many stand in a line still who have left."""
        self.fronts: dict[Tier, list[Front]] = {tier: [] for tier in Tier}
        """Who stands first in a line, in order."""
        self.blocked: dict[Shape, None] = {}
        """The plain shapes for which there was no room when they were looked at last."""
        self.offers: dict[Shape, tuple[Shape, int, Key]] = {}
        """What is sent up: as which shape, the number of the newest entry there, and its key."""
        self.sure: set[Shape] = set()
        """Of what is sent up, that of which the key is no lower bound but exact: nothing has changed since."""
        self.passed: dict[Shape, Shape] = {}
        """Of those who wait here itself: who stands behind whom."""
        self.behind: dict[Shape, dict[Shape, None]] = {}
        """Of those who wait below, by plain shape: who stands behind it."""
        self.variants: dict[Shape, dict[Shape, None]] = {}
        """Of those who wait below, by plain shape: the same behind others."""
        self.freed: dict[Shape, None] = {}
        """What was blocked until there was room, and has the same leader still."""
        self.users: dict[str, list[int]] = {}
        """What each user has here, where users are limited."""

    def touch(self) -> None:
        """Something has changed here, so that keys from here on up are lower bounds."""
        at: Stand | None = self
        while at is not None:
            at.sure.clear()
            at = at.above

    def join(self, shape: Shape, entry: InLine) -> bool:
        """Somebody stands in line from now on; True if in front."""
        line = self.lines.setdefault(shape, [])
        before = line[0] if line else None
        heappush(line, entry)
        if line[0] is not entry:
            return False
        if before is not None:
            self._remove_front(before, shape)
        insort(self.fronts[shape.tier], (entry, shape))
        return True

    def step_out(self, shape: Shape, entry: InLine, waits: Callable[[InLine], bool]) -> bool:
        """Somebody has left; True if from the front of the line. `waits` tells who is there still."""
        line = self.lines[shape]
        in_front = line[0] == entry
        if in_front:
            self._remove_front(line[0], shape)
            heappop(line)
            while line and not waits(line[0]):
                heappop(line)
                self.dead[shape] -= 1
            if line:
                insort(self.fronts[shape.tier], (line[0], shape))
        else:
            self.dead[shape] = self.dead.get(shape, 0) + 1
        if 2 * self.dead.get(shape, 0) >= len(line):
            self._tidy_line(shape, waits)
        return in_front

    def _tidy_line(self, shape: Shape, waits: Callable[[InLine], bool]) -> None:
        """Takes out of a line all who have left. Its first is who it was, and whoever has come back is there once."""
        line = self.lines[shape]
        # What is sorted is a heap.
        line[:] = sorted({entry for entry in line if waits(entry)})
        self.dead.pop(shape, None)
        if not line:
            del self.lines[shape]

    def _remove_front(self, entry: InLine, shape: Shape) -> None:
        fronts = self.fronts[shape.tier]
        del fronts[bisect_left(fronts, (entry,))]

    def front(self, tier: Tier) -> Front | None:
        """Who is first of all who wait here, and of which shape."""
        fronts = self.fronts[tier]
        return fronts[0] if fronts else None

    def only_front(self) -> Shape | None:
        """Takes back what is sent of all who wait here but the first, and says what that one wants."""
        front = self.front(Tier.BASE)
        for other in [other for other in self.offers if other.own and other.tier is Tier.BASE]:
            if front is None or other is not front[1]:
                del self.offers[other]
                self.touch()
        return front[1] if front else None

    def beside(self, shapes: Iterable[Shape]) -> Iterator[Shape]:
        """What others want who stand behind one of these, or the same behind others."""
        for shape in shapes:
            yield from (*self.variants.get(shape, ()), *self.behind.get(shape, ()))

    def before(self, shape: Shape) -> Iterator[Front]:
        """The other shapes of whose line the first comes before the first of this one, whether there is room or not."""
        for front in self.fronts[shape.tier]:
            if front[1] is shape:
                return
            yield front

    def those_behind(self, shape: Shape) -> list[Shape]:
        """Those who wait here themselves and stand behind a shape."""
        return [passed for passed, before in self.passed.items() if before is shape]

    def held_back(self) -> Iterator[Shape]:
        """The shapes that others stand behind here, for which there was room when they were looked at last."""
        for shape in dict.fromkeys((*self.behind, *self.passed.values())) if self.behind or self.passed else ():
            if shape not in self.blocked:
                yield shape

    def register(self, shape: Shape) -> None:
        """There are some of a shape below who stand behind another."""
        if shape.behind is not None:
            self.behind.setdefault(shape.behind, {})[shape] = None
            self.variants.setdefault(shape.plain, {})[shape] = None

    def forget(self, shape: Shape) -> None:
        """There is nobody of a shape below any more."""
        for known, key in ((self.behind, shape.behind), (self.variants, shape.plain)):
            if key in known:
                known[key].pop(shape, None)
                if not known[key]:
                    del known[key]

    def tidy(self) -> None:
        """Forgets what is blocked and wanted by nobody."""
        self.sure.clear()
        for shape in [*self.blocked, *self.freed]:
            if not any(shape in wanted for wanted in (self.lines, self.groups, self.variants, self.behind)):
                self.blocked.pop(shape, None)
                self.freed.pop(shape, None)

    def shapes(self) -> Iterator[Shape]:
        """All that are known here."""
        yield from (*self.lines, *self.groups, *self.blocked, *self.freed, *self.behind)
        yield from (seen for seen, _, _ in self.offers.values())

    def over_user_limit(self, shape: Shape) -> bool:
        """True if whoever wants this has too much here for it."""
        most = self.place.per_user
        if most is None or not shape.user:
            return False
        used = self.users.get(shape.user)
        return any(amount and (used[r] if used else 0) + amount > most[r] for r, amount in enumerate(shape.amounts))

    def charge_user(self, user: str, amounts: Vector) -> None:
        if self.place.per_user is None:
            return
        used = self.users.setdefault(user, [0] * len(amounts))
        for resource, amount in enumerate(amounts):
            used[resource] += amount
        if not any(used):
            del self.users[user]


Entry: TypeAlias = tuple[Key, int, Stand, Shape]
"""A candidate from the place below: its key, the number of the entry, that place, and its shape there."""


def add(group: list[Entry], entry: Entry) -> None:
    """One more candidate from below."""
    heappush(group, entry)
    if len(group) % CROWD == 0:
        group[:] = [each for each in group if each[2].offers.get(each[3], NO_OFFER)[1] == each[1]]
        heapify(group)


@dataclass(frozen=True, slots=True)
class Barrier:
    """Where a wish is held up."""

    place: Place
    shape: Shape
    user: bool
    """True if it is the limit of its user there."""
