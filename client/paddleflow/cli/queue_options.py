"""What options say a queue is to be like."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypedDict, cast

import click

from paddleflow.cli.completion import complete_queue
from paddleflow.cli.parameters import LARGEST_COUNT, amounts
from paddleflow.cli.verbs import F
from paddleflow.models.queues import PreemptionPolicy, Queue, QueueChanges
from paddleflow.original import ISOLATION_KEY, PARENT_KEY, member, read_location, read_policies
from paddleflow.quantity import parse_pairs

_PREEMPTION = [str(policy) for policy in PreemptionPolicy if policy]

_OPTIONS = (
    click.option("--maxscalar", help="Ceiling of other resources: nvidia.com/gpu=8,rdma/hca=2."),
    click.option("--mincpu", help="Guaranteed cores: 10, 500m."),
    click.option("--minmem", help="Guaranteed memory: 10Gi."),
    click.option("--minscalar", help="Guaranteed other resources: nvidia.com/gpu=4."),
    click.option("--lendcpu", help="Of the guaranteed cores, the most that others may borrow while they are idle."),
    click.option("--lendmem", help="The same of memory."),
    click.option("--lendscalar", help="The same of other resources."),
    click.option("--usercpu", help="The most cores one user may have admitted in this queue."),
    click.option("--usermem", help="The same of memory."),
    click.option("--userscalar", help="The same of other resources."),
    click.option("--policy", help="Order of its jobs: best-effort, or strict-fifo. Priority and weight always count."),
    click.option(
        "--location",
        help=f"Labels, as a=1,b=2. Two of them mean more: {PARENT_KEY} is --parent, {ISOLATION_KEY} is the isolation.",
    ),
    click.option("--parent", shell_complete=complete_queue, help="The queue above; '' puts it at the top."),
    click.option(
        "--weight",
        type=click.IntRange(0, LARGEST_COUNT),
        help="Share of borrowed resources relative to its siblings'. Usual: 100.",
    ),
    click.option(
        "--priority",
        type=click.IntRange(-1000, 1000),
        help="Who is served first where shares are equal: -1000 to 1000.",
    ),
    click.option("--preemption", type=click.Choice(_PREEMPTION), help="Whom its jobs may push out so as to start."),
    click.option(
        "--max-jobs", type=click.IntRange(0, LARGEST_COUNT), help="The most jobs admitted at once; 0: no limit."
    ),
    click.option("--max-jobs-per-user", type=click.IntRange(0, LARGEST_COUNT), help="The same for each user."),
)


class QueueOptions(TypedDict):
    """The options of a queue as they were given; None: not given."""

    maxscalar: str | None
    mincpu: str | None
    minmem: str | None
    minscalar: str | None
    lendcpu: str | None
    lendmem: str | None
    lendscalar: str | None
    usercpu: str | None
    usermem: str | None
    userscalar: str | None
    policy: str | None
    location: str | None
    parent: str | None
    weight: int | None
    priority: int | None
    preemption: str | None
    max_jobs: int | None
    max_jobs_per_user: int | None


def queue_options(function: F) -> F:
    """The options that `queue create` and `queue update` share."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def read_changes(maxcpu: str | None, maxmem: str | None, options: QueueOptions) -> QueueChanges:
    """What is given, as changes of a queue."""
    place = read_location(parse_pairs("location", options["location"] or ""))
    fields = {
        "max": amounts("max", maxcpu, maxmem, options["maxscalar"]) or None,
        "min": amounts("min", options["mincpu"], options["minmem"], options["minscalar"]) or None,
        "lend_limit": amounts("lend", options["lendcpu"], options["lendmem"], options["lendscalar"]) or None,
        "max_per_user": amounts("user", options["usercpu"], options["usermem"], options["userscalar"]) or None,
        "order_policy": read_policies(parse_words(options["policy"])),
        "parent": place.parent if options["parent"] is None else options["parent"],
        "labels": {key: value or None for key, value in place.labels.items()} or None,
        "weight": options["weight"],
        "priority": options["priority"],
        "preemption_policy": member(PreemptionPolicy, options["preemption"], "preemption")
        if options["preemption"]
        else None,
        "max_jobs": options["max_jobs"],
        "max_jobs_per_user": options["max_jobs_per_user"],
    }
    return cast("QueueChanges", {name: value for name, value in fields.items() if value is not None})


def changed(queue: Queue, changes: QueueChanges) -> Queue:
    """The queue after the changes; where they name entries of a mapping, it has those that are not taken away."""
    fields: dict[str, Any] = {
        name: {key: each for key, each in value.items() if each is not None} if isinstance(value, Mapping) else value
        for name, value in changes.items()
    }
    return replace(queue, **fields)


def parse_words(text: str | None) -> list[str]:
    return [word.strip() for word in (text or "").split(",") if word.strip()]
