"""What the instance that leads does by itself: it takes each job further, and hears of what happens elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any

from paddleflow.problems import Problem, Unavailable
from pf_job.driving import steps
from pf_job.driving.book import BATCH, Book
from pf_job.driving.gathering import gathered
from pf_job.driving.growing import fall_due
from pf_job.driving.halting import Halting
from pf_job.driving.hearing import compare
from pf_job.driving.launching import Launching, Preparation
from pf_job.driving.leaving import Leaving
from pf_job.driving.machines import MachineReports
from pf_job.driving.ports import Admission
from pf_job.driving.running import RunningReports
from pf_job.driving.seeing import see
from pf_job.driving.trying import Step, Trying
from pf_job.jobs.domain import ENDED, Job, Task
from pf_job.jobs.life import Life
from pf_job.jobs.ports import Users
from pf_job.jobs.states import Stage
from pf_job.jobs.store import JobStore
from pf_job.runtimes.port import Phase, ReplicaKey, Runtime, Sighting
from pf_kit.clock import Clock

AGAIN_SECONDS = 1.0
"""Until a runtime that has ended its answer is asked again."""
LATE_SECONDS = 1.0
"""Between two looks for limits of time that are over, and for jobs that may grow."""
EXPIRED_SECONDS = 10.0
"""Between two looks for jobs that need not be kept, and for what is left of them."""
LEFT_SECONDS = 600.0
"""Until a runtime forgets the replicas of a job that is forgotten. A start that is on its way must find that there was
one before; after this time none is."""
MACHINES_SECONDS = 30.0
"""Between two looks at the machines of a cluster."""
WITH_REPLICAS = (Stage.LAUNCH, Stage.WATCH, Stage.PART, Stage.RESIZE, Stage.ENDING)
"""Stages of jobs of which replicas may run."""
TOLD = frozenset({Stage.WATCH, Stage.ENDING})
"""Stages of jobs whose runtime has been told to start, or to end, all that it was to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Driver:
    """Takes jobs further, as long as this instance leads."""

    book: Book
    store: JobStore
    admission: Admission
    runtimes: Mapping[str, Runtime]
    """By cluster."""
    preparation: Preparation
    amiss: asyncio.Event
    """Set when events of the queue service are missing for good."""
    left: asyncio.Event
    """Set when a user was deleted."""
    users: Users
    clock: Clock

    async def run(self, hear: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Drives for ever; `hear` takes in the events of the queue service."""
        self.amiss.set()
        running = RunningReports(self.admission)
        machines = {
            cluster: MachineReports(cluster, runtime, self.admission) for cluster, runtime in self.runtimes.items()
        }
        async with asyncio.TaskGroup() as group:
            group.create_task(hear())
            group.create_task(Trying("report running jobs").keep_on(running.step, running.more))
            comparing = partial(self._compare, list(machines.values()))
            group.create_task(Trying("compare jobs with their queues").keep_on(comparing, self.amiss.wait))
            for cluster, runtime in self.runtimes.items():
                group.create_task(self._watch(cluster, runtime, running))
                pause = partial(asyncio.sleep, MACHINES_SECONDS)
                group.create_task(Trying(f"report the machines of {cluster}").keep_on(machines[cluster].step, pause))
            for what, (step, stages) in self._steps().items():
                group.create_task(Trying(what).keep_on(partial(_while_full, step), self.book.owing.follow(*stages)))
            group.create_task(self.book.listen())
            leaving = Leaving(self.book, self.users, self.left)
            group.create_task(Trying("let go of jobs of users who left").keep_on(leaving.step, leaving.pause))
            late = Trying("look what is due")
            group.create_task(
                late.keep_on(lambda: fall_due(self.book, self.clock.now()), partial(asyncio.sleep, LATE_SECONDS))
            )
            pause = partial(asyncio.sleep, EXPIRED_SECONDS)
            group.create_task(Trying("forget expired jobs").keep_on(self._forget_expired, pause))
            group.create_task(Trying("clear away what is left of jobs").keep_on(self._clear_away, pause))

    def of(self, cluster: str) -> Runtime:
        if cluster not in self.runtimes:
            raise Unavailable(f"the cluster {cluster!r} has no runtime here; connect it, or stop its jobs")
        return self.runtimes[cluster]

    def _steps(self) -> Mapping[str, tuple[Step, Sequence[Stage]]]:
        """What is done for jobs at which stages."""
        launching = Launching(self.book, self.preparation, self, self.clock)
        halting = Halting(self.book, self, self._see, self.clock)
        return {
            "submit jobs": (lambda: steps.submit(self.book, self.admission), [Stage.SUBMIT]),
            "revise jobs": (lambda: steps.revise(self.book, self.admission), [Stage.REVISE]),
            "launch jobs": (launching.step, [Stage.LAUNCH, Stage.RESIZE]),
            "halt jobs": (halting.step, [Stage.HALT, Stage.PART]),
            "give back": (lambda: steps.give_back(self.book, self.admission), [Stage.RELEASE, Stage.RESIZE]),
        }

    async def _compare(self, machines: Sequence[MachineReports]) -> int:
        """Compares jobs with their queues if events are missing; tells how many jobs changed."""
        if not self.amiss.is_set():
            return 0
        self.amiss.clear()
        # The queue service may have been restored from a back-up, and know of machines what it knew then.
        for reports in machines:
            reports.again()
        try:
            return len(await compare(self.book, self.admission))
        except Problem:
            self.amiss.set()
            raise

    async def _watch(self, cluster: str, runtime: Runtime, running: RunningReports) -> None:
        watching = Trying(f"watch {cluster}")
        see_all = partial(self._see_all, cluster, runtime, running, watching.went_well)
        await watching.keep_on(see_all, partial(asyncio.sleep, AGAIN_SECONDS))

    async def _see_all(self, cluster: str, runtime: Runtime, running: RunningReports, well: Callable[[], None]) -> int:
        """Sees what a runtime tells until it tells no more; whom it does not know is lost. Says when it has seen what
        there was at first, and then each time.
        """
        missing = await self._with_replicas(cluster, running)
        listing = True
        async for sightings in gathered(runtime.watch()):
            if not sightings and listing:
                listing = False
                sightings = [Sighting(key=key, phase=Phase.LOST) for key in missing]
            for sighting in sightings:
                missing.pop(sighting.key, None)
            running.note(await self._see(sightings))
            if not listing:
                well()
        return 0

    async def _see(self, sightings: Sequence[Sighting]) -> Sequence[Job]:
        return await see(self.book, self.store, sightings)

    async def _with_replicas(self, cluster: str, running: RunningReports) -> dict[ReplicaKey, None]:
        """The replicas that the runtime of a cluster must know."""
        found: dict[ReplicaKey, None] = {}
        async for jobs in self.book.at(WITH_REPLICAS):
            there = {job.id: job.life for job in jobs if job.life.grant and job.life.grant.cluster == cluster}
            for task in await self.book.tasks(list(there)):
                if _is_known(task, there[task.key.job]):
                    found[task.key] = None
            running.note(jobs)
        return found

    async def _forget_expired(self) -> int:
        jobs = await self.book.expired()
        if jobs:
            await self.book.forget(jobs)
        return len(jobs)

    async def _clear_away(self) -> int:
        """Has runtimes forget the replicas of jobs that are forgotten; tells how many."""
        keys = await self.book.leftovers(timedelta(seconds=LEFT_SECONDS))
        if keys:
            for runtime in self.runtimes.values():
                await runtime.forget(keys)
                await runtime.drop_logs(keys)
            await self.book.clear(keys)
        return len(keys)


async def _while_full(step: Step) -> int:
    """How much a step got done, if there may be more than it took; of what comes later it is told."""
    done = await step()
    return done if done >= BATCH else 0


def _is_known(task: Task, life: Life) -> bool:
    """True of a replica that the runtime must know of: it has begun, or its start has been told for sure."""
    there = task.state not in ENDED and task.key.attempt == life.attempt
    return there and (life.stage in TOLD or task.start_time is not None)
