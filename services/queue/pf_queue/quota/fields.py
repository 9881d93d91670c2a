"""What the fields of a queue may hold, each looked at by itself."""

from __future__ import annotations

from collections.abc import Iterator

from paddleflow.problems import Violation
from pf_kit.fields import dns_label, within
from pf_queue.fields import amounts, labels
from pf_queue.quota.domain import RESERVED_NAME, Queue

MOST_JOBS = 1_000_000
WEIGHTS = (1, 1_000_000)
PRIORITIES = (-1_000, 1_000)


def queue_violations(queue: Queue) -> Iterator[Violation]:
    """What is wrong with the fields of a queue."""
    yield from _name_violations(queue.name)
    yield from dns_label("queue.namespace", queue.namespace)
    if queue.parent:
        yield from dns_label("queue.parent", queue.parent)
    for field in ("min", "max", "lend_limit", "max_per_user"):
        yield from amounts(f"queue.{field}", getattr(queue, field))
    yield from within("queue.weight", queue.weight, *WEIGHTS)
    yield from within("queue.priority", queue.priority, *PRIORITIES)
    yield from within("queue.max_jobs", queue.max_jobs, 0, MOST_JOBS)
    yield from within("queue.max_jobs_per_user", queue.max_jobs_per_user, 0, MOST_JOBS)
    yield from labels("queue.labels", queue.labels)


def _name_violations(name: str) -> Iterator[Violation]:
    if name == RESERVED_NAME:
        yield Violation("queue.name", f"{RESERVED_NAME!r} is reserved; choose another name")
    else:
        yield from dns_label("queue.name", name)
