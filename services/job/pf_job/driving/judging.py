"""What the replicas of an attempt mean for it, by the rules of what it is made with."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from pf_job.frameworks.registry import rules_of, together
from pf_job.frameworks.rules import Loss, Reaction, Replica, Rules, done, reaction
from pf_job.jobs.crew import BAD, last_starts, members
from pf_job.jobs.domain import ENDED, Job, Task, TaskKey, TaskState
from pf_job.jobs.life import Ending
from pf_job.specs.domain import Role

GOOD = frozenset({TaskState.PENDING, TaskState.RUNNING, TaskState.SUCCEEDED})
NEVER = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Verdict:
    """How an attempt ends."""

    ending: Ending
    message: str = ""
    status: int | None = None
    """The exit status that decided."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What is to become of an attempt."""

    verdict: Verdict | None = None
    """None as long as it goes on."""
    again: Sequence[Task] = ()
    """Replicas that are over, and to be started again."""
    culprit: Task | None = None
    """For whose sake all are started again together."""
    left: Mapping[str, int] | None = None
    """How many of each role go on without the culprit, if it is not to be started again."""


def judge(job: Job, tasks: Sequence[Task]) -> Judgement:
    """What is to become of an attempt with these replicas."""
    crew = members(job, last_starts(job, tasks))
    bad = sorted((task for task in crew if task.state in BAD), key=lambda task: task.finish_time or NEVER)
    if bad and together(job.spec):
        # Who is the first to go is whose fault it is: the others went with it.
        return _judge_together(job, tasks, crew, bad[0])
    rules, again, given_up = rules_of(job.spec), list[Task](), list[Task]()
    for task in bad:
        match reaction(rules, job.spec, _loss(task, tasks, _left(task, crew))):
            case Reaction.FAIL | Reaction.RESTART_ALL:
                return _failed(task, crew)
            case Reaction.RESTART:
                again.append(task)
            case Reaction.CARRY_ON:
                given_up.append(task)
    if crew and _done(rules, [task for task in crew if task not in given_up]):
        return Judgement(Verdict(Ending.SUCCEEDED))
    if crew and not again and all(task.state in ENDED for task in crew):
        return Judgement(Verdict(Ending.FAILED, "all of its replicas are over, and it is not done"))
    return Judgement(None, again)


def fallen(job: Job, tasks: Sequence[Task], culprit: Task) -> Collection[TaskKey]:
    """The replicas that ended because another one did, though they were seen to end as if by themselves."""
    crew = members(job, last_starts(job, tasks))
    return {task.key for task in crew if task.state in BAD and task.key != culprit.key}


def outcome(task: Task) -> str:
    """How a replica ended, in words."""
    if task.state is TaskState.LOST:
        return "is gone, and nobody knows how it ended"
    if task.signal:
        return f"was ended by signal {task.signal}"
    return f"ended with exit status {task.status}"


def said(task: Task, crew: Sequence[Task]) -> str:
    """Which replica ended, and how."""
    name = f"{task.key.role} {task.key.index}" if len(crew) > 1 else ""
    if task.message:
        return f"{name}: {task.message}" if name else task.message
    return f"{name or 'it'} {outcome(task)}"


def _judge_together(job: Job, tasks: Sequence[Task], crew: Sequence[Task], culprit: Task) -> Judgement:
    others = sum(task.key.role == culprit.key.role and task is not culprit for task in crew)
    match reaction(rules_of(job.spec), job.spec, _loss(culprit, tasks, others)):
        case Reaction.RESTART_ALL | Reaction.RESTART:
            return Judgement(culprit=culprit)
        case Reaction.CARRY_ON:
            return Judgement(culprit=culprit, left=_fewer(job, culprit))
        case Reaction.FAIL:
            return _failed(culprit, crew)


def _fewer(job: Job, culprit: Task) -> Mapping[str, int]:
    """The next smaller crew: what lies above the minimum goes in steps."""
    replicas, member = job.life.replicas, job.spec.member(Role(culprit.key.role))
    if member is None:
        return replicas
    step = member.replica_step or 1
    above = (replicas[member.role] - member.replicas - 1) // step * step
    return {**replicas, member.role: member.replicas + above}


def _failed(task: Task, crew: Sequence[Task]) -> Judgement:
    return Judgement(Verdict(Ending.FAILED, said(task, crew), task.status))


def _loss(task: Task, tasks: Sequence[Task], left: int) -> Loss:
    # Starts that were ended for others' sake are nobody's fault.
    slot = (task.key.attempt, task.key.role, task.key.index)
    failed = [each for each in tasks if (each.key.attempt, each.key.role, each.key.index) == slot and each.state in BAD]
    return Loss(role=Role(task.key.role), status=task.status, restarts=len(failed) - 1, left=left)


def _left(task: Task, crew: Sequence[Task]) -> int:
    return sum(other.state in GOOD for other in crew if other.key.role == task.key.role and other is not task)


def _done(rules: Rules, crew: Sequence[Task]) -> bool:
    return done(rules, {_replica(task): task.state is TaskState.SUCCEEDED for task in crew})


def _replica(task: Task) -> Replica:
    return Replica(Role(task.key.role), task.key.index)
