"""Where a job stands, and what it is owed: two tables, and nothing that happens outside of them."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class State(StrEnum):
    """Where a job stands, as people see it."""

    INIT = "init"
    PENDING = "pending"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    TERMINATING = "terminating"
    TERMINATED = "terminated"
    PREEMPTING = "preempting"
    PREEMPTED = "preempted"
    CANCELLED = "cancelled"
    SKIPPED = "skipped"


FINAL = frozenset(
    {State.SUCCEEDED, State.FAILED, State.TERMINATED, State.PREEMPTED, State.CANCELLED, State.SKIPPED},
)
"""States that are never left."""


class Stage(StrEnum):
    """What is to be done next for a job. It is done again until it is known to have happened."""

    SUBMIT = "submit"
    """The queue is to be told of it."""
    QUEUED = "queued"
    """Nothing: the queue has it."""
    REVISE = "revise"
    """The queue is to be told what it asks for by now."""
    LAUNCH = "launch"
    """Its replicas are to be started."""
    WATCH = "watch"
    """Nothing: its runtime has been told to start its replicas, and tells what they do."""
    PART = "part"
    """Some of its replicas are to be ended, while it goes on."""
    RESIZE = "resize"
    """The queue is to be told that it holds less. Its replicas are to be started all the same."""
    HALT = "halt"
    """Its replicas are to be ended."""
    ENDING = "ending"
    """Nothing: its runtime has been told to end its replicas, and tells when they have."""
    RELEASE = "release"
    """The queue is to be told that it holds nothing any more."""
    OVER = "over"


WITHOUT = frozenset({Stage.SUBMIT, Stage.QUEUED, Stage.REVISE, Stage.RELEASE, Stage.OVER})
"""Stages at which a job has no replicas."""


class Kind(StrEnum):
    """What can happen to a job."""

    SUBMITTED = "submitted"
    """The queue knows of it."""
    REFUSED = "refused"
    """The queue does not take it, and never will."""
    CHANGED = "changed"
    """It asks for something else of its queue than before."""
    REVISED = "revised"
    """The queue knows what it asks for, or did before that changed."""
    ADMITTED = "admitted"
    """It may start, or holds more or less than before."""
    LAUNCHED = "launched"
    """Its runtime has been told to start its replicas."""
    RUNNING = "running"
    """All replicas that it needs run."""
    ENDED = "ended"
    """What its replicas did decides how it ends."""
    STOPPED = "stopped"
    """Somebody wants it to end."""
    EVICTED = "evicted"
    """The queue wants all that it holds."""
    LATE = "late"
    """A time limit is over."""
    HALTED = "halted"
    """Its runtime has been told to end its replicas."""
    RESTARTED = "restarted"
    """Some of its replicas are to be started again."""
    GROWN = "grown"
    """It makes use of all that it holds."""
    SETTLED = "settled"
    """It does not grow for a while, though it could."""
    SHRUNK = "shrunk"
    """It is to do with less, and gives back the rest."""
    REGROUPING = "regrouping"
    """All of its replicas are to be ended, to be started again together."""
    PARTED = "parted"
    """Its runtime has been told to end the replicas that are to end while it goes on."""
    REGROUPED = "regrouped"
    """All that are started again together have ended."""
    FREED = "freed"
    """None of the replicas is left that it gives back."""
    RESIZED = "resized"
    """The queue knows that it holds less."""
    GONE = "gone"
    """None of its replicas is left."""
    RELEASED = "released"
    """The queue knows that it holds nothing."""
    UNKNOWN = "unknown"
    """The queue does not know of it, though it did: it was restored from a back-up."""
    REQUEUED = "requeued"
    """It waits in the queue again, as the next attempt."""


STAGES: Mapping[Stage, Mapping[Kind, frozenset[Stage]]] = {
    Stage.SUBMIT: {
        Kind.SUBMITTED: frozenset({Stage.QUEUED, Stage.REVISE, Stage.RELEASE}),
        Kind.REFUSED: frozenset({Stage.OVER}),
        Kind.CHANGED: frozenset({Stage.SUBMIT}),
        Kind.ADMITTED: frozenset({Stage.LAUNCH, Stage.RELEASE}),
        Kind.STOPPED: frozenset({Stage.SUBMIT}),
        Kind.LATE: frozenset({Stage.SUBMIT}),
    },
    Stage.QUEUED: {
        Kind.ADMITTED: frozenset({Stage.LAUNCH}),
        Kind.STOPPED: frozenset({Stage.RELEASE}),
        Kind.LATE: frozenset({Stage.RELEASE}),
        Kind.REQUEUED: frozenset({Stage.QUEUED}),
        Kind.UNKNOWN: frozenset({Stage.SUBMIT}),
        Kind.CHANGED: frozenset({Stage.REVISE}),
        Kind.REVISED: frozenset({Stage.QUEUED, Stage.REVISE}),
        Kind.RELEASED: frozenset({Stage.OVER}),
    },
    Stage.REVISE: {
        Kind.ADMITTED: frozenset({Stage.LAUNCH}),
        Kind.STOPPED: frozenset({Stage.RELEASE}),
        Kind.LATE: frozenset({Stage.RELEASE}),
        Kind.REQUEUED: frozenset({Stage.REVISE}),
        Kind.UNKNOWN: frozenset({Stage.SUBMIT}),
        Kind.CHANGED: frozenset({Stage.REVISE}),
        Kind.REVISED: frozenset({Stage.QUEUED, Stage.REVISE}),
        Kind.RELEASED: frozenset({Stage.OVER}),
    },
    Stage.LAUNCH: {
        Kind.ADMITTED: frozenset({Stage.LAUNCH}),
        Kind.LAUNCHED: frozenset({Stage.WATCH}),
        Kind.RUNNING: frozenset({Stage.WATCH}),
        Kind.RESTARTED: frozenset({Stage.LAUNCH}),
        Kind.SHRUNK: frozenset({Stage.PART, Stage.LAUNCH}),
        Kind.REGROUPING: frozenset({Stage.PART}),
        Kind.REGROUPED: frozenset({Stage.LAUNCH}),
        Kind.FREED: frozenset({Stage.RESIZE, Stage.LAUNCH}),
        Kind.ENDED: frozenset({Stage.HALT}),
        Kind.STOPPED: frozenset({Stage.HALT}),
        Kind.EVICTED: frozenset({Stage.HALT}),
        Kind.LATE: frozenset({Stage.HALT}),
    },
    Stage.WATCH: {
        Kind.ADMITTED: frozenset({Stage.WATCH}),
        Kind.RUNNING: frozenset({Stage.WATCH}),
        Kind.RESTARTED: frozenset({Stage.LAUNCH}),
        Kind.GROWN: frozenset({Stage.PART, Stage.WATCH}),
        Kind.SETTLED: frozenset({Stage.WATCH}),
        Kind.SHRUNK: frozenset({Stage.PART, Stage.WATCH}),
        Kind.REGROUPING: frozenset({Stage.PART}),
        Kind.REGROUPED: frozenset({Stage.LAUNCH}),
        Kind.FREED: frozenset({Stage.RESIZE, Stage.WATCH}),
        Kind.ENDED: frozenset({Stage.HALT}),
        Kind.STOPPED: frozenset({Stage.HALT}),
        Kind.EVICTED: frozenset({Stage.HALT}),
        Kind.LATE: frozenset({Stage.HALT}),
    },
    Stage.PART: {
        Kind.ADMITTED: frozenset({Stage.PART}),
        Kind.RESTARTED: frozenset({Stage.PART}),
        Kind.SHRUNK: frozenset({Stage.PART}),
        Kind.REGROUPING: frozenset({Stage.PART}),
        Kind.REGROUPED: frozenset({Stage.PART}),
        Kind.PARTED: frozenset({Stage.LAUNCH}),
        Kind.ENDED: frozenset({Stage.HALT}),
        Kind.STOPPED: frozenset({Stage.HALT}),
        Kind.EVICTED: frozenset({Stage.HALT}),
        Kind.LATE: frozenset({Stage.HALT}),
    },
    Stage.RESIZE: {
        Kind.ADMITTED: frozenset({Stage.RESIZE}),
        Kind.RUNNING: frozenset({Stage.RESIZE}),
        Kind.RESTARTED: frozenset({Stage.RESIZE}),
        Kind.SHRUNK: frozenset({Stage.PART, Stage.RESIZE}),
        Kind.REGROUPING: frozenset({Stage.PART}),
        Kind.REGROUPED: frozenset({Stage.RESIZE}),
        Kind.RESIZED: frozenset({Stage.LAUNCH, Stage.RESIZE}),
        Kind.ENDED: frozenset({Stage.HALT}),
        Kind.STOPPED: frozenset({Stage.HALT}),
        Kind.EVICTED: frozenset({Stage.HALT}),
        Kind.LATE: frozenset({Stage.HALT}),
    },
    Stage.HALT: {
        Kind.ADMITTED: frozenset({Stage.HALT}),
        Kind.STOPPED: frozenset({Stage.HALT}),
        Kind.HALTED: frozenset({Stage.ENDING}),
        Kind.GONE: frozenset({Stage.RELEASE}),
    },
    Stage.ENDING: {
        Kind.ADMITTED: frozenset({Stage.ENDING}),
        Kind.STOPPED: frozenset({Stage.ENDING, Stage.HALT}),
        Kind.GONE: frozenset({Stage.RELEASE}),
    },
    Stage.RELEASE: {
        Kind.ADMITTED: frozenset({Stage.RELEASE}),
        Kind.STOPPED: frozenset({Stage.RELEASE}),
        Kind.CHANGED: frozenset({Stage.RELEASE}),
        Kind.RELEASED: frozenset({Stage.OVER, Stage.SUBMIT, Stage.QUEUED, Stage.REVISE, Stage.RELEASE}),
        Kind.REQUEUED: frozenset({Stage.QUEUED, Stage.REVISE, Stage.RELEASE}),
    },
    Stage.OVER: {},
}
"""For each stage what can happen in it, and which stages may follow. All else is passed over: it is late news."""

STATES: Mapping[State, frozenset[State]] = {
    State.INIT: frozenset({State.PENDING, State.FAILED, State.TERMINATED, State.CANCELLED, State.SKIPPED}),
    State.PENDING: frozenset(
        {State.RUNNING, State.FAILED, State.TERMINATING, State.TERMINATED, State.PREEMPTING},
    ),
    State.RUNNING: frozenset(
        {State.SUCCEEDED, State.FAILED, State.PENDING, State.TERMINATING, State.PREEMPTING},
    ),
    State.TERMINATING: frozenset({State.TERMINATED}),
    State.PREEMPTING: frozenset({State.PENDING, State.PREEMPTED, State.TERMINATING}),
    State.SUCCEEDED: frozenset(),
    State.FAILED: frozenset(),
    State.TERMINATED: frozenset(),
    State.PREEMPTED: frozenset(),
    State.CANCELLED: frozenset(),
    State.SKIPPED: frozenset(),
}
"""Which states may follow which."""
