"""Queues as tables."""

from __future__ import annotations

from collections.abc import Iterable

from paddleflow.cli.table import Cell, Table
from paddleflow.models.queues import Queue
from paddleflow.original import idle, original_location, original_policies, original_resources, original_time
from paddleflow.quantity import format_resources

LIST_HEADINGS = ["name", "namespace", "status", "cluster name", "create time", "update time"]
TREE_HEADINGS = ["name", "parent", "cluster name", "status", "weight", "min", "max", "used"]


def queue_list(queues: Iterable[Queue]) -> Table:
    return Table(
        LIST_HEADINGS,
        [
            [
                queue.name,
                queue.namespace,
                str(queue.state),
                queue.cluster,
                original_time(queue.create_time),
                original_time(queue.update_time),
            ]
            for queue in queues
        ],
    )


def queue_summary(queue: Queue) -> Table:
    fields: dict[str, Cell] = {
        "name": queue.name,
        "namespace": queue.namespace,
        "status": str(queue.state),
        "quota type": str(queue.quota_type),
        "cluster name": queue.cluster,
        "create time": original_time(queue.create_time),
        "update time": original_time(queue.update_time),
    }
    return _single(fields)


def queue_details(queue: Queue) -> Table:
    """What applies to the queue: its ceilings are those after inheritance."""
    fields: dict[str, Cell] = {
        "max resources": original_resources(queue.effective_max),
        "min resources": original_resources(queue.min),
        "used resources": original_resources(queue.used),
        "idle resources": original_resources(idle(queue)),
        "scheduling policy": original_policies(queue),
        "location": original_location(queue),
        "parent": queue.parent,
        "own max": format_resources(queue.max),
        "lend limit": format_resources(queue.lend_limit),
        "weight": queue.weight,
        "priority": queue.priority,
        "preemption": str(queue.preemption_policy),
        "max jobs": queue.max_jobs,
        "max per user": format_resources(queue.max_per_user),
        "max jobs per user": queue.max_jobs_per_user,
        "labels": dict(queue.labels),
        "etag": queue.etag,
    }
    return _single(fields)


def queue_tree(queues: Iterable[Queue]) -> Table:
    """The queues in the order of a drawn tree, for programs."""
    return Table(
        TREE_HEADINGS,
        [
            [
                queue.name,
                queue.parent,
                queue.cluster,
                str(queue.state),
                queue.weight,
                format_resources(queue.min),
                format_resources(queue.effective_max),
                None if queue.used is None else format_resources(queue.used),
            ]
            for queue in queues
        ],
    )


def _single(fields: dict[str, Cell]) -> Table:
    return Table(list(fields), [list(fields.values())])
