"""How an attempt ends by what its replicas did, whatever it is made with."""

from __future__ import annotations

from collections.abc import Sequence

from pf_job.driving.seeing import Verdict, outcome
from pf_job.jobs.domain import Job, Task, TaskState
from pf_job.jobs.life import Ending

BAD = frozenset({TaskState.FAILED, TaskState.LOST})


def all_or_nothing(job: Job, tasks: Sequence[Task]) -> Verdict | None:
    """Well if all replicas did, badly as soon as one did not."""
    if bad := next((task for task in tasks if task.state in BAD), None):
        name = f"{bad.key.role} {bad.key.index}" if len(tasks) > 1 else "it"
        return Verdict(Ending.FAILED, f"{name} {bad.message or outcome(bad)}", bad.status)
    done = bool(tasks) and all(task.state is TaskState.SUCCEEDED for task in tasks)
    return Verdict(Ending.SUCCEEDED) if done and job.life.grant is not None else None
