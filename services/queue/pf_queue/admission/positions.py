"""Where workloads stand in their queues."""

from __future__ import annotations

from dataclasses import dataclass

from pf_queue.admission.domain import Record, WorkloadState
from pf_queue.admission.engine import Engine


@dataclass(frozen=True, slots=True)
class Position:
    """Where a workload stands in its queue."""

    position: int = 0
    """1 for the first that waits; 0 if it does not wait."""
    waiting: int = 0
    estimate: int | None = None
    """Microseconds; None if nobody can tell."""


NOWHERE = Position()


def position_of(engine: Engine, record: Record, now: int) -> Position:
    if record.state is not WorkloadState.PENDING:
        return NOWHERE
    queue = record.spec.queue
    waiting = engine.pool_of(queue).waiting
    if record.id not in waiting:
        # It was admitted or released since the record was read.
        return NOWHERE
    position, moved = waiting.position(record.id), engine.admissions.of(queue, now)
    return Position(position, waiting.count(queue), position * 60_000_000 // moved if moved else None)
