"""Who is next in a pool, found out the slow way, from nothing but who waits and what is used."""

from __future__ import annotations

from collections.abc import Iterator

from pf_queue.admission.core.places import Admission, Place
from pf_queue.admission.core.pool import Pool
from pf_queue.admission.core.wishes import Tier, Wish


def first(pool: Pool) -> Wish | None:
    """Each queue puts forward the first of its own who fits; they are compared from the top of the tree down."""
    wishes: dict[tuple[int, Tier], list[Wish]] = {}
    for wish in _wishes(pool):
        wishes.setdefault((pool.yard.place(wish.queue).index, wish.tier), []).append(wish)
    put_forward = (_first_of(pool, place, wishes.get((place.index, tier), [])) for place, tier in _lines(pool))
    return min((wish for wish in put_forward if wish), key=lambda wish: _standing(pool, wish), default=None)


def _wishes(pool: Pool) -> Iterator[Wish]:
    for tier, ids in ((Tier.BASE, pool.waiting), (Tier.SURPLUS, pool.yard.holdings)):
        for id_ in ids:
            if (wish := pool.contest.wish(id_, tier)) is not None:
                yield wish


def _lines(pool: Pool) -> Iterator[tuple[Place, Tier]]:
    for place in pool.yard.tree.places:
        if all(at.admission is Admission.OPEN for at in place.path):
            yield from ((place, tier) for tier in Tier)


def _first_of(pool: Pool, place: Place, wishes: list[Wish]) -> Wish | None:
    wishes.sort(key=lambda wish: wish.order)
    looked_at = wishes[:1] if place.strict and wishes and wishes[0].tier is Tier.BASE else wishes
    return next((wish for wish in looked_at if _fits(pool, place, wish)), None)


def _fits(pool: Pool, place: Place, wish: Wish) -> bool:
    return pool.yard.booked.refusal(place, wish.amounts) is None and _user_may(pool, place, wish)


def _user_may(pool: Pool, place: Place, wish: Wish) -> bool:
    if place.per_user is None:
        return True
    holdings = pool.yard.by_queue.get(place.name, {}).values()
    has = [holding.all for holding in holdings if holding.workload.user == wish.user]
    kept = [booking.workload for booking in pool.bookings.values()]
    has += [workload.base for workload in kept if workload.queue == place.name and workload.user == wish.user]
    together = [sum(amounts) for amounts in zip(*has, strict=True)] or [0] * len(wish.amounts)
    return all(
        not asked or used + asked <= most
        for used, asked, most in zip(together, wish.amounts, place.per_user, strict=True)
    )


def _standing(pool: Pool, wish: Wish) -> tuple[float, ...]:
    ledger, places = pool.yard.booked, pool.yard.tree.places
    inner = {place.parent.index for place in places if place.parent}
    path = pool.yard.place(wish.queue).path
    key: list[float] = [wish.tier]
    for at in path[-2::-1]:
        rank = ledger.standing if at.index in inner else ledger.rank
        key += (rank(at, wish.amounts), -at.priority)
    key += [0.0, 0] * (max(len(place.path) for place in places) - len(path))
    return (*key, *wish.order)
