"""Runs nothing: each step succeeds at once. To try documents out, and to measure what driving runs costs by itself."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from pf_pipeline.engine.core.happening import JobSeen, JobState
from pf_pipeline.engine.ports import End, Start, Tell


class NothingExecutor:
    """Fulfils `Executor`."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell

    async def start(self, steps: Sequence[Start]) -> None:
        for step in steps:
            node = step.launch.node
            self._tell(step.run.id, JobSeen(node.path, node.attempt, JobState.SUCCEEDED))

    async def end(self, steps: Sequence[End]) -> None:
        for step in steps:
            self._tell(step.run.id, JobSeen(step.halt.path, step.halt.attempt, JobState.TERMINATED))

    async def watch(self) -> None:
        await asyncio.Event().wait()
