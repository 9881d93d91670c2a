"""Shapes: what groups of workloads want of a place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from pf_queue.admission.core.amounts import Vector
from pf_queue.admission.core.places import Reach
from pf_queue.admission.core.wishes import Tier

_Values: TypeAlias = "tuple[Tier, Vector, Vector, Reach, str, bool, Shape | None]"


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


class Shapes:
    """The one object of each shape."""

    def __init__(self) -> None:
        self._shapes: dict[_Values, Shape] = {}
        self._bare: dict[Shape, Shape] = {}

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
