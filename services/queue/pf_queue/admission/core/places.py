"""The places of a pool's tree: the queues, and above them the machines that they share."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from pf_queue.admission.core.amounts import JOBS, UNLIMITED, Space, Vector

ROOT = ""
"""The name of the machines, at the top of the tree; no queue has it."""


class Reach(StrEnum):
    """Whom workloads of a queue may push out."""

    ALL = "all"
    """Who borrows, and lower priorities of the same queue."""
    BORROWERS = "borrowers"
    NOBODY = "nobody"


class Admission(StrEnum):
    """What a queue does with those who wait."""

    OPEN = "open"
    HELD = "held"
    """Admits nothing."""
    DRAINING = "draining"
    """Admits nothing, and sends back what it has admitted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueRules:
    """A queue as admission sees it."""

    name: str
    parent: str = ROOT
    min: Mapping[str, int]
    max: Mapping[str, int]
    """Where a resource is absent, the ceiling above holds."""
    lend_limit: Mapping[str, int]
    """Where a resource is absent, all of `min` is lent."""
    weight: int = 100
    priority: int = 0
    reach: Reach = Reach.ALL
    strict: bool = False
    """True if nothing passes the first workload."""
    max_jobs: int = 0
    """0 means no limit."""
    max_per_user: Mapping[str, int]
    max_jobs_per_user: int = 0
    """0 means no limit."""
    admission: Admission = Admission.OPEN


class Place:
    """A queue of the tree, or its root; made anew when the tree changes, and never changed itself."""

    __slots__ = (
        "admission",
        "index",
        "lends_all",
        "limit",
        "limited",
        "local",
        "max",
        "measure",
        "measured",
        "min",
        "name",
        "open",
        "parent",
        "path",
        "per_user",
        "priority",
        "reach",
        "strict",
        "weight",
        "withheld",
    )

    def __init__(self, rules: QueueRules, index: int, parent: Place | None, space: Space) -> None:
        self.name = rules.name
        self.index = index
        self.parent = parent
        self.path: tuple[Place, ...] = (self, *parent.path) if parent else (self,)
        """From here to the root."""
        self.min = space.demand(rules.min)
        self.max = space.ceiling(rules.max, rules.max_jobs)
        self.limited = [resource for resource, most in enumerate(self.max) if most != UNLIMITED]
        """The resources that have a ceiling."""
        self.weight = rules.weight
        self.priority = rules.priority
        self.reach = rules.reach
        self.strict = rules.strict
        self.per_user = _per_user(rules, space)
        """The ceiling of each user here; None if there is none."""
        self.admission = rules.admission
        self.open = all(at.admission is Admission.OPEN for at in self.path)
        """True if something may be admitted here."""
        self.measure: Vector = space.nothing
        """What borrowed amounts are measured by: what this queue and those beside it could have, times its weight."""
        self.measured = range(JOBS + 1, len(space.names))
        self.local: Vector | None = None
        """The part of `min` that is lent to nobody; None if there is none. What is used of it, the place above never
        sees."""
        self.withheld: Vector = space.nothing
        """What is lent to nobody beyond this place, here and below."""
        self.lends_all = True
        """True if that is nothing."""
        self.limit: Vector = self.max
        """At the root, what all may draw together beyond what is withheld from lending; the ceiling if nothing is."""

    def __repr__(self) -> str:
        return f"Place({self.name!r})"


def _per_user(rules: QueueRules, space: Space) -> Vector | None:
    if not rules.max_per_user and not rules.max_jobs_per_user:
        return None
    return space.ceiling(rules.max_per_user, rules.max_jobs_per_user)


@dataclass(frozen=True, slots=True)
class Tree:
    """All places of a pool, each after the one above it."""

    space: Space
    places: Sequence[Place]
    by_name: Mapping[str, Place]

    @property
    def root(self) -> Place:
        return self.places[0]


def plant(
    space: Space,
    queues: Iterable[QueueRules],
    capacity: Mapping[str, int],
    admission: Admission = Admission.OPEN,
) -> Tree:
    """The tree of these queues above machines of this capacity."""
    below: defaultdict[str, list[QueueRules]] = defaultdict(list)
    for rules in sorted(queues, key=lambda rules: rules.name):
        below[rules.parent].append(rules)
    top = QueueRules(name=ROOT, min=capacity, max=capacity, lend_limit={}, max_per_user={}, admission=admission)
    root = Place(top, 0, None, space)
    places = [root]
    # The list grows while it is walked: each place brings those below it.
    for place in places:
        next_index = len(places)
        places += [Place(rules, next_index + n, place, space) for n, rules in enumerate(below[place.name])]
    lend = {rules.name: space.ceiling(rules.lend_limit) for listed in below.values() for rules in listed}
    _withhold(places, lend)
    _measure(places)
    return Tree(space, places, {place.name: place for place in places})


def _withhold(places: Sequence[Place], lend: Mapping[str, Vector]) -> None:
    """From the bottom up: what each place keeps for itself, and what is left to share at the top."""
    sums = [[0] * len(place.min) for place in places]
    for place in reversed(places[1:]):
        kept = sums[place.index]
        local = tuple(
            max(0, own - below - lent) for own, below, lent in zip(place.min, kept, lend[place.name], strict=True)
        )
        place.local = local if any(local) else None
        place.withheld = tuple(a + b for a, b in zip(local, kept, strict=True))
        place.lends_all = not any(place.withheld)
        above = sums[place.path[1].index]
        for resource, amount in enumerate(place.withheld):
            above[resource] += amount
    root = places[0]
    root.withheld = tuple(sums[0])
    root.lends_all = not any(root.withheld)
    if not root.lends_all:
        root.limit = tuple(
            most if most == UNLIMITED else most - kept for most, kept in zip(root.max, sums[0], strict=True)
        )


def _measure(places: Sequence[Place]) -> None:
    """From the top down: what the children of each place could have together."""
    reach: dict[int, Vector] = {}
    for place in places:
        if place.parent is None:
            reach[0] = place.max
        else:
            together = reach[place.parent.index]
            place.measure = tuple(max(1, amount) * place.weight for amount in together)
            reach[place.index] = tuple(min(a, b) for a, b in zip(place.max, together, strict=True))
