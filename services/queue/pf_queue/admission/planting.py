"""Pools that are made anew, beside those of before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pf_queue.admission.core.pool import Pool, Tuning
from pf_queue.admission.core.replant import replanted
from pf_queue.admission.domain import Record
from pf_queue.admission.layout import Layout, PoolId, PoolLayout
from pf_queue.admission.restore import fill, resources_of


@dataclass(frozen=True, slots=True)
class Planted:
    """A pool that was made anew."""

    pool: Pool
    unbooked: Sequence[str]
    """For whom room was kept, and is no longer."""


@dataclass(frozen=True, slots=True)
class Arrangement:
    """What becomes of all pools when the queues or the machines change."""

    layout: Layout
    planted: Mapping[PoolId, Planted]
    """Those that the change is about."""
    now: int


def plant(wanted: PoolLayout, on_record: Sequence[Record], tuning: Tuning, now: int) -> Planted:
    """A pool with what is on record."""
    space = wanted.space(resources_of(on_record))
    pool = Pool(wanted.tree(space), wanted.machines(space), tuning)
    fill(pool, on_record, now)
    kept = [record.id for record in on_record if record.kept_until]
    return Planted(pool, [each for each in kept if each not in pool.bookings])


def replant(wanted: PoolLayout, old: Pool, now: int) -> Planted:
    """A pool with what another one holds."""
    space = wanted.space(old.yard.tree.space.names[1:])
    pool = replanted(old, wanted.tree(space), wanted.machines(space), now)
    return Planted(pool, [each for each in old.bookings if each not in pool.bookings])
