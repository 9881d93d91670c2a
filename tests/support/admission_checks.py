"""What holds of every pool of admission at every moment."""

from __future__ import annotations

from collections.abc import Iterator

from pf_queue.admission.core.amounts import Vector, within
from pf_queue.admission.core.pool import Pool


def check(pool: Pool, *, ceilings: bool = True) -> None:
    """Ledgers tell the truth, and nothing is held above a ceiling; queues that were cut may be above theirs."""
    yard = pool.yard
    for name, charged in {"held": _held(pool), "booked": _booked(pool), "settled": _settled(pool)}.items():
        assert getattr(yard, name).used == _sums(pool, charged), f"the ledger `{name}` is not what its sums are"
    if not ceilings:
        return
    for place in yard.tree.places:
        assert within(tuple(yard.held.used[place.index]), place.max), f"more is held than the ceiling of {place}"
    assert within(tuple(yard.held.drawn[0]), yard.tree.root.limit), "more is drawn than is lent"
    for user_limited in (place for place in yard.tree.places if place.per_user is not None):
        assert list(_users_above(pool, user_limited.name)) == [], f"a user has too much of {user_limited}"


def _held(pool: Pool) -> list[tuple[str, Vector]]:
    return [(holding.workload.queue, holding.all) for holding in pool.yard.holdings.values()]


def _booked(pool: Pool) -> list[tuple[str, Vector]]:
    return _held(pool) + [(b.workload.queue, b.workload.base) for b in pool.bookings.values()]


def _settled(pool: Pool) -> list[tuple[str, Vector]]:
    staying = [(holding.workload.queue, holding.staying) for holding in pool.yard.holdings.values()]
    return staying + [(b.workload.queue, b.workload.base) for b in pool.bookings.values() if not b.starving]


def _sums(pool: Pool, charged: list[tuple[str, Vector]]) -> list[list[int]]:
    sums = [list(pool.yard.tree.space.nothing) for _ in pool.yard.tree.places]
    for queue, amounts in charged:
        for place in pool.yard.place(queue).path:
            sums[place.index] = [a + b for a, b in zip(sums[place.index], amounts, strict=True)]
    return sums


def _users_above(pool: Pool, queue: str) -> Iterator[str]:
    most = pool.yard.place(queue).per_user
    assert most is not None
    held = pool.yard.by_queue.get(queue, {}).values()
    for user in sorted({holding.workload.user for holding in held}):
        amounts = [holding.all for holding in held if holding.workload.user == user]
        if not within(tuple(map(sum, zip(*amounts, strict=True))), most):
            yield user
