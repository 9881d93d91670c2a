"""Runs nothing: each step succeeds at once. To try documents out, and to measure what driving runs costs by itself."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from pf_pipeline.engine.core.happening import JobSeen, JobState, Launch
from pf_pipeline.engine.ports import Task, Tell


class NothingExecutor:
    """Fulfils `Executor`."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell

    async def carry_out(self, tasks: Sequence[Task]) -> None:
        for task in tasks:
            wanted = task.wanted
            if isinstance(wanted, Launch):
                seen = JobSeen(wanted.node.path, wanted.node.attempt, JobState.SUCCEEDED)
            else:
                seen = JobSeen(wanted.path, wanted.attempt, JobState.TERMINATED)
            self._tell(task.run.id, seen)

    async def watch(self) -> None:
        await asyncio.Event().wait()
