"""What each queue of a tree should have, computed without the core: guarantees first, then water by weights."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

EXACT = 1e-6
"""Of a unit: where the water level is close enough."""
TURNS = 1000
"""How many portions each may exchange for those of others, at most."""
PORTIONS = 4
"""Into how many pieces a workload is cut where there are several resources."""

Amounts = Mapping[str, float]


@dataclass(frozen=True)
class Vessel:
    """A queue; what stands before the last dot of its name is the queue above."""

    name: str
    min: Mapping[str, int]
    max: Mapping[str, int]
    """Where a resource is absent, the ceiling above holds."""
    weight: int = 100

    @property
    def parent(self) -> str:
        return self.name.rpartition(".")[0]


def below(vessels: Sequence[Vessel], name: str) -> list[Vessel]:
    return [vessel for vessel in vessels if vessel.parent == name]


def leaves(vessels: Sequence[Vessel]) -> list[Vessel]:
    return [vessel for vessel in vessels if not below(vessels, vessel.name)]


def water_filled(
    vessels: Sequence[Vessel], resource: str, capacity: float, demands: Mapping[str, float]
) -> dict[str, float]:
    """How much of one resource each queue has, if those at the leaves want so much."""
    wanted = dict(demands)
    for vessel in reversed(vessels):
        inner = sum(wanted[each.name] for each in below(vessels, vessel.name))
        wanted[vessel.name] = min(wanted.get(vessel.name, inner), vessel.max.get(resource, capacity))
    filled = {"": capacity}
    for name in ["", *(vessel.name for vessel in vessels)]:
        siblings = below(vessels, name)
        level = _level(siblings, resource, filled[name], wanted)
        filled.update((each.name, _at(level, each, resource, wanted)) for each in siblings)
    return filled


def _at(level: float, vessel: Vessel, resource: str, wanted: Mapping[str, float]) -> float:
    return min(wanted[vessel.name], vessel.min.get(resource, 0) + level * vessel.weight)


def _level(siblings: Sequence[Vessel], resource: str, amount: float, wanted: Mapping[str, float]) -> float:
    """How much, by weight, each has beyond its guarantee so that all together have what there is."""
    low, high = 0.0, max((wanted[each.name] / each.weight for each in siblings), default=0.0)
    if sum(_at(high, each, resource, wanted) for each in siblings) <= amount:
        return high
    while (high - low) * max(each.weight for each in siblings) > EXACT:
        middle = (low + high) / 2
        if sum(_at(middle, each, resource, wanted) for each in siblings) > amount:
            high = middle
        else:
            low = middle
    return low


def poured(
    vessels: Sequence[Vessel], capacity: Amounts, portions: Mapping[str, Amounts], counts: Mapping[str, float]
) -> dict[str, dict[str, float]]:
    """The same with several resources, by small portions: each goes to the least dominant share at each level.

    `portions` is what one workload of each leaf takes, `counts` how many there are.
    """
    basin = _Basin(vessels, capacity, {name: _cut(amounts) for name, amounts in portions.items()})
    left = {name: counts[name] * PORTIONS for name in portions}
    _fill(basin, left)
    # Once one resource is gone, some go on with another and get a larger share by it. So each gives back a portion in
    # turn, for whoever has the least share now, until all get their own back.
    for _ in range(TURNS):
        before = dict(left)
        for leaf in portions:
            if basin.gives(leaf):
                left[leaf] += 1
                _fill(basin, left)
        if left == before:
            break
    return basin.used


def _fill(basin: _Basin, left: dict[str, float]) -> None:
    thirsty = {name: None for name in left if left[name] >= 1}
    while (leaf := basin.next(thirsty)) is not None:
        if basin.takes(leaf):
            left[leaf] -= 1
        else:
            del thirsty[leaf]
        if left[leaf] < 1:
            thirsty.pop(leaf, None)


def _cut(amounts: Amounts) -> dict[str, float]:
    return {resource: amount / PORTIONS for resource, amount in amounts.items()}


class _Basin:
    def __init__(self, vessels: Sequence[Vessel], capacity: Amounts, portions: Mapping[str, Amounts]) -> None:
        self._vessels = {vessel.name: vessel for vessel in vessels}
        self._below = {name: [each.name for each in below(vessels, name)] for name in ["", *self._vessels]}
        self._capacity = capacity
        self._portions = portions
        self._reach = {name: self._together(name) for name in self._below}
        self.used = {name: dict.fromkeys(capacity, 0.0) for name in ["", *self._vessels]}

    def next(self, thirsty: Mapping[str, None], name: str = "") -> str | None:
        """The leaf that is served next below a queue."""
        if not self._below[name]:
            return name if name in thirsty else None
        found = [
            (self._share(each, leaf), each, leaf) for each in self._below[name] if (leaf := self.next(thirsty, each))
        ]
        return min(found)[2] if found else None

    def takes(self, leaf: str) -> bool:
        """Pours one portion, if there is room for it on the whole way up."""
        portion = self._portions[leaf]
        for name in self._way(leaf):
            most = self._vessels[name].max if name else self._capacity
            if any(self.used[name][r] + amount > most.get(r, 1e18) + EXACT for r, amount in portion.items()):
                return False
        self._pour(leaf, 1)
        return True

    def gives(self, leaf: str) -> bool:
        """Takes one portion back, if there is one."""
        portion = self._portions[leaf]
        if any(self.used[leaf][resource] < amount - EXACT for resource, amount in portion.items()):
            return False
        self._pour(leaf, -1)
        return True

    def _pour(self, leaf: str, times: int) -> None:
        for name in self._way(leaf):
            for resource, amount in self._portions[leaf].items():
                self.used[name][resource] += amount * times

    def _way(self, name: str) -> Iterator[str]:
        while name:
            yield name
            name = self._vessels[name].parent
        yield ""

    def _share(self, name: str, leaf: str) -> float:
        """The dominant share of what is borrowed, with the portion; 0 if all of that is guaranteed."""
        vessel, portion = self._vessels[name], self._portions[leaf]
        over = {r: self.used[name][r] + portion.get(r, 0) - vessel.min.get(r, 0) for r in self._capacity}
        if all(over[r] <= EXACT for r, amount in portion.items() if amount):
            return 0.0
        reach = self._reach[vessel.parent]
        return max(over[r] / reach[r] for r in self._capacity) / vessel.weight

    def _together(self, name: str) -> dict[str, float]:
        """What the queues below a place could have together."""
        ceilings = [self._vessels[each].max for each in self._way(name) if each]
        return {r: min([most, *(each.get(r, most) for each in ceilings)]) for r, most in self._capacity.items()}
