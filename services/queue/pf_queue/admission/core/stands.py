"""The places of the tournament, and what they know."""

from __future__ import annotations

from typing import TypeAlias

from pf_queue.admission.core.amounts import Vector
from pf_queue.admission.core.places import Place
from pf_queue.admission.core.wishes import Key, Order, Shape


class Stand:
    """A place in the tournament."""

    __slots__ = ("above", "blocked", "groups", "lines", "offers", "passed", "place", "users")

    def __init__(self, place: Place, above: Stand | None) -> None:
        self.place = place
        self.above = above
        self.groups: dict[Shape, list[Entry]] = {}
        """By shape, the best of the places below."""
        self.lines: dict[Shape, list[tuple[Order, str]]] = {}
        """By shape, who waits here itself."""
        self.blocked: dict[Shape, None] = {}
        self.offers: dict[Shape, tuple[Shape, int, Key]] = {}
        """What is sent up: as which shape, the number of the newest entry there, and its key."""
        self.passed: dict[Shape, tuple[Shape, Key]] = {}
        """What is not sent up, because somebody else comes first here who is not held up: of which shape, and where."""
        self.users: dict[str, list[int]] = {}
        """What each user has here, where users are limited."""

    def goes_up(self, shape: Shape) -> bool:
        """True if a shape is blocked nowhere from here up."""
        at: Stand | None = self
        while at is not None:
            if shape in at.blocked:
                return False
            offer = at.offers.get(shape)
            if offer is None:
                return shape in at.passed
            shape, at = offer[0], at.above
        return True

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
