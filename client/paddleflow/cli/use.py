"""What queues use, which admission knows and the quota tree does not."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from paddleflow.models.queues import Queue
from paddleflow.problems import Internal, Unavailable

if TYPE_CHECKING:
    from paddleflow.sync import PaddleFlow


def with_use(paddleflow: PaddleFlow, queues: Iterable[Queue], cluster: str) -> list[Queue]:
    """The queues of a cluster (empty: of all) with what they use; as they are, if the server cannot tell.

    A server that is older answers that it has a fault, and one that has no leader is not to be had; the queues
    themselves can be shown all the same.
    """
    try:
        used = {load.queue: load.used for load in paddleflow.workloads.loads(cluster=cluster)}
    except (Internal, Unavailable) as problem:
        click.echo(f"what is used is not known: {problem.message}", err=True)
        return list(queues)
    return [replace(queue, used=used.get(queue.name, queue.used)) for queue in queues]
