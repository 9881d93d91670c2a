"""Shapes: what groups of workloads want of a place."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from pf_queue.admission.core.amounts import Vector
from pf_queue.admission.core.places import Reach
from pf_queue.admission.core.wishes import Tier

_Values: TypeAlias = "tuple[Tier, Vector, Vector, Reach, str, bool, Shape | None]"

MOST = 4096
"""Shapes that are kept in any case."""


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """What a group of workloads wants of a place. There is one object of each, so that they are quickly compared."""

    tier: Tier
    amounts: Vector
    need: Vector
    """What of the amounts must come from the place itself; the rest is there already, further down."""
    reach: Reach
    user: str
    """Who wants it, at queues that limit their users; else empty."""
    own: bool
    """True for those who wait at the place itself, False for those who wait below."""
    behind: Shape | None
    """What others of their queues want who come first, and for whom there may be room; None if there are none."""
    bare: Shape | None
    """The same behind nobody; None for itself."""

    @property
    def plain(self) -> Shape:
        """The same behind nobody: what decides whether there is room."""
        return self.bare or self

    @property
    def values(self) -> _Values:
        return (self.tier, self.amounts, self.need, self.reach, self.user, self.own, self.behind)


class Shapes:
    """The one object of each shape."""

    def __init__(self) -> None:
        self._shapes: dict[_Values, Shape] = {}
        self._bare: dict[Shape, Shape] = {}
        self._most = MOST

    @property
    def crowded(self) -> bool:
        """True if there are twice as many as there were of use when that was asked last."""
        return len(self._shapes) > self._most

    def keep(self, shapes: Iterable[Shape]) -> None:
        """Forgets all but these."""
        kept: dict[Shape, None] = {}
        for shape in shapes:
            for each in (shape, shape.plain, *((shape.behind, shape.behind.plain) if shape.behind else ())):
                kept[each] = None
        self._shapes = {each.values: each for each in kept}
        self._bare = {}
        self._most = max(MOST, 2 * len(kept))

    def own(self, tier: Tier, amounts: Vector, reach: Reach, user: str) -> Shape:
        """Of those who wait at a place itself."""
        return self._one(tier, amounts, amounts, reach, user, own=True)

    def below(self, shape: Shape, need: Vector, behind: Shape | None = None) -> Shape:
        """Of those who wait below a place, who have this shape where they come from."""
        if behind is None and need is shape.need:
            # As nearly always: where nothing is withheld from lending, all that is needed comes from above.
            bare = self._bare.get(shape)
            if bare is None:
                bare = self._bare[shape] = self._one(shape.tier, shape.amounts, need, shape.reach, "", own=False)
            return bare
        bare = self._one(shape.tier, shape.amounts, need, shape.reach, "", own=False)
        if behind is None:
            return bare
        return self._one(shape.tier, shape.amounts, need, shape.reach, "", own=False, behind=behind, bare=bare)

    def _one(
        self,
        tier: Tier,
        amounts: Vector,
        need: Vector,
        reach: Reach,
        user: str,
        *,
        own: bool,
        behind: Shape | None = None,
        bare: Shape | None = None,
    ) -> Shape:
        values = (tier, amounts, need, reach, user, own, behind)
        shape = self._shapes.get(values)
        if shape is None:
            shape = self._shapes[values] = Shape(*values, bare)
        return shape
