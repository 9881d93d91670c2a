"""What views of runs need from elsewhere."""

from __future__ import annotations

from typing import Protocol

from pf_pipeline.engine.executors.jobs import JobView


class Jobs(Protocol):
    """The port to jobs."""

    async def get(self, id_: str) -> JobView:
        """Where a job stands. Raises JobNotFound, Unavailable and DeadlineExceeded."""
