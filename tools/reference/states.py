"""The reference of state machines, drawn from their tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import TypeVar

from pf_job.jobs.states import STAGES, STATES, Stage, State
from pf_queue.quota.domain import TRANSITIONS, QueueState

S = TypeVar("S", bound=StrEnum)

INTRODUCTION = """\
# States

Each drawing is made from the table that the service itself goes by.

## Queue

What a queue does in each state is in the table of [QueueState](rpc.md#queuestate). A pair of state and event that has
no arrow is refused with FAILED_PRECONDITION, except that an event may find its work done: then it does nothing.
"""
JOB = """
## Job

What each state means is in the table of [JobState](rpc.md#jobstate). From a state without an arrow there is no way.
`cancelled` and `skipped` are kept for jobs that are parts of something else; none ends so yet.
"""
STAGES_OF_JOB = """
Beside its state a job has a stage: [what it is owed next](../adr/0015-a-job-is-driven-by-what-it-is-owed.md). What
happens to it leads to another stage, or to one of several; what is not in the table is late news, and changes nothing.

| stage | what happens, and the stage after it |
|---|---|
"""


def page() -> str:
    queue = (f"{before} --> {after}: {event}" for (before, event), after in TRANSITIONS.items() if after != before)
    job = (f"{before} --> {after}" for before, following in STATES.items() for after in ordered(State, following))
    parts = [INTRODUCTION, *drawing(QueueState.OPEN, queue), JOB, *drawing(State.INIT, job)]
    return "\n".join([*parts, STAGES_OF_JOB + "\n".join(map(_stage, STAGES)), ""])


def _stage(stage: Stage) -> str:
    happens = [f"{kind}: {' or '.join(ordered(Stage, following))}" for kind, following in STAGES[stage].items()]
    return f"| `{stage}` | {'; '.join(happens) or 'nothing more'} |"


def ordered(kind: type[S], members: frozenset[S]) -> list[S]:
    """As they are declared."""
    return [member for member in kind if member in members]


def drawing(first: StrEnum, arrows: Iterable[str]) -> Iterator[str]:
    yield from ("```mermaid", "stateDiagram-v2", f"    [*] --> {first}")
    yield from (f"    {arrow}" for arrow in arrows)
    yield "```"
