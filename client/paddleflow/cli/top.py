"""``paddleflow queue top``: how busy queues are, now and as it changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import click

from paddleflow.cli.completion import complete_cluster, complete_queue
from paddleflow.cli.live import live, repeat, show_lines
from paddleflow.cli.output import Printer
from paddleflow.cli.queue_options import parse_words
from paddleflow.cli.table import Cell, Form, Table
from paddleflow.cli.tree import FINE, PLAIN, Brush, Place, amounts_line, find, legend, ordered, plant
from paddleflow.cli.verbs import Invocation, Verb, pass_invocation
from paddleflow.models.admission import QueueLoad
from paddleflow.models.queues import Queue, QueueState
from paddleflow.quantity import format_resources, round_amount

if TYPE_CHECKING:
    from paddleflow.sync import PaddleFlow

USUAL_WEIGHT = 100
"""The weight at which the share that is shown is just the part that a queue borrows of what it could."""
HEADINGS = [
    "name",
    "parent",
    "cluster name",
    "status",
    "share",
    "waiting",
    "admitted",
    "admissions",
    "evictions",
    "used",
    "leaving",
    "kept",
    "min",
    "max",
]


@dataclass(frozen=True, slots=True)
class Look:
    """How busy queues are at one moment."""

    places: Sequence[Place]
    loads: Mapping[str, QueueLoad]

    def load(self, queue: Queue) -> QueueLoad:
        """Of a queue that admission does not know yet: nothing."""
        return self.loads.get(queue.name, QueueLoad(queue.name))


@click.command("top", cls=Verb)
@click.argument("queuename", required=False, shell_complete=complete_queue)
@click.option("-cn", "--clustername", default="", shell_complete=complete_cluster, help="Only this cluster.")
@click.option("-r", "--resource", default="", help="Only these resources: cpu,memory.")
@live
@pass_invocation
def top(
    invocation: Invocation, queuename: str | None, clustername: str, resource: str, watching: bool, every: float
) -> None:
    """Show how busy the queues are, or QUEUENAME and those below it.

    Of each: its share, which is what it borrows of what it could, for twice the usual weight half of that; how many
    jobs wait and are admitted; how many were admitted and told to leave in the last minute; and what is used.
    """
    paddleflow, printer, names = invocation.paddleflow(), invocation.printer, parse_words(resource)
    repeat(lambda: _show(_look(paddleflow, queuename, clustername), printer, names, watching=watching), watching, every)


def _look(paddleflow: PaddleFlow, name: str | None, cluster: str) -> Look:
    loads = {load.queue: load for load in paddleflow.workloads.loads(cluster=cluster, queue=name or "")}
    queues = [_using(queue, loads.get(queue.name)) for queue in paddleflow.queues.list(cluster=cluster)]
    places = plant(queues)
    return Look(places if name is None else [find(places, paddleflow.queues.get(name))], loads)


def _using(queue: Queue, load: QueueLoad | None) -> Queue:
    return replace(queue, used=load.used) if load else queue


def _show(look: Look, printer: Printer, names: Sequence[str], *, watching: bool) -> None:
    if printer.form is not Form.TABLE:
        printer.table(_table(look))
        return
    lines = _drawn(look, FINE if printer.drawing else PLAIN, names)
    show_lines(lines, printer, watching=watching)


def _drawn(look: Look, brush: Brush, names: Sequence[str]) -> list[str]:
    lines = [line for place in look.places for line in _lines(look, place, brush, names, depth=0)]
    return [*lines, legend(brush)] if lines else ["no queue found"]


def _lines(look: Look, place: Place, brush: Brush, only: Sequence[str], depth: int) -> Iterator[str]:
    queue, load, indent = place.queue, look.load(place.queue), "  " * depth
    state = "" if queue.state is QueueState.OPEN else click.style(f"  {queue.state}", fg="yellow")
    yield f"{indent}{click.style(queue.name, bold=True)}  {_counts(load)}{state}"
    names = [name for name in ordered(queue.effective_max) if not only or name in only]
    column = max(map(len, names), default=0)
    for name in names:
        yield f"{indent}  {name:<{column}}  {amounts_line(queue, name, brush)}{_moving(load, name)}"
    for below in place.below:
        yield from _lines(look, below, brush, only, depth + 1)


def _counts(load: QueueLoad) -> str:
    return (
        f"share {load.share * USUAL_WEIGHT:.0%}  waiting {load.waiting}  admitted {load.admitted}"
        f"  last minute +{load.admissions} -{load.evictions}"
    )


def _moving(load: QueueLoad, name: str) -> str:
    told = (("leaving", load.leaving.get(name, 0)), ("kept", load.kept.get(name, 0)))
    return "".join(f"  {word} {round_amount(name, amount)}" for word, amount in told if amount)


def _table(look: Look) -> Table:
    return Table(HEADINGS, [_row(queue, look.load(queue)) for place in look.places for queue in place.walk()])


def _row(queue: Queue, load: QueueLoad) -> list[Cell]:
    return [
        queue.name,
        queue.parent,
        queue.cluster,
        str(queue.state),
        f"{load.share:.6f}",
        load.waiting,
        load.admitted,
        load.admissions,
        load.evictions,
        format_resources(load.used),
        format_resources(load.leaving),
        format_resources(load.kept),
        format_resources(queue.min),
        format_resources(queue.effective_max),
    ]
