"""Whom others' leaving might help: for whom it is worth to search who could."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from pf_queue.admission.core.contest import Contest
from pf_queue.admission.core.places import Place
from pf_queue.admission.core.wishes import Tier, Wish
from pf_queue.admission.core.workloads import Workload
from pf_queue.admission.core.yard import Yard

GUARANTEED = 8
"""Searches of one round for those who have a right to what they ask for, for one of the others."""
QUEUES = 64
"""Queues of which one round looks whether their first is before somebody who runs there."""


class Claims:
    """Those of a pool."""

    def __init__(self, yard: Yard, contest: Contest, others: int) -> None:
        """`others` is how many searches of one round are for those who have no right, but less than others have."""
        self._yard = yard
        self._contest = contest
        self._others = others
        self._guaranteed = others * GUARANTEED
        self._tried: dict[str, int] = {}
        """For whom nobody was found to leave, and how many changes there had been by then."""
        self._superior: dict[str, None] = {}
        """Queues whose first may be before somebody who runs there."""
        self._next = 0
        """The queue at which to go on."""
        self._looked = (0, 0)
        """How many changes there had been, and how many times somebody looked since."""
        self.unfinished = False
        """True if there was more to look at than one round may."""

    def came(self, workload: Workload) -> None:
        """Somebody waits from now on."""
        lowest = next(self._yard.last(workload.queue), None)
        if lowest is not None and lowest.workload.priority < workload.priority:
            self._superior[workload.queue] = None

    def went(self, id_: str) -> None:
        """Somebody waits no more."""
        self._tried.pop(id_, None)

    def helped(self, wish: Wish) -> Wish | None:
        """Others leave for somebody. Returns whoever comes after and has a right to the same."""
        self._superior[wish.queue] = None
        after = self._contest.after(wish)
        return after if after and self.guaranteed(after) else None

    def in_vain(self, wish: Wish, changes: int) -> None:
        """Nobody can leave for somebody, as long as nothing changes."""
        self._tried[wish.id] = changes

    def new(self, changes: int) -> Sequence[Wish]:
        """Those who have a right and are held up since somebody looked last."""
        guaranteed, _ = self._split((wish for _, wish in self._contest.newly_held_up()), changes)
        return guaranteed[: self._guaranteed]

    def all(self, held_up: Sequence[tuple[Place, Wish]], changes: int) -> tuple[Sequence[Wish], bool]:
        """Those who have a right, and some of the others; True if there are more who have one."""
        guaranteed, others = self._split([*(wish for _, wish in held_up), *self._superiors()], changes)
        # Whoever was tried least recently, so that those in front do not use up all searches for ever.
        others.sort(key=lambda wish: self._tried.get(wish.id, -1))
        # Whoever has a right comes first: else one without takes whom it needs, and has to leave for it at once.
        chosen = [*guaranteed[: self._guaranteed], *sorted(others[: self._others], key=lambda wish: wish.order)]
        self._superior.update(dict.fromkeys(wish.queue for wish in others[self._others :]))
        self.unfinished = len(others) > self._others > 0 or self._count_looks(changes) < self._looks_at_all
        return chosen, len(guaranteed) > self._guaranteed > 0

    def guaranteed(self, wish: Wish) -> bool:
        """True if a wish is within a guarantee somewhere below a place that has no room."""
        path = self._yard.place(wish.queue).path
        within = next((at for at in path[:-1] if self._yard.settled.rank(at, wish.amounts) == 0.0), None)
        return within is not None and any(
            len(at.path) < len(within.path) for at, _ in self._yard.booked.refusals(path[0], wish.amounts)
        )

    def _split(self, held_up: Iterable[Wish], changes: int) -> tuple[list[Wish], list[Wish]]:
        """Those for whom nobody was sought since something changed: who has a right, and who has not; each in order."""
        guaranteed: dict[str, Wish] = {}
        others: dict[str, Wish] = {}
        for wish in held_up:
            untried = wish.tier is Tier.BASE and self._tried.get(wish.id) != changes and wish.id not in guaranteed
            if untried and self._yard.place(wish.queue).open:
                (guaranteed if self.guaranteed(wish) else others)[wish.id] = wish
        by_order = [sorted(wishes.values(), key=lambda wish: wish.order) for wishes in (guaranteed, others)]
        return by_order[0], by_order[1]

    def _superiors(self) -> Iterator[Wish]:
        """The first of queues that have lower priorities: who is first elsewhere cannot speak for it."""
        known, self._superior = self._superior, {}
        for queue in dict.fromkeys((*known, *self._some_queues())):
            lowest = next(self._yard.last(queue), None)
            first = self._contest.first(queue) if lowest else None
            before = lowest and first and -lowest.workload.priority > first.order[0]
            if first and before and self._contest.barrier(first.id, Tier.BASE):
                yield first

    @property
    def _looks_at_all(self) -> int:
        """How many looks it takes to have seen all queues."""
        return max(-(-len(self._yard.by_queue) // QUEUES), self._contest.turns)

    def _count_looks(self, changes: int) -> int:
        """How many times somebody has looked since something changed, this time included."""
        before, looks = self._looked
        self._looked = (changes, 1 + (looks if before == changes else 0))
        return self._looked[1]

    def _some_queues(self) -> Sequence[str]:
        """The next queues that run something."""
        begin = self._next if self._next < len(self._yard.by_queue) else 0
        self._next = begin + QUEUES
        return list(islice(self._yard.by_queue, begin, self._next))
