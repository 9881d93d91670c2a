"""The life of a job: what becomes of it when something happens. Nothing here looks at a clock, or outside at all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from types import MappingProxyType

from pf_job.jobs.states import FINAL, STAGES, Kind, Stage, State


class Ending(StrEnum):
    """Why the replicas of an attempt are to end."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    """It may be tried again."""
    FATAL = "fatal"
    """It failed, and is not tried again: a limit of its own is over, or it said so by its exit status."""
    UNSTARTED = "unstarted"
    """They did not run in the time that the queue gives for it. It may be tried again."""
    STOPPED = "stopped"
    EVICTED = "evicted"


@dataclass(frozen=True, slots=True)
class Grant:
    """What an attempt holds."""

    id: str
    version: int
    cluster: str
    replicas: Mapping[str, int]
    """By role, what lies above the minimum included."""
    start_by: datetime
    """If it does not run by then, it gives up."""


BACKOFF = timedelta(seconds=10)
LONGEST_BACKOFF = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class Terms:
    """What was agreed on when the job was taken."""

    retries: int = 0
    backoff: timedelta = BACKOFF
    max_backoff: timedelta = LONGEST_BACKOFF
    final_statuses: frozenset[int] = frozenset()
    """Exit statuses after which it is not tried again."""
    requeue: bool = True
    """False if it ends when it is pushed out."""
    pending: timedelta | None = None
    """How long it may take until it runs for the first time."""
    run: timedelta | None = None
    """How long an attempt may run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """Where a job stands."""

    accept_time: datetime
    stage: Stage = Stage.SUBMIT
    state: State = State.INIT
    attempt: int = 1
    retries: int = 0
    ending: Ending | None = None
    abrupt: bool = False
    """True if replicas are killed without grace."""
    message: str = ""
    grant: Grant | None = None
    not_before: datetime | None = None
    """It does not wait in the queue before."""
    start_time: datetime | None = None
    """When the last attempt began to run."""
    finish_time: datetime | None = None

    @property
    def again(self) -> bool:
        """True if another attempt follows when what this one holds is released."""
        return self.stage is Stage.RELEASE and self.state not in FINAL


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happened to a job. Fields that its kind does not need are left alone."""

    kind: Kind
    attempt: int
    """The attempt it is about; 0 if it is about the job, whatever its attempt."""
    message: str = ""
    grant: Grant | None = None
    ending: Ending | None = None
    """Of ENDED and LATE."""
    status: int | None = None
    """Of ENDED: the exit status that decided."""
    abrupt: bool = False
    not_before: datetime | None = None
    """Of REQUEUED."""
    time: datetime | None = None
    """Of RUNNING and GONE: when it happened, if that is known better than by when it was noted."""


@dataclass(frozen=True, slots=True)
class _Moment:
    """What the effect of an event depends on."""

    event: Event
    terms: Terms
    now: datetime


LIMITED = frozenset({Stage.SUBMIT, Stage.QUEUED, Stage.LAUNCH, Stage.WATCH})
"""Where a job has a limit of time."""
HALTING = frozenset({Stage.HALT, Stage.ENDING})
Effect = Callable[[Life, _Moment], Life]


def advance(life: Life, event: Event, terms: Terms, now: datetime) -> Life:
    """The life after an event; the same if it is late news."""
    ahead = 1 if event.kind is Kind.REQUEUED and life.stage is Stage.RELEASE else 0
    if event.kind not in STAGES[life.stage] or event.attempt not in (0, life.attempt + ahead):
        return life
    return EFFECTS[event.kind](life, _Moment(event, terms, now))


def due(life: Life, terms: Terms) -> datetime | None:
    """When a time limit is over, if nothing happens before; None if there is none."""
    times: list[datetime] = []
    if life.stage not in LIMITED or life.state in FINAL:
        return None
    if life.state is State.RUNNING:
        return life.start_time + terms.run if terms.run is not None and life.start_time is not None else None
    if terms.pending is not None and life.start_time is None:
        times.append(life.accept_time + terms.pending)
    if life.grant is not None:
        times.append(life.grant.start_by)
    return min(times, default=None)


def overdue(life: Life, terms: Terms, now: datetime) -> Event:
    """What has happened to a job whose time is over."""
    if life.state is State.RUNNING:
        return _late_event(life, Ending.FATAL, f"ran longer than its limit of {terms.run}")
    if terms.pending is not None and life.start_time is None and now >= life.accept_time + terms.pending:
        return _late_event(life, Ending.FATAL, f"did not run within its limit of {terms.pending}")
    return _late_event(life, Ending.UNSTARTED, "its replicas did not run in the time given for it")


def _late_event(life: Life, ending: Ending, message: str) -> Event:
    return Event(kind=Kind.LATE, attempt=life.attempt, ending=ending, message=message)


def backoff(terms: Terms, retries: int) -> timedelta:
    """How long a job waits before the next try."""
    # Beyond 2**32 the longest wait counts anyway, and a timedelta could not hold it.
    doubled: int = 2 ** min(retries, 32)
    return min(terms.backoff * doubled, terms.max_backoff)


def _submitted(life: Life, _: _Moment) -> Life:
    if life.ending is not None:
        return replace(life, stage=Stage.RELEASE)
    return replace(life, stage=Stage.QUEUED, state=State.PENDING)


def _refused(life: Life, moment: _Moment) -> Life:
    over = replace(life, stage=Stage.OVER)
    return over if over.state in FINAL else _finished(over, State.FAILED, moment, moment.event.message)


def _admitted(life: Life, moment: _Moment) -> Life:
    grant = moment.event.grant
    if life.grant is not None and grant is not None and grant.version <= life.grant.version:
        return life
    held = replace(life, grant=grant)
    match life.stage:
        case Stage.SUBMIT if life.ending is not None:
            return replace(held, stage=Stage.RELEASE)
        case Stage.SUBMIT | Stage.QUEUED:
            return replace(held, stage=Stage.LAUNCH, state=State.PENDING, not_before=None, message="")
        case Stage.WATCH:
            return replace(held, stage=Stage.LAUNCH)
        case _:
            return held


def _launched(life: Life, _: _Moment) -> Life:
    return replace(life, stage=Stage.WATCH)


def _running(life: Life, moment: _Moment) -> Life:
    # Whoever has all replicas is owed none.
    launched = replace(life, stage=Stage.WATCH)
    if life.state is State.RUNNING:
        return launched
    return replace(launched, state=State.RUNNING, start_time=moment.now, message="")


def _ended(life: Life, moment: _Moment) -> Life:
    event, terms = moment.event, moment.terms
    if event.ending is Ending.SUCCEEDED:
        life = _running(life, moment)
    fatal = event.ending is Ending.FAILED and event.status in terms.final_statuses
    ending = Ending.FATAL if fatal else event.ending
    return replace(life, stage=Stage.HALT, ending=ending, message=event.message)


def _stopped(life: Life, moment: _Moment) -> Life:
    if life.state in FINAL or (life.stage in HALTING and life.ending in (Ending.SUCCEEDED, Ending.FATAL)):
        return life
    if life.stage is Stage.ENDING and (life.abrupt or not moment.event.abrupt):
        return replace(life, ending=Ending.STOPPED, state=State.TERMINATING, message=moment.event.message)
    said = moment.event.message
    match life.stage:
        case Stage.SUBMIT:
            return _finished(replace(life, ending=Ending.STOPPED), State.TERMINATED, moment, said)
        case Stage.QUEUED:
            stopped = replace(life, stage=Stage.RELEASE, ending=Ending.STOPPED)
            return _finished(stopped, State.TERMINATED, moment, said)
        case Stage.RELEASE:
            # Whoever was evicted waits again as the next attempt, which is then released in its turn.
            ending = life.ending if life.ending is Ending.EVICTED else Ending.STOPPED
            return _finished(replace(life, ending=ending), State.TERMINATED, moment, said)
        case _:
            abrupt = life.abrupt or moment.event.abrupt
            halted = replace(life, stage=Stage.HALT, ending=Ending.STOPPED, abrupt=abrupt)
            return replace(halted, state=State.TERMINATING, message=said)


def _evicted(life: Life, moment: _Moment) -> Life:
    halted = replace(life, stage=Stage.HALT, ending=Ending.EVICTED)
    return replace(halted, state=State.PREEMPTING, message=moment.event.message)


def _late(life: Life, moment: _Moment) -> Life:
    event = moment.event
    if life.state in FINAL:
        return life
    match life.stage:
        case Stage.SUBMIT:
            return _finished(replace(life, ending=event.ending), State.FAILED, moment, event.message)
        case Stage.QUEUED:
            late = replace(life, stage=Stage.RELEASE, ending=event.ending)
            return _finished(late, State.FAILED, moment, event.message)
        case _:
            return replace(life, stage=Stage.HALT, ending=event.ending, message=event.message)


def _restarted(life: Life, _: _Moment) -> Life:
    return replace(life, stage=Stage.LAUNCH)


def _halted(life: Life, _: _Moment) -> Life:
    return replace(life, stage=Stage.ENDING)


def _gone(life: Life, moment: _Moment) -> Life:
    freed = replace(life, stage=Stage.RELEASE, abrupt=False)
    terms = moment.terms
    match life.ending:
        case Ending.SUCCEEDED:
            return _finished(freed, State.SUCCEEDED, moment, life.message)
        case Ending.STOPPED:
            return _finished(freed, State.TERMINATED, moment, life.message)
        case Ending.EVICTED if not terms.requeue:
            return _finished(freed, State.PREEMPTED, moment, life.message)
        case Ending.FAILED | Ending.UNSTARTED if life.retries < terms.retries:
            wait = backoff(terms, life.retries)
            said = f"{life.message}; try {life.retries + 2} of {terms.retries + 1} follows in {wait}"
            return replace(freed, state=State.PENDING, not_before=moment.now + wait, message=said)
        case Ending.EVICTED:
            return replace(freed, state=State.PENDING)
        case _:
            return _finished(freed, State.FAILED, moment, life.message)


def _released(life: Life, moment: _Moment) -> Life:
    if life.stage is Stage.QUEUED:
        over = replace(life, stage=Stage.OVER)
        return _finished(over, State.FAILED, moment, "was taken out of its queue by somebody else")
    if life.ending is Ending.EVICTED and moment.terms.requeue:
        return _next(life)
    if not life.again:
        return replace(life, stage=Stage.OVER, grant=None)
    afresh = replace(life, stage=Stage.SUBMIT, attempt=life.attempt + 1, retries=life.retries + 1)
    return replace(afresh, ending=None, grant=None)


def _unknown(life: Life, _: _Moment) -> Life:
    return replace(life, stage=Stage.SUBMIT, not_before=None)


def _requeued(life: Life, moment: _Moment) -> Life:
    waits = _next(life) if life.stage is Stage.RELEASE else life
    return replace(waits, not_before=moment.event.not_before, message=moment.event.message or waits.message)


def _next(life: Life) -> Life:
    """The attempt that waits in the queue since this one was evicted; to be released too, if somebody stopped it."""
    waits = replace(life, attempt=life.attempt + 1, grant=None)
    if life.state in FINAL:
        return replace(waits, ending=Ending.STOPPED)
    return replace(waits, stage=Stage.QUEUED, ending=None)


def _finished(life: Life, state: State, moment: _Moment, message: str) -> Life:
    return replace(life, state=state, finish_time=moment.now, message=message, not_before=None)


EFFECTS: Mapping[Kind, Effect] = MappingProxyType(
    {
        Kind.SUBMITTED: _submitted,
        Kind.REFUSED: _refused,
        Kind.ADMITTED: _admitted,
        Kind.LAUNCHED: _launched,
        Kind.RUNNING: _running,
        Kind.ENDED: _ended,
        Kind.STOPPED: _stopped,
        Kind.EVICTED: _evicted,
        Kind.LATE: _late,
        Kind.RESTARTED: _restarted,
        Kind.HALTED: _halted,
        Kind.GONE: _gone,
        Kind.RELEASED: _released,
        Kind.UNKNOWN: _unknown,
        Kind.REQUEUED: _requeued,
    }
)
"""What each kind of event does."""
