"""Measures what jobs have used, by what their runtimes have seen."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress

from paddleflow.problems import NotFound
from pf_job.jobs.domain import Job, Task
from pf_job.runtimes.port import Runtime, Usage
from pf_job.specs.domain import CPU, GPU, MEMORY
from pf_job.statistics.curves import Grid, Metric, curves
from pf_job.statistics.domain import Metered, Window, summary

AT_ONCE = 8
"""Replicas whose use is read at the same time: that of each may be a few hundred KiB."""
ASKED: Mapping[Metric, tuple[str, int]] = {
    Metric.CPU: (CPU, 1_000),
    Metric.MEMORY: (MEMORY, 1),
    Metric.ACCELERATOR: (GPU, 1),
}
"""The resource that is asked for when something is to be used, and how much of it makes one."""


class Meters:
    """What the runtimes of the clusters have seen."""

    def __init__(self, runtimes: Mapping[str, Runtime]) -> None:
        self._runtimes = runtimes

    async def metered(self, job: Job, tasks: Sequence[Task], window: Window, grid: Grid) -> Sequence[Metered]:
        """What replicas of a job have used, with the means in each step of a grid. Who never began is left out."""
        turns = asyncio.Semaphore(AT_ONCE)

        async def measure(task: Task) -> Metered | None:
            async with turns:
                usage = await self._usage(task)
                return await asyncio.to_thread(_metered, job, task, usage, window, grid) if usage else None

        found = await asyncio.gather(*(measure(task) for task in tasks if task.start_time is not None))
        return [each for each in found if each is not None]

    async def _usage(self, task: Task) -> Usage | None:
        """None if no runtime knows it any more."""
        for runtime in self._runtimes.values():
            with suppress(NotFound):
                return await runtime.usage(task.key)
        return None


def _metered(job: Job, task: Task, usage: Usage, window: Window, grid: Grid) -> Metered:
    found = curves(usage.samples)
    summaries = {metric: summary(curve, window, asked(job, task, metric)) for metric, curve in found.items()}
    known = {metric: each for metric, each in summaries.items() if each is not None}
    return Metered(task.key, known, {metric: found[metric].means(grid) for metric in known}, usage.notes)


def asked(job: Job, task: Task, metric: Metric) -> float | None:
    """What a replica asks for of something; None if it asks for nothing."""
    member = next((each for each in job.spec.crew if each.role == task.key.role), None)
    if member is None or metric not in ASKED:
        return None
    resource, unit = ASKED[metric]
    amount = member.work.flavour.amounts.get(resource, 0)
    return amount / unit if amount else None
