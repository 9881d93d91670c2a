"""Runs steps as jobs of the job service, one for each try."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from paddleflow.problems import Aborted, FailedPrecondition, JobNotFound, OwnerEpochConflict, Problem
from pf_pipeline.artifacts.ports import Ask, Fault, Files, Pending
from pf_pipeline.engine.core.happening import JobSeen, JobState
from pf_pipeline.engine.ports import End, Start, Tell
from pf_pipeline.engine.trying import AGAIN_SECONDS, LASTING, again
from pf_pipeline.owners import Owner
from pf_pipeline.runs.domain import Run

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


@dataclass(frozen=True, slots=True)
class Listed:
    """All jobs that are not over have been told since the watch began."""


@dataclass(frozen=True, slots=True)
class Known:
    """Which try of which step a job is."""

    run: str
    path: str
    attempt: int
    status_matters: bool = False
    """Whether it is tried again depends on its exit status."""


class Jobs(Protocol):
    """The port to jobs."""

    async def create(self, owner: Owner, steps: Sequence[Start]) -> Sequence[JobView | Problem]:
        """Creates jobs of a user, or finds those that there are; a problem for each that cannot be, such as
        UserNotFound if the user is there no more, and only another one of its name may be.
        """

    async def stop(self, step: End) -> None:
        """Stops a job; whoever drove its run before can make it no more. Raises JobNotFound, and OwnerEpochConflict if
        another one drives the run by now.
        """

    async def get(self, id_: str) -> JobView:
        """A job. Raises JobNotFound."""

    async def exit_status(self, id_: str) -> int | None:
        """The exit status of the replica that made a job fail; None if it had none."""

    def watch(self) -> AsyncIterator[JobView | Listed]:
        """Jobs that are not over, then `Listed`, then each job that changes; ends when the stream breaks."""


@dataclass(slots=True)
class JobsExecutor:
    """Fulfils `Executor`."""

    jobs: Jobs
    files: Files
    tell: Tell
    leads: Callable[[], bool]
    """Whether this instance still drives runs, by its own clock."""
    _known: dict[str, Known] = field(default_factory=dict)
    """Jobs that are not over, by their ids."""
    _waiting: list[Start] = field(default_factory=list)
    """Steps whose jobs are to be created."""
    _begun: dict[str, asyncio.Event] = field(default_factory=dict)
    """Jobs that are about to be created, and what tells that this is over."""
    _unwanted: set[str] = field(default_factory=set)
    """Those among them that are to end before they have begun."""
    _places: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))

    async def start(self, steps: Sequence[Start]) -> None:
        """What several runs want at the same time is done by the same calls."""
        fresh = [step for step in steps if step.launch.node.job not in self._begun]
        for step in fresh:
            node, retry = step.launch.node, step.launch.planned.retry
            self._known[node.job] = Known(step.run.id, node.path, node.attempt, bool(retry and retry.not_on))
            self._begun[node.job] = asyncio.Event()
        for at in range(0, len(fresh), MOST_JOBS):
            await asyncio.gather(*map(self._get_ready, fresh[at : at + MOST_JOBS]))
            await self._create_waiting()

    async def _create_waiting(self) -> None:
        while self._waiting:
            async with self._places:
                batch, self._waiting = self._waiting[:MOST_JOBS], self._waiting[MOST_JOBS:]
                for owner, found in _by_owner(batch):
                    await self._create(owner, found)

    async def _get_ready(self, step: Start) -> None:
        """Whoever has a job already keeps it, with all that it has written."""
        job, written = step.launch.node.job, _written(step)
        is_there = bool(written) and step.launch.resumed and await self._is_there(job)
        if not is_there and job not in self._unwanted and await self._is_prepared(step, written):
            self._waiting.append(step)
        else:
            self._over(job)

    async def _is_there(self, id_: str) -> bool:
        try:
            await self._see(await again("look at a job", lambda: self.jobs.get(id_)))
        except JobNotFound:
            return False
        return True

    def _over(self, id_: str) -> None:
        """The job has been created, or never will be."""
        self._unwanted.discard(id_)
        self._begun.pop(id_).set()

    async def end(self, steps: Sequence[End]) -> None:
        for at in range(0, len(steps), MOST_JOBS):
            await asyncio.gather(*map(self._stop, steps[at : at + MOST_JOBS]))

    async def watch(self) -> None:
        while True:
            seen: set[str] | None = set()
            try:
                async for told in self.jobs.watch():
                    if isinstance(told, JobView):
                        await self._see(told)
                        if seen is not None:
                            seen.add(told.id)
                    elif seen is not None:
                        await self._look_up(set(self._known) - seen)
                        seen = None
            except Problem as problem:
                logger.warning("jobs cannot be watched", extra={"detail": problem.message})
            await asyncio.sleep(AGAIN_SECONDS)

    async def _look_up(self, ids: set[str]) -> None:
        """Sees jobs that were over before the watch began, or have not been created yet."""
        for id_ in sorted(ids):
            with suppress(JobNotFound):
                await self._see(await self.jobs.get(id_))

    async def _create(self, owner: Owner, found: Sequence[Start]) -> None:
        steps = [step for step in found if step.launch.node.job not in self._unwanted]
        made: Sequence[JobView | Problem]
        try:
            made = await again("create jobs", lambda: self.jobs.create(owner, steps)) if steps else []
        except LASTING as problem:
            made = [problem] * len(steps)
        for step, told in zip(steps, made, strict=True):
            await self._created(step.launch.node.job, told)
        for step in found:
            self._over(step.launch.node.job)

    async def _created(self, id_: str, told: JobView | Problem) -> None:
        if isinstance(told, JobView):
            await self._see(told)
        elif isinstance(told, OwnerEpochConflict):
            # Another instance drives the run by now, and will tell.
            self._known.pop(id_, None)
        else:
            await self._see(JobView(id_, JobState.FAILED, f"its job was not accepted: {told.message}"))

    async def _is_prepared(self, step: Start, written: Sequence[str]) -> bool:
        """Makes room for what a step writes; if that cannot be, the step fails."""
        node = step.launch.node
        problem = await self._prepare(step.run, written)
        if problem:
            message = f"there is no room for what it writes: {problem}"
            self._known.pop(node.job, None)
            self.tell(step.run.id, JobSeen(node.path, node.attempt, JobState.FAILED, message))
        return not problem

    async def _prepare(self, run: Run, paths: Sequence[str]) -> str:
        """Why it cannot be; empty if it is done."""
        ask, left = Ask(run.owner, run.order.filesystem_id, run.owner_since), list(paths)
        while left:
            try:
                done = await again("make room for artifacts", partial(self._make_room, ask, left))
            except LASTING as problem:
                return problem.message
            if fault := next((told for told in done if isinstance(told, Fault)), None):
                return fault.problem.message
            left = [path for path, told in zip(left, done, strict=True) if isinstance(told, Pending)]
        return ""

    async def _make_room(self, ask: Ask, paths: Sequence[str]) -> Sequence[Fault | Pending | None]:
        if not self.leads():
            # It has stood still for so long that another one may have begun the step, which may have written already.
            raise Aborted("another instance drives runs by now")
        return await self.files.prepare(ask, paths)

    async def _stop(self, step: End) -> None:
        halt = step.halt
        if begun := self._begun.get(halt.job):
            # Otherwise it would be created after its end.
            self._unwanted.add(halt.job)
            await begun.wait()
        self._known[halt.job] = Known(step.run.id, halt.path, halt.attempt)
        try:
            with suppress(FailedPrecondition):
                await again("stop a job", lambda: self.jobs.stop(step))
            await self._see(await again("look at a job", lambda: self.jobs.get(halt.job)))
        except OwnerEpochConflict:
            # Another instance drives the run by now, and will tell.
            self._known.pop(halt.job, None)
        except LASTING as problem:
            await self._see(JobView(halt.job, JobState.TERMINATED, problem.message))

    async def _see(self, job: JobView) -> None:
        """Tells where a job stands. Of one that is over nothing more is told."""
        known = self._known.get(job.id)
        if known is None:
            return
        matters = job.state is JobState.FAILED and known.status_matters
        status = await self._exit_status(job.id) if matters else None
        if job.state not in (JobState.PENDING, JobState.RUNNING):
            self._known.pop(job.id, None)
        self.tell(known.run, JobSeen(known.path, known.attempt, job.state, job.message, status))

    async def _exit_status(self, id_: str) -> int | None:
        with suppress(*LASTING):
            return await again("look at a job", lambda: self.jobs.exit_status(id_))
        return None


def _written(step: Start) -> Sequence[str]:
    """Paths of what a step writes."""
    work = step.launch.node.work
    return [*work.outputs.values(), *work.result_files.values()]


def _by_owner(steps: Sequence[Start]) -> Iterator[tuple[Owner, Sequence[Start]]]:
    found: dict[Owner, list[Start]] = defaultdict(list)
    for step in steps:
        found[step.run.whose].append(step)
    yield from found.items()
