"""Who is passed over: the first of those held up at a place, while others are admitted there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pf_queue.admission.core.amounts import Vector
from pf_queue.admission.core.ledger import Ledger
from pf_queue.admission.core.places import Place
from pf_queue.admission.core.wishes import Tier, Wish


@dataclass(frozen=True, slots=True)
class _First:
    """Who is first at a place, and since when."""

    id: str
    since: int


class Passing:
    """Places by name, so that all of it holds on when the tree changes."""

    def __init__(self, patience: int) -> None:
        self._patience = patience
        self._firsts: dict[str, _First] = {}
        self._admitted: dict[str, dict[str, int]] = {}
        """By place, for each resource when somebody was admitted last who takes of it."""
        self._due: int | None = None

    @property
    def due(self) -> int | None:
        """When the next may have been passed over for too long; None if nobody has been passed at all."""
        return self._due

    def admitted(self, place: Place, names: Iterable[str], amounts: Vector, now: int) -> None:
        """Somebody was admitted."""
        taken = {name: now for name, amount in zip(names, amounts, strict=True) if amount}
        for at in place.path:
            self._admitted.setdefault(at.name, {}).update(taken)

    def too_long(
        self, held_up: Iterable[tuple[Place, Wish]], names: tuple[str, ...], ledger: Ledger, now: int
    ) -> list[Wish]:
        """Those who have been first at a place for too long, while others were admitted there with what they lack."""
        before, self._firsts, self._due = self._firsts, {}, None
        found: list[Wish] = []
        for place, wish in _firsts(held_up):
            known = before.get(place.name)
            first = self._firsts[place.name] = known if known and known.id == wish.id else _First(wish.id, now)
            admitted = self._admitted.get(place.name, {})
            if not any(at > first.since for at in admitted.values()):
                continue
            end = first.since + self._patience
            if now < end:
                self._due = min(end, self._due or end)
                continue
            lacking = ledger.lacks(place, wish.amounts, wish.amounts)
            if any(admitted.get(names[resource], first.since) > first.since for resource in lacking):
                found.append(wish)
        return found


def _firsts(held_up: Iterable[tuple[Place, Wish]]) -> Iterable[tuple[Place, Wish]]:
    """The first of each place."""
    firsts: dict[int, tuple[Place, Wish]] = {}
    for place, wish in held_up:
        known = firsts.get(place.index)
        if wish.tier is Tier.BASE and (known is None or wish.order < known[1].order):
            firsts[place.index] = (place, wish)
    return firsts.values()
