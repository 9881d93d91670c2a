"""The quota tree, drawn: each queue with a bar for each resource, from nothing to its ceiling."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import click

from paddleflow.models.clusters import Cluster
from paddleflow.models.queues import Queue, QueueState
from paddleflow.quantity import CPU, MEMORY, round_amount

BAR = 24


@dataclass(frozen=True, slots=True)
class Brush:
    """The characters to draw with."""

    branch: str
    last_branch: str
    trunk: str
    used: str
    borrowed: str
    guaranteed: str
    free: str


FINE = Brush("├─ ", "└─ ", "│  ", "█", "▓", "░", "·")
PLAIN = Brush("|- ", "`- ", "|  ", "#", "+", "-", ".")


@dataclass(frozen=True, slots=True)
class Place:
    """A queue and the queues below it."""

    queue: Queue
    below: Sequence[Place]

    def walk(self) -> Iterator[Queue]:
        """The queue, then those below, each before its own."""
        yield self.queue
        for place in self.below:
            yield from place.walk()


def plant(queues: Iterable[Queue]) -> list[Place]:
    """The trees that the queues form; one whose parent is not among them stands at the top."""
    known = {queue.name: queue for queue in queues}
    children: dict[str, list[Queue]] = {name: [] for name in ("", *known)}
    for queue in sorted(known.values(), key=lambda each: each.name):
        children[queue.parent if queue.parent in known else ""].append(queue)

    def grow(name: str) -> list[Place]:
        return [Place(queue, grow(queue.name)) for queue in children[name]]

    return grow("")


def find(places: Sequence[Place], queue: Queue) -> Place:
    """The queue's place, or, if it stands in none of these trees, a place by itself."""
    for place in places:
        if place.queue.name == queue.name:
            return place
    inner = [each for place in places for each in place.below]
    return find(inner, queue) if inner else Place(queue, [])


def draw_cluster(
    name: str, cluster: Cluster | None, places: Sequence[Place], brush: Brush, only: Sequence[str]
) -> list[str]:
    """The lines of one cluster and its trees."""
    lines = [f"{click.style(name, bold=True)}{_machines(cluster)}"]
    for place in places:
        lines.extend(_draw(place, "", place is places[-1], brush, only))
    return lines


def legend(brush: Brush) -> str:
    return (
        f"{_styled(brush.used, 'green')} used   {_styled(brush.borrowed, 'yellow')} borrowed   "
        f"{brush.guaranteed} guaranteed, idle   {brush.free} up to max"
    )


def bar(used: int, least: int, most: int, brush: Brush, width: int = BAR) -> str:
    """The bar of one resource; its right end is the ceiling."""
    # However small, use is shown.
    taken = max(_cells(used, most, width), min(used, 1))
    owned = max(_cells(least, most, width), taken if used <= least else 0)
    parts = (
        _styled(brush.used * min(taken, owned), "green"),
        _styled(brush.borrowed * max(0, taken - owned), "yellow"),
        brush.guaranteed * max(0, owned - taken),
    )
    return "".join(parts) + brush.free * (width - max(taken, owned))


def _cells(amount: int, most: int, width: int) -> int:
    """How much of a bar the amount fills; all of it, if it is above the ceiling."""
    if amount >= most:
        return width if amount else 0
    return (2 * amount * width + most) // (2 * most)


def _machines(cluster: Cluster | None) -> str:
    if cluster is None:
        return ""
    if not cluster.node_count:
        return "  no machines reported"
    amounts = ", ".join(f"{name} {round_amount(name, cluster.capacity[name])}" for name in ordered(cluster.capacity))
    warning = click.style("  more is guaranteed than there is", fg="red") if cluster.overcommitted else ""
    return f"  {cluster.node_count} machine{'s' if cluster.node_count > 1 else ''}: {amounts or 'nothing'}{warning}"


def _draw(place: Place, indent: str, last: bool, brush: Brush, only: Sequence[str]) -> Iterator[str]:
    queue = place.queue
    yield f"{indent}{brush.last_branch if last else brush.branch}{click.style(queue.name, bold=True)}{_remarks(queue)}"
    inner = indent + (" " * len(brush.trunk) if last else brush.trunk)
    stem = brush.trunk if place.below else " " * len(brush.trunk)
    names = [name for name in ordered(queue.effective_max) if not only or name in only]
    column = max((len(name) for name in names), default=0)
    for name in names:
        yield f"{inner}{stem}{name:<{column}}  {amounts_line(queue, name, brush)}"
    for each in place.below:
        yield from _draw(each, inner, each is place.below[-1], brush, only)


def _remarks(queue: Queue) -> str:
    state = "" if queue.state is QueueState.OPEN else click.style(f"  {queue.state}", fg="yellow")
    weight = f"  weight {queue.weight}" if queue.weight else ""
    priority = f"  priority {queue.priority}" if queue.priority else ""
    return f"{weight}{priority}{state}"


def amounts_line(queue: Queue, name: str, brush: Brush) -> str:
    """The bar of a resource of a queue, and its numbers."""
    used, least, most = (queue.used or {}).get(name, 0), queue.min.get(name, 0), queue.effective_max[name]
    told = [f"{word} {round_amount(name, value):<6}" for word, value in (("used", used), ("min", least), ("max", most))]
    if queue.used is None:
        told[0] = f"used {'?':<6}"
    return f"[{bar(used, least, most, brush)}] {' '.join(told)}".rstrip()


def ordered(names: Iterable[str]) -> list[str]:
    """Resources as people expect them: cpu and memory first."""
    rank = {CPU: 0, MEMORY: 1}
    return sorted(names, key=lambda name: (rank.get(name, 2), name))


def _styled(text: str, colour: str) -> str:
    return click.style(text, fg=colour) if text else ""
