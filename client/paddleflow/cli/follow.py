"""Changes of queues, told as they come."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

import click

from paddleflow.cli.output import Printer
from paddleflow.cli.queue_tables import queue_details, queue_summary
from paddleflow.cli.table import Cell, Form, Table, as_text, as_yaml
from paddleflow.models.queues import OrderPolicy, PreemptionPolicy, Queue, QueueFilter
from paddleflow.models.watches import Bookmark, Change, ChangeKind, Reset, WatchItem
from paddleflow.quantity import format_resources

_AMOUNTS = ("min", "max", "lend_limit", "max_per_user")
_PLAIN = (
    "parent",
    "state",
    "weight",
    "priority",
    "preemption_policy",
    "order_policy",
    "max_jobs",
    "max_jobs_per_user",
)
# What a queue is like of which nothing is said.
_USUAL = Queue(
    "",
    weight=100,
    preemption_policy=PreemptionPolicy.RECLAIM_AND_PRIORITY,
    order_policy=OrderPolicy.BEST_EFFORT,
)
_COLOURS: Mapping[str, str] = {ChangeKind.CREATED: "green", ChangeKind.UPDATED: "yellow", ChangeKind.DELETED: "red"}


LEFT = "left"
"""The event of a queue that changed so that it is no longer one of those chosen."""


def follow(
    items: Iterable[WatchItem[Queue]], chosen: Callable[[Queue], bool], names: Iterable[str], printer: Printer
) -> None:
    """Prints the changes of the chosen queues until the watch ends; says once which of the names do not exist yet."""
    known: dict[str, Queue] = {}
    missing = list(names)
    for item in items:
        match item:
            case Reset():
                known.clear()
                click.echo("the server told to start over: all queues follow anew", err=True)
            case Change(kind, queue) if chosen(queue):
                printer.line(_told(str(kind), queue, known.get(queue.name), printer))
                known[queue.name] = queue
                if kind is ChangeKind.DELETED:
                    del known[queue.name]
            case Change(_, queue) if queue.name in known:
                printer.line(_told(LEFT, queue, known.pop(queue.name), printer))
            case Bookmark(_, caught_up=True):
                for name in missing:
                    if name not in known:
                        click.echo(f"there is no queue {name} yet that you may see", err=True)
                missing.clear()


def matches(queue: Queue, chosen: QueueFilter) -> bool:
    """True if the server would list the queue under this filter."""
    named = (("cluster", queue.cluster), ("namespace", queue.namespace), ("parent", queue.parent))
    states = chosen.get("states", ())
    return (
        all(chosen.get(field) in (None, "", value) for field, value in named)
        and (not states or queue.state in states)
        and queue.name.startswith(chosen.get("name_prefix", ""))
        and chosen.get("labels", {}).items() <= queue.labels.items()
    )


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing about a queue that is not as it was."""

    what: str
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.what} {self.old or '-'} -> {self.new or '-'}"


def differences(before: Queue, after: Queue) -> Iterator[Difference]:
    """What changed, field by field; derived ceilings are left out."""
    for field in _PLAIN:
        old, new = str(getattr(before, field)), str(getattr(after, field))
        if old != new:
            yield Difference(_words(field), old, new)
    for field in _AMOUNTS:
        yield from _differing(_words(field), _written(before, field), _written(after, field))
    yield from _differing("label", before.labels, after.labels)


def _differing(what: str, before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[Difference]:
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name, ""), after.get(name, "")
        if old != new:
            yield Difference(f"{what} {name}", old, new)


def _written(queue: Queue, field: str) -> dict[str, str]:
    return format_resources(getattr(queue, field))


def _told(event: str, queue: Queue, before: Queue | None, printer: Printer) -> str:
    match printer.form:
        case Form.JSON:
            return json.dumps(_object(event, queue), ensure_ascii=False)
        case Form.YAML:
            return as_yaml(Table(list(_object(event, queue)), [list(_object(event, queue).values())]))
        case Form.TEXT:
            return as_text(Table(["kind", "name", "what"], [[event, queue.name, _what(event, queue, before)]]))
        case Form.TABLE:
            clock = datetime.now().astimezone().strftime("%H:%M:%S")
            kind = click.style(f"{event:<8}", fg=_COLOURS.get(event))
            return f"{clock}  {kind}  {queue.name}  {_what(event, queue, before)}".rstrip()


def _object(event: str, queue: Queue) -> dict[str, Cell]:
    """The change for programs: what happened, and all that `queue show` tells."""
    [summary], [details] = queue_summary(queue).objects(), queue_details(queue).objects()
    return {"event": event, **summary, **details}


def _what(event: str, queue: Queue, before: Queue | None) -> str:
    if event == ChangeKind.DELETED:
        return ""
    if before is None:
        return ", ".join(f"{each.what} {each.new}" for each in differences(_USUAL, queue))
    return ", ".join(str(each) for each in differences(before, queue))


def _words(field: str) -> str:
    return field.replace("_", " ")
