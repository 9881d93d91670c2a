"""Runs steps as jobs of the job service, one for each try."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from paddleflow.problems import OwnerEpochConflict, Problem
from pf_pipeline.artifacts.ports import Ask, Fault, Files, Pending
from pf_pipeline.engine.core.happening import Halt, JobSeen, JobState, Launch
from pf_pipeline.engine.executors.trying import LASTING, again
from pf_pipeline.engine.ports import Task, Tell

logger = logging.getLogger(__name__)

MOST_JOBS = 100
"""Jobs that are created by one call."""
AT_ONCE = 4
"""Calls that create jobs at one time."""


@dataclass(frozen=True, slots=True)
class JobView:
    """Where a job stands."""

    id: str
    state: JobState
    message: str = ""
    status: int | None = None
    """The exit status of the replica that made it fail."""
    version: int = 0


@dataclass(frozen=True, slots=True)
class Listed:
    """All jobs that are not over have been told since the watch began."""


class Jobs(Protocol):
    """The port to jobs."""

    async def create(self, owner: str, launches: Sequence[Task]) -> Sequence[JobView | Problem]:
        """Creates jobs of a user, or finds those that there are; a problem for each that cannot be."""

    async def stop(self, owner: str, id_: str) -> None:
        """Stops a job. Raises JobNotFound."""

    async def get(self, id_: str) -> JobView:
        """A job. Raises JobNotFound."""

    def watch(self) -> AsyncIterator[JobView | Listed]:
        """Jobs that are not over, then `Listed`, then each job that changes; ends when the stream breaks."""


@dataclass(slots=True)
class JobsExecutor:
    """Fulfils `Executor`."""

    jobs: Jobs
    files: Files
    tell: Tell
    _known: dict[str, tuple[str, str, int]] = field(default_factory=dict)
    """Run, path and attempt of each job that is not over, by its id."""
    _waiting: list[Task] = field(default_factory=list)
    """Jobs that are to be created."""
    _places: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))

    async def carry_out(self, tasks: Sequence[Task]) -> None:
        """Those that other runs want created at the same time are created by the same call."""
        self._waiting += [task for task in tasks if isinstance(task.wanted, Launch)]
        for task in tasks:
            if isinstance(task.wanted, Halt):
                await self._halt(task, task.wanted)
        while self._waiting:
            async with self._places:
                batch, self._waiting = self._waiting[:MOST_JOBS], self._waiting[MOST_JOBS:]
                for owner, launches in _by_owner(batch):
                    await self._launch(owner, launches)

    async def watch(self) -> None:
        while True:
            seen: set[str] | None = set()
            try:
                async for told in self.jobs.watch():
                    if isinstance(told, JobView):
                        self._see(told)
                        if seen is not None:
                            seen.add(told.id)
                    elif seen is not None:
                        await self._look_up(set(self._known) - seen)
                        seen = None
            except Problem as problem:
                logger.warning("jobs cannot be watched", extra={"detail": problem.message})
            await asyncio.sleep(1.0)

    async def _look_up(self, ids: set[str]) -> None:
        """Sees jobs that were over before the watch began."""
        for id_ in sorted(ids):
            try:
                self._see(await self.jobs.get(id_))
            except LASTING as problem:
                self._end(id_, JobState.FAILED, f"the job is gone: {problem.message}")

    async def _launch(self, owner: str, launches: Sequence[Task]) -> None:
        ready = [task for task in launches if await self._is_prepared(task)]
        for task in ready:
            node = _node(task)
            self._known[node.job] = (task.run.id, node.path, node.attempt)
        if not ready:
            return
        try:
            made = await again("create jobs", lambda: self.jobs.create(owner, ready))
        except LASTING as problem:
            made = [problem] * len(ready)
        for task, told in zip(ready, made, strict=True):
            self._created(task, told)

    def _created(self, task: Task, told: JobView | Problem) -> None:
        if isinstance(told, JobView):
            self._see(told)
        elif isinstance(told, OwnerEpochConflict):
            # Another instance drives the run by now, and will tell.
            self._known.pop(_node(task).job, None)
        else:
            self._end(_node(task).job, JobState.FAILED, f"its job was not accepted: {told.message}")

    async def _is_prepared(self, task: Task) -> bool:
        """Makes room for output artifacts; if that cannot be, the step fails."""
        node = _node(task)
        paths = [*node.work.outputs.values(), *task.extra_paths]
        problem = await self._prepare(task, paths) if paths else ""
        if problem:
            message = f"there is no room for its artifacts: {problem}"
            self.tell(task.run.id, JobSeen(node.path, node.attempt, JobState.FAILED, message))
        return not problem

    async def _prepare(self, task: Task, paths: Sequence[str]) -> str:
        """Why it cannot be; empty if it is done."""
        ask, left = Ask(task.run.owner, task.run.order.filesystem_id), list(paths)
        while left:
            try:
                done = await again("prepare artifacts", lambda: self.files.prepare(ask, left))
            except LASTING as problem:
                return problem.message
            for told in done:
                if isinstance(told, Fault):
                    return told.problem.message
            left = [path for path, told in zip(left, done, strict=True) if isinstance(told, Pending)]
        return ""

    async def _halt(self, task: Task, wanted: Halt) -> None:
        self._known[wanted.job] = (task.run.id, wanted.path, wanted.attempt)
        try:
            await again("stop a job", lambda: self.jobs.stop(task.run.owner, wanted.job))
            self._see(await again("look at a job", lambda: self.jobs.get(wanted.job)))
        except LASTING:
            self._end(wanted.job, JobState.TERMINATED, "")

    def _see(self, job: JobView) -> None:
        known = self._known.get(job.id)
        if known is None:
            return
        run, path, attempt = known
        self.tell(run, JobSeen(path, attempt, job.state, job.message, job.status))
        if job.state not in (JobState.PENDING, JobState.RUNNING):
            del self._known[job.id]

    def _end(self, id_: str, state: JobState, message: str) -> None:
        self._see(JobView(id_, state, message))


def _node(task: Task):  # type: ignore[no-untyped-def]
    raise NotImplementedError


def _by_owner(tasks: Sequence[Task]) -> Iterator[tuple[str, Sequence[Task]]]:
    found: dict[str, list[Task]] = defaultdict(list)
    for task in tasks:
        found[task.run.owner].append(task)
    yield from found.items()
