"""What the replicas of an attempt mean for it, by the rules of what it is made with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pf_job.frameworks.registry import rules_of
from pf_job.frameworks.rules import Loss, Reaction, Replica, Rules, done, reaction
from pf_job.jobs.domain import ENDED, Job, Task, TaskState
from pf_job.jobs.life import Ending
from pf_job.specs.domain import Role

BAD = frozenset({TaskState.FAILED, TaskState.LOST})
GOOD = frozenset({TaskState.PENDING, TaskState.RUNNING, TaskState.SUCCEEDED})


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


def judge(job: Job, tasks: Sequence[Task]) -> Judgement:
    """What is to become of an attempt whose replicas are these, each as it was started last."""
    rules, again = rules_of(job.spec), list[Task]()
    for task in tasks:
        if task.state not in BAD:
            continue
        match reaction(rules, job.spec, _loss(task, tasks)):
            case Reaction.FAIL | Reaction.RESTART_ALL:
                return Judgement(Verdict(Ending.FAILED, _said(task, tasks), task.status))
            case Reaction.RESTART:
                again.append(task)
            case Reaction.CARRY_ON:
                pass
    if tasks and _done(rules, tasks):
        return Judgement(Verdict(Ending.SUCCEEDED))
    if tasks and not again and all(task.state in ENDED for task in tasks):
        return Judgement(Verdict(Ending.FAILED, "all of its replicas are over, and it is not done"))
    return Judgement(None, again)


def outcome(task: Task) -> str:
    """How a replica ended, in words."""
    if task.state is TaskState.LOST:
        return "is gone, and nobody knows how it ended"
    if task.signal:
        return f"was ended by signal {task.signal}"
    return f"ended with exit status {task.status}"


def _loss(task: Task, tasks: Sequence[Task]) -> Loss:
    left = sum(other.state in GOOD for other in tasks if other.key.role == task.key.role and other is not task)
    return Loss(role=Role(task.key.role), status=task.status, restarts=task.key.restart, left=left)


def _done(rules: Rules, tasks: Sequence[Task]) -> bool:
    ended = {Replica(Role(task.key.role), task.key.index): task.state is TaskState.SUCCEEDED for task in tasks}
    return done(rules, ended)


def _said(task: Task, tasks: Sequence[Task]) -> str:
    name = f"{task.key.role} {task.key.index}" if len(tasks) > 1 else "it"
    return f"{name} {task.message or outcome(task)}"
