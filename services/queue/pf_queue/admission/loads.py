"""How busy queues are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pf_queue.admission.core.amounts import plus
from pf_queue.admission.core.ledger import Ledger
from pf_queue.admission.core.places import Tree
from pf_queue.admission.core.pool import Pool
from pf_queue.resources import NOTHING, Resources


@dataclass(frozen=True, slots=True)
class Load:
    """How busy a queue is, those below it included."""

    queue: str
    used: Resources
    leaving: Resources
    kept: Resources
    share: float
    waiting: int
    admitted: int
    admissions: int
    evictions: int


def loads(pool: Pool, admissions: Mapping[str, int], evictions: Mapping[str, int]) -> list[Load]:
    """Of all queues of a pool."""
    yard = pool.yard
    tree = yard.tree
    waiting = _bubbled(tree, pool.waiting.counts())
    admitted = _bubbled(tree, {queue: len(held) for queue, held in yard.by_queue.items()})
    arrived, gone = _bubbled(tree, admissions), _bubbled(tree, evictions)
    found = []
    starving = _starving(pool)
    for place in tree.places[1:]:
        index = place.index
        used, booked, settled = yard.held.used[index], yard.booked.used[index], yard.settled.used[index]
        # Nobody leaves for the starving: what is kept for them is not settled.
        stays = settled if starving is None else plus(tuple(settled), tuple(starving.used[index]))
        found.append(
            Load(
                queue=place.name,
                used=Resources(tree.space.named(tuple(used))),
                leaving=_beyond(tree, booked, stays),
                kept=_beyond(tree, booked, used),
                share=yard.held.share(place),
                waiting=waiting[index],
                admitted=admitted[index],
                admissions=arrived[index],
                evictions=gone[index],
            )
        )
    return found


def _beyond(tree: Tree, more: Sequence[int], less: Sequence[int]) -> Resources:
    """What one has beyond the other: mostly nothing, which is quickly seen."""
    if list(more) == list(less):
        return NOTHING
    return Resources(tree.space.named(tuple(a - b for a, b in zip(more, less, strict=True))))


def _starving(pool: Pool) -> Ledger | None:
    """What is kept for those who were passed over for too long; None if there are none."""
    starving = [booking.workload for booking in pool.bookings.values() if booking.starving]
    if not starving:
        return None
    kept = Ledger(pool.yard.tree.places)
    for workload in starving:
        kept.charge(pool.yard.place(workload.queue), workload.base)
    return kept


def _bubbled(tree: Tree, counts: Mapping[str, int]) -> list[int]:
    """Counts of queues, those below included, by the index of the place."""
    sums = [0] * len(tree.places)
    for queue, count in counts.items():
        place = tree.by_name.get(queue)
        for at in place.path if place else ():
            sums[at.index] += count
    return sums
