"""The life of a job: what becomes of it when something happens. Nothing here looks at a clock, or outside at all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType

from pf_job.jobs.states import FINAL, STAGES, Kind, Stage, State
from pf_job.jobs.terms import Terms, backoff


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
    left: Mapping[str, int] | None = None
    """What is to be left of the replicas when it has given back some; None if it gives back none."""


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
    crew: Mapping[str, int] | None = None
    """How many replicas of each role there are to be now; None: as many as it holds."""
    settle_time: datetime | None = None
    """Since when the crew is as it is."""
    revision: int = 0
    """Grows with each change of what it asks for in its queue."""

    @property
    def replicas(self) -> Mapping[str, int]:
        """How many there are to be now, by role, or were to be at the end; none before it holds something."""
        if self.crew is not None:
            return self.crew
        return self.grant.replicas if self.grant is not None else {}

    @property
    def grows(self) -> bool:
        """True if it holds more than it makes use of, and could."""
        calm = self.stage is Stage.WATCH and self.state is State.RUNNING
        if not calm or self.grant is None or self.grant.left is not None:
            return False
        return any(count > self.replicas.get(role, 0) for role, count in self.grant.replicas.items())

    @property
    def waits(self) -> bool:
        """True as long as it matters to its queue what it asks for."""
        return self.again or (self.stage in WAITING and self.state not in FINAL)

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
    left: Mapping[str, int] | None = None
    """Of SHRUNK: the replicas that it is to be left with, by role; of RESIZED: those that the queue was told."""
    own: bool = False
    """Of SHRUNK: True if nobody asks for it."""
    version: int = 0
    """Of SHRUNK: that of what it holds when it has given back the rest."""
    revision: int = 0
    """Of SUBMITTED and REVISED: that which the queue knows."""
    time: datetime | None = None
    """Of RUNNING and GONE: when it happened, if that is known better than by when it was noted."""


@dataclass(frozen=True, slots=True)
class _Moment:
    """What the effect of an event depends on."""

    event: Event
    terms: Terms
    now: datetime


HALTING = frozenset({Stage.HALT, Stage.ENDING})
WAITING = frozenset({Stage.SUBMIT, Stage.QUEUED, Stage.REVISE})
RESTS = 9
"""Times that a crew which gave up one of its own waits longer than another until it grows."""
Effect = Callable[[Life, _Moment], Life]


def advance(life: Life, event: Event, terms: Terms, now: datetime) -> Life:
    """The life after an event; the same if it is late news."""
    ahead = 1 if event.kind is Kind.REQUEUED and life.stage is Stage.RELEASE else 0
    if event.kind not in STAGES[life.stage] or event.attempt not in (0, life.attempt + ahead):
        return life
    return EFFECTS[event.kind](life, _Moment(event, terms, now))


def _submitted(life: Life, moment: _Moment) -> Life:
    if life.ending is not None:
        return replace(life, stage=Stage.RELEASE)
    return _revised(replace(life, state=State.PENDING), moment)


def _changed(life: Life, _: _Moment) -> Life:
    if not life.waits:
        return life
    # Whoever is not known to the queue is submitted as it is then.
    stage = Stage.REVISE if life.stage is Stage.QUEUED else life.stage
    return replace(life, stage=stage, revision=life.revision + 1)


def _revised(life: Life, moment: _Moment) -> Life:
    return replace(life, stage=Stage.QUEUED if moment.event.revision >= life.revision else Stage.REVISE)


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
        case Stage.SUBMIT | Stage.QUEUED | Stage.REVISE:
            crew = None if grant is None else grant.replicas
            return replace(held, stage=Stage.LAUNCH, state=State.PENDING, not_before=None, message="", crew=crew)
        case _:
            return _holding(life, grant)


def _holding(life: Life, grant: Grant | None) -> Life:
    """It holds something else than before. What it was to give back, it still is."""
    if grant is None or life.grant is None:
        return replace(life, grant=grant)
    return replace(life, grant=replace(grant, left=life.grant.left), crew=life.replicas)


def _launched(life: Life, _: _Moment) -> Life:
    return replace(life, stage=Stage.WATCH)


def _running(life: Life, moment: _Moment) -> Life:
    # Whoever has all replicas is owed none.
    launched = replace(life, stage=Stage.RESIZE if life.stage is Stage.RESIZE else Stage.WATCH)
    if life.state is State.RUNNING:
        return launched
    return replace(launched, state=State.RUNNING, start_time=moment.now, settle_time=moment.now, message="")


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
        case Stage.QUEUED | Stage.REVISE:
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
        case Stage.QUEUED | Stage.REVISE:
            late = replace(life, stage=Stage.RELEASE, ending=event.ending)
            return _finished(late, State.FAILED, moment, event.message)
        case _:
            return replace(life, stage=Stage.HALT, ending=event.ending, message=event.message)


def _restarted(life: Life, _: _Moment) -> Life:
    # At the other stages they are started too, or when these are over.
    return replace(life, stage=Stage.LAUNCH) if life.stage is Stage.WATCH else life


def _grown(life: Life, moment: _Moment) -> Life:
    if not life.grows or life.grant is None:
        return life
    return replace(life, stage=Stage.PART, crew=life.grant.replicas, settle_time=moment.now)


def _settled(life: Life, moment: _Moment) -> Life:
    return replace(life, settle_time=moment.now)


def _shrunk(life: Life, moment: _Moment) -> Life:
    event, grant = moment.event, life.grant
    if grant is None or event.left is None or event.version <= grant.version:
        return life
    left = _least(grant.left or grant.replicas, event.left)
    if left == (grant.left or grant.replicas):
        return life
    fewer = replace(life, grant=replace(grant, left=left), crew=_least(life.replicas, left))
    # Whoever was given up was lost again and again: another growth is not to be tried as soon as usual.
    rest = moment.terms.steady * (RESTS if event.own else 0)
    return replace(fewer, stage=Stage.PART, settle_time=moment.now + rest)


def _least(one: Mapping[str, int], other: Mapping[str, int]) -> Mapping[str, int]:
    return {role: min(count, other.get(role, count)) for role, count in one.items()}


def _regrouping(life: Life, _: _Moment) -> Life:
    return replace(life, stage=Stage.PART)


def _parted(life: Life, _: _Moment) -> Life:
    return replace(life, stage=Stage.LAUNCH)


def _freed(life: Life, _: _Moment) -> Life:
    gives = life.grant is not None and life.grant.left is not None
    return replace(life, stage=Stage.RESIZE) if gives else life


def _resized(life: Life, moment: _Moment) -> Life:
    told, grant = moment.event, life.grant
    if grant is None or grant.left is None:
        return replace(life, stage=Stage.LAUNCH)
    holds = told.grant or replace(grant, replicas=grant.left)
    now = holds if holds.version >= grant.version else grant
    if told.left != grant.left:
        return replace(life, grant=replace(now, left=grant.left))
    return replace(life, stage=Stage.LAUNCH, grant=replace(now, left=None), crew=life.replicas)


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
            again = f"try {life.retries + 2} of {terms.retries + 1} follows in {wait.total_seconds():.9g}s"
            said = f"{life.message}; {again}"
            return replace(freed, state=State.PENDING, not_before=moment.now + wait, message=said)
        case Ending.EVICTED:
            return replace(freed, state=State.PENDING)
        case _:
            return _finished(freed, State.FAILED, moment, life.message)


def _released(life: Life, moment: _Moment) -> Life:
    if life.stage in WAITING:
        over = replace(life, stage=Stage.OVER)
        return _finished(over, State.FAILED, moment, "was taken out of its queue by somebody else")
    if life.ending is Ending.EVICTED and moment.terms.requeue:
        return _next(life)
    if not life.again:
        return replace(life, stage=Stage.OVER, grant=None)
    afresh = replace(life, stage=Stage.SUBMIT, attempt=life.attempt + 1, retries=life.retries + 1)
    return replace(afresh, ending=None, grant=None, crew=None, settle_time=None)


def _unknown(life: Life, _: _Moment) -> Life:
    return replace(life, stage=Stage.SUBMIT, not_before=None)


def _requeued(life: Life, moment: _Moment) -> Life:
    waits = _next(life) if life.stage is Stage.RELEASE else life
    return replace(waits, not_before=moment.event.not_before, message=moment.event.message or waits.message)


def _next(life: Life) -> Life:
    """The attempt that waits in the queue since this one was evicted; to be released too, if somebody stopped it."""
    waits = replace(life, attempt=life.attempt + 1, grant=None, crew=None, settle_time=None)
    if life.state in FINAL:
        return replace(waits, ending=Ending.STOPPED)
    # The queue lets it wait with what it was told before, which may be less than all.
    return replace(waits, stage=Stage.REVISE if life.revision else Stage.QUEUED, ending=None)


def _finished(life: Life, state: State, moment: _Moment, message: str) -> Life:
    return replace(life, state=state, finish_time=moment.now, message=message, not_before=None)


EFFECTS: Mapping[Kind, Effect] = MappingProxyType(
    {
        Kind.SUBMITTED: _submitted,
        Kind.REFUSED: _refused,
        Kind.CHANGED: _changed,
        Kind.REVISED: _revised,
        Kind.ADMITTED: _admitted,
        Kind.LAUNCHED: _launched,
        Kind.RUNNING: _running,
        Kind.ENDED: _ended,
        Kind.STOPPED: _stopped,
        Kind.EVICTED: _evicted,
        Kind.LATE: _late,
        Kind.RESTARTED: _restarted,
        Kind.GROWN: _grown,
        Kind.SETTLED: _settled,
        Kind.SHRUNK: _shrunk,
        Kind.REGROUPING: _regrouping,
        Kind.PARTED: _parted,
        Kind.REGROUPED: _restarted,
        Kind.FREED: _freed,
        Kind.RESIZED: _resized,
        Kind.HALTED: _halted,
        Kind.GONE: _gone,
        Kind.RELEASED: _released,
        Kind.UNKNOWN: _unknown,
        Kind.REQUEUED: _requeued,
    }
)
"""What each kind of event does."""
