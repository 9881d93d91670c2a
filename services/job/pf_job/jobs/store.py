"""Where jobs are kept."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from pf_job.jobs.domain import Counts, Happening, Job, JobFilter, Owner, Task, TaskKey
from pf_job.jobs.spans import Turns
from pf_job.jobs.states import Stage
from pf_kit.unit import Change, View

OWED = (Stage.SUBMIT, Stage.REVISE, Stage.LAUNCH, Stage.PART, Stage.RESIZE, Stage.HALT, Stage.RELEASE)
"""Stages at which something is to be done."""


def job_lock(id_: str) -> str:
    """Held by every change of a job, so that the order of its events is the order of commits."""
    return f"job/{id_}"


def scope_lock(scope: str) -> str:
    """Held by every change that makes a job for a scope, or takes it over."""
    return f"scope/{scope}"


class JobStore(Protocol):
    """The port to the rows of jobs. Whoever writes holds the lock of the job."""

    async def jobs(self, view: View, ids: Sequence[str]) -> Sequence[Job]:
        """The jobs of these ids that there are, in no order."""

    async def of_parts(self, view: View, keys: Sequence[str]) -> Sequence[Job]:
        """The jobs that are these parts of something, in no order."""

    async def page(self, view: View, chosen: JobFilter, before: int, limit: int) -> Sequence[Job]:
        """The jobs with numbers below one, newest first; 0 means from the newest on."""

    async def at(
        self, view: View, stages: Sequence[Stage], now: datetime, limit: int, without: Collection[str] = ()
    ) -> Sequence[Job]:
        """Jobs at these stages that need not wait any longer, those that came there first in front, but for some."""

    async def owed_stages(self, view: View, now: datetime) -> frozenset[Stage]:
        """The stages at which `at` finds jobs."""

    async def unfinished(self, view: View, stages: Sequence[Stage], after: str, limit: int) -> Sequence[Job]:
        """Jobs at these stages whose ids come after one, by id."""

    async def overdue(self, view: View, now: datetime, limit: int) -> Sequence[Job]:
        """Jobs whose limit of time is over."""

    async def expired(self, view: View, now: datetime, limit: int) -> Sequence[Job]:
        """Jobs that are over and need not be kept any longer."""

    async def owners(self, view: View) -> Sequence[Owner]:
        """The users who own jobs, in no order. Services are left out."""

    async def owned(self, view: View, owner: Owner, after: str, limit: int) -> Sequence[Job]:
        """The jobs of a user whose ids come after one, by id."""

    async def claim(self, change: Change, scope: str, epoch: int) -> int:
        """Notes that a scope is used with an epoch; returns the highest that it was ever used with."""

    async def add(self, change: Change, jobs: Sequence[Job]) -> Sequence[Job]:
        """Keeps new jobs, none of which there is, and returns them with versions and numbers."""

    async def save(self, change: Change, jobs: Sequence[Job]) -> Sequence[Job]:
        """Keeps where jobs stand, that there are, and returns them with new versions."""

    async def revise(self, change: Change, job: Job) -> Job:
        """Keeps what is asked for by a job, that there is, and returns it with a new version."""

    async def spent(self, view: View, ids: Sequence[str]) -> frozenset[str]:
        """Those of these ids that no new job can have: a job has them, or had them not long ago."""

    async def remove(self, change: Change, ids: Sequence[str]) -> None:
        """Forgets jobs, their tasks and what happened to them; of the tasks only `leftovers` are known then."""

    async def leftovers(self, view: View, until: datetime, limit: int) -> Sequence[TaskKey]:
        """Starts of replicas of jobs that were forgotten until then, of which their runtimes may keep something."""

    async def clear(self, change: Change, keys: Sequence[TaskKey]) -> None:
        """Notes that nothing is kept of leftovers any more."""

    async def tasks(self, view: View, ids: Sequence[str], attempt: int) -> Sequence[Task]:
        """Tasks of jobs by key: of one attempt, or of all if it is 0."""

    async def counts(self, view: View, ids: Sequence[str]) -> Mapping[str, Counts]:
        """How many replicas of the attempts that jobs are at stand where, by job; without jobs that have none, and
        without replicas that do not belong to the crew any more.
        """

    async def put_tasks(self, change: Change, tasks: Sequence[Task]) -> None:
        """Keeps tasks, in the place of those that there are."""

    async def hold(self, change: Change, turns: Mapping[str, Turns]) -> None:
        """Keeps what became of what jobs hold, by their ids. It stays when jobs are removed."""

    async def ports(self, view: View) -> frozenset[int]:
        """All that tasks listen on which are not over."""

    async def note(self, change: Change, happenings: Sequence[Happening]) -> None:
        """Keeps happenings. Their numbers are given out here, whatever they say, in this order."""

    async def happenings(self, view: View, id_: str, after: int, limit: int) -> Sequence[Happening]:
        """What happened to a job after the happening of a number, oldest first."""
