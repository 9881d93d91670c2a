"""Changes of queues, told as they come."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime

import click

from paddleflow.cli.output import Printer
from paddleflow.cli.queue_tables import queue_details, queue_summary
from paddleflow.cli.table import Cell, Form, Table, as_text, as_yaml
from paddleflow.models.queues import Queue, QueueFilter
from paddleflow.models.watches import Change, ChangeKind, Reset, WatchItem
from paddleflow.quantity import format_amount

_AMOUNTS = ("min", "max", "lend_limit", "max_per_user", "used")
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
_COLOURS = {ChangeKind.CREATED: "green", ChangeKind.UPDATED: "yellow", ChangeKind.DELETED: "red"}


def follow(items: Iterable[WatchItem[Queue]], chosen: Callable[[Queue], bool], printer: Printer) -> None:
    """Prints the changes of the chosen queues until the watch ends."""
    known: dict[str, Queue] = {}
    for item in items:
        match item:
            case Reset():
                known.clear()
                click.echo("the server told to start over: all queues follow anew", err=True)
            case Change(kind, queue) if chosen(queue):
                printer.line(_told(item, known.get(queue.name), printer))
                known[queue.name] = queue
                if kind is ChangeKind.DELETED:
                    del known[queue.name]


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


def differences(before: Queue, after: Queue) -> Iterator[str]:
    """What changed, field by field; derived ceilings are left out."""
    for field in _PLAIN:
        old, new = getattr(before, field), getattr(after, field)
        if old != new:
            yield f"{_words(field)} {_shown(old)} -> {_shown(new)}"
    for field in _AMOUNTS:
        yield from _differing(_words(field), getattr(before, field), getattr(after, field), format_amount)
    yield from _differing("label", before.labels, after.labels, lambda _, value: str(value))


def _differing(
    what: str, before: Mapping[str, object], after: Mapping[str, object], write: Callable[[str, int], str]
) -> Iterator[str]:
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) != after.get(name):
            old, new = (write(name, side[name]) if name in side else "-" for side in (before, after))  # type: ignore[arg-type]
            yield f"{what} {name} {old} -> {new}"


def _told(change: Change[Queue], before: Queue | None, printer: Printer) -> str:
    match printer.form:
        case Form.JSON:
            return json.dumps(_object(change), ensure_ascii=False)
        case Form.YAML:
            return as_yaml(Table(list(_object(change)), [list(_object(change).values())]))
        case Form.TEXT:
            return as_text(
                Table(["kind", "name", "what"], [[str(change.kind), change.value.name, _what(change, before)]])
            )
        case Form.TABLE:
            clock = datetime.now().astimezone().strftime("%H:%M:%S")
            kind = click.style(f"{change.kind:<8}", fg=_COLOURS.get(change.kind))
            return f"{clock}  {kind}  {change.value.name}  {_what(change, before)}".rstrip()


def _object(change: Change[Queue]) -> dict[str, Cell]:
    """The change for programs: what happened, and all that `queue show` tells."""
    [summary], [details] = queue_summary(change.value).objects(), queue_details(change.value).objects()
    return {"event": str(change.kind), **summary, **details}


def _what(change: Change[Queue], before: Queue | None) -> str:
    if change.kind is ChangeKind.DELETED:
        return ""
    blank = Queue(name=change.value.name)
    return ", ".join(differences(blank if before is None else before, change.value))


def _words(field: str) -> str:
    return field.replace("_", " ")


def _shown(value: object) -> str:
    return str(value) or "-"
