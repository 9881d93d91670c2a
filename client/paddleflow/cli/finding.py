"""What somebody may have meant who named a job that is not there."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from paddleflow.models.jobs import Job
from paddleflow.problems import JobNotFound

if TYPE_CHECKING:
    from paddleflow.sync import PaddleFlow

LOOKED_AT = 500
"""Jobs among which one is looked for, the newest."""
LIKENESS = 0.8
"""Ids that are made by chance are less alike."""


@contextmanager
def suggesting(paddleflow: PaddleFlow, id_: str) -> Iterator[None]:
    """Lets the problem that there is no such job say which ones there are that are called alike."""
    try:
        yield
    except JobNotFound as problem:
        near = nearest(id_, paddleflow.jobs.page(LOOKED_AT).items)
        if not near:
            raise
        raise JobNotFound(f"{problem.message}; did you mean {' or '.join(near)}?") from problem


def nearest(id_: str, jobs: Sequence[Job]) -> list[str]:
    """The ids of the jobs of this name, or those that are spelled alike; at most three."""
    named = [job.id for job in jobs if job.spec.name == id_ != job.id]
    return named[:3] or difflib.get_close_matches(id_, [job.id for job in jobs], n=3, cutoff=LIKENESS)
