"""When something becomes of a job only because time goes by."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from pf_job.jobs.life import Ending, Event, Life
from pf_job.jobs.states import FINAL, Kind, Stage, State
from pf_job.jobs.terms import Terms

LIMITED = frozenset({Stage.SUBMIT, Stage.QUEUED, Stage.REVISE, Stage.LAUNCH, Stage.WATCH, Stage.PART, Stage.RESIZE})
"""Where a job has a limit of time."""


def due(life: Life, terms: Terms) -> datetime | None:
    """When a time limit is over or it grows, if nothing happens before; None if that is never."""
    times: list[datetime] = []
    if life.stage not in LIMITED or life.state in FINAL:
        return None
    if life.state is State.RUNNING:
        return min(_due_running(life, terms), default=None)
    if terms.pending is not None and life.start_time is None:
        times.append(life.accept_time + terms.pending)
    if life.grant is not None:
        times.append(life.grant.start_by)
    return min(times, default=None)


def _due_running(life: Life, terms: Terms) -> Iterator[datetime]:
    if life.start_time is not None and terms.run is not None:
        yield life.start_time + terms.run
    settled = life.settle_time or life.start_time
    if life.grows and settled is not None:
        yield settled + terms.steady


def overdue(life: Life, terms: Terms, now: datetime) -> Event:
    """What has happened to a job whose time has come."""
    if life.state is State.RUNNING:
        in_time = terms.run is None or life.start_time is None or now < life.start_time + terms.run
        if in_time:
            return Event(kind=Kind.GROWN, attempt=life.attempt)
        return _late_event(life, Ending.FATAL, f"ran longer than its limit of {terms.run}")
    if terms.pending is not None and life.start_time is None and now >= life.accept_time + terms.pending:
        return _late_event(life, Ending.FATAL, f"did not run within its limit of {terms.pending}")
    return _late_event(life, Ending.UNSTARTED, "its replicas did not run in the time given for it")


def _late_event(life: Life, ending: Ending, message: str) -> Event:
    return Event(kind=Kind.LATE, attempt=life.attempt, ending=ending, message=message)
