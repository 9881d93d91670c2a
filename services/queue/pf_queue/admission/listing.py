"""Workloads of a queue, a page at a time: each page goes on where the one before ended, whoever came and went since."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import chain, islice
from typing import TypeAlias

from pf_queue.admission.core.pool import Pool
from pf_queue.admission.domain import Record, WorkloadState
from pf_queue.admission.engine import Engine
from pf_queue.admission.store import Over, OverPlace
from pf_queue.admission.times import micros, moment


class Part(IntEnum):
    """The parts of a list, in order."""

    HOLDING = 0
    WAITING = 1
    HELD = 2
    ASIDE = 3
    OVER = 4


@dataclass(frozen=True, slots=True)
class WorkloadFilter:
    """Which workloads of a queue to list; what is empty matches all."""

    queue: str
    states: frozenset[WorkloadState] = frozenset()
    """None: all that are not over."""
    user: str = ""

    @property
    def over(self) -> bool:
        return WorkloadState.RELEASED in self.states

    def matches(self, record: Record) -> bool:
        return (not self.states or record.state in self.states) and self.user in ("", record.spec.user)


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """Where a workload stands in a list."""

    part: Part = Part.HOLDING
    numbers: tuple[int, ...] = ()
    """What its part is in order of; none at the beginning of a part."""
    id: str = ""

    @classmethod
    def parse(cls, text: str) -> Place:
        """What `str` has made; of the empty text, the beginning."""
        if not text:
            return cls()
        part, numbers, id_ = text.split(" ", 2)
        return cls(Part(int(part)), tuple(map(int, numbers.split(","))), id_)

    def __str__(self) -> str:
        return f"{self.part.value} {','.join(map(str, self.numbers))} {self.id}"

    @classmethod
    def of(cls, record: Record) -> Place:
        """The place of one that is not over."""
        if record.holds:
            return cls(Part.HOLDING, (record.admission,))
        if record.state is WorkloadState.PENDING:
            return cls(Part.WAITING, (-record.spec.priority, record.submitted, record.number))
        if record.state is WorkloadState.SET_ASIDE:
            return cls(Part.ASIDE, (0,), record.id)
        return cls(Part.HELD, (record.number,), record.id)

    @classmethod
    def of_over(cls, over: Over) -> Place:
        return cls(Part.OVER, (micros(over.ended),), over.record.id)

    @property
    def over(self) -> OverPlace | None:
        """The place among those that are over; None before them."""
        return OverPlace(moment(self.numbers[0]), self.id) if self.part is Part.OVER else None


@dataclass(frozen=True, slots=True)
class Listed:
    """A workload in a list."""

    record: Record
    place: Place


def live(engine: Engine, chosen: WorkloadFilter, after: Place, limit: int) -> Sequence[Record]:
    """Those that are not over. Raises QueueNotFound."""
    pool = engine.pool_of(chosen.queue)
    found: Iterator[Record] = iter(())
    for part, (states, records) in LIVE.items():
        if part >= after.part and not (chosen.states and chosen.states.isdisjoint(states)):
            found = chain(found, records(engine, pool, chosen.queue, after if part is after.part else Place(part)))
    return list(islice(filter(chosen.matches, found), limit))


def _holding(engine: Engine, pool: Pool, queue: str, after: Place) -> Iterator[Record]:
    numbers = sorted((holding.number, id_) for id_, holding in pool.yard.by_queue.get(queue, {}).items())
    return (engine.records[id_] for number, id_ in numbers if (number,) > after.numbers)


def _waiting(engine: Engine, pool: Pool, queue: str, after: Place) -> Iterator[Record]:
    order = (after.numbers[0], after.numbers[1], after.numbers[2]) if after.numbers else None
    return (engine.records[workload.id] for workload in pool.waiting.in_order(queue, order))


def _held(engine: Engine, _: Pool, queue: str, after: Place) -> Iterator[Record]:
    found = sorted(((record.number,), record.id, record) for record in engine.records.held(queue))
    return (record for numbers, id_, record in found if (numbers, id_) > (after.numbers, after.id))


Records: TypeAlias = Callable[[Engine, Pool, str, Place], Iterator[Record]]
LIVE: Mapping[Part, tuple[frozenset[WorkloadState], Records]] = {
    Part.HOLDING: (frozenset({WorkloadState.ADMITTED, WorkloadState.EVICTING}), _holding),
    Part.WAITING: (frozenset({WorkloadState.PENDING}), _waiting),
    Part.HELD: (frozenset({WorkloadState.HELD}), _held),
}
"""The parts that are not over: the states of those in it, and how to find them."""
