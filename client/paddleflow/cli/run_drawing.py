"""A run drawn as text: its graph, and where each node stands."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import click

from paddleflow.cli.lanes import NODE, Row, drawn
from paddleflow.cli.node_words import COLOURS, duration, remark
from paddleflow.cli.table import width
from paddleflow.models.nodes import NodeKind, NodeState, RunNode
from paddleflow.models.runs import Run, RunState

MOST_LINES = 200
"""Of a drawing."""
MOST_ITERATIONS = 10
"""Of a loop; those that stand worst come first."""
LAST = (NodeKind.POST_PROCESS, NodeKind.EXIT_HANDLER)
"""What runs when all others are over."""
_WORST = (NodeState.FAILED, NodeState.RUNNING, NodeState.TERMINATING, NodeState.TERMINATED, NodeState.PENDING)
_PLAIN = str.maketrans({"●": "*", "│": "|", "├": "+", "┬": "+", "┴": "+", "╮": "+", "╯": "+", "┼": "+", "─": "-"})
RUN_COLOURS = {RunState.SUCCEEDED: "green", RunState.FAILED: "red", RunState.RUNNING: "cyan"}


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the drawing before its columns are as wide as each other."""

    graph: str
    label: str = ""
    state: str = ""
    time: str = ""
    told: str = ""
    colour: str = ""


@dataclass(frozen=True, slots=True)
class Style:
    """What may be used to draw."""

    drawing: bool
    """True: more than ASCII."""
    colours: bool


def drawing(nodes: Iterable[RunNode], now: datetime, style: Style) -> list[str]:
    """The nodes of a run, in the order in which they come, each with its state."""
    children: defaultdict[str, list[RunNode]] = defaultdict(list)
    for node in nodes:
        children[node.parent].append(node)
    lines = list(_Graph(children, now).level(children[""]))
    return _aligned(lines[:MOST_LINES], style) + _left_out(lines)


def headline(run: Run) -> str:
    """The run in one sentence, with its colour."""
    counts = run.steps
    told = {
        "running": counts.running,
        "waiting": counts.waiting,
        "failed": counts.failed,
        "skipped": counts.skipped,
        "cancelled": counts.cancelled,
        "from the cache": counts.cached,
    }
    parts = [f"{count} {word}" for word, count in told.items() if count]
    steps = f"{counts.over} of {counts.all} steps over" + (f" ({', '.join(parts)})" if parts else "")
    state = click.style(str(run.state), fg=RUN_COLOURS.get(run.state))
    why = f": {run.message}" if run.message else ""
    return f"{run.id} ({run.name}) {state}, {steps}{why}"


@dataclass(frozen=True, slots=True)
class _Graph:
    children: Mapping[str, Sequence[RunNode]]
    """By the path of the DAG they are in."""
    now: datetime

    def level(self, nodes: Sequence[RunNode]) -> Iterator[Line]:
        """What one DAG consists of, or the run, and below it what runs in the end."""
        groups: defaultdict[str, list[RunNode]] = defaultdict(list)
        for node in nodes:
            if node.kind not in LAST:
                groups[node.name].append(node)
        over = {name for name, group in groups.items() if all(node.state.over for node in group)}
        deps = {name: [dep for dep in group[0].deps if dep in groups] for name, group in groups.items()}
        for row in drawn(list(groups), deps) or [_alone(name) for name in groups]:
            if row.name:
                yield from self._group(row, groups[row.name], over)
            else:
                yield Line(row.cells)
        for node in nodes:
            if node.kind in LAST:
                yield from self._group(_alone(node.path), [node], over)

    def _group(self, row: Row, group: Sequence[RunNode], over: set[str]) -> Iterator[Line]:
        """A node with what it consists of, or a loop with its iterations."""
        if len(group) == 1:
            yield self._line(row.cells, row.name, group[0], over)
            yield from self._below(row.below, group[0])
            return
        yield self._loop(row, group)
        for node in _worst(group):
            argument = "" if node.loop_argument is None else f" {node.loop_argument!s:.30}"
            yield self._line(f"{row.below}  ", f"[{node.iteration}]{argument}", node, over)
            yield from self._below(f"{row.below}  ", node)
        if len(group) > MOST_ITERATIONS:
            yield Line(f"{row.below}  ", f"… {len(group) - MOST_ITERATIONS} more iterations")

    def _below(self, graph: str, node: RunNode) -> Iterator[Line]:
        for line in self.level(self.children.get(node.path, ())):
            yield Line(f"{graph}  {line.graph}", line.label, line.state, line.time, line.told, line.colour)

    def _line(self, graph: str, label: str, node: RunNode, over: set[str]) -> Line:
        colour = COLOURS.get(node.state, "")
        return Line(graph, label, str(node.state), duration(node, self.now), remark(node, over), colour)

    def _loop(self, row: Row, group: Sequence[RunNode]) -> Line:
        counts = Counter(node.state for node in group)
        worst = next((state for state in _WORST if counts[state]), group[0].state)
        told = ", ".join(f"{count} {state}" for state, count in counts.items())
        label = f"{row.name} ×{group[0].iterations or len(group)}"
        return Line(row.cells, label, str(worst), "", told, COLOURS.get(worst, ""))


def _alone(name: str) -> Row:
    """A node without lanes."""
    return Row(f"{NODE} ", name, "  ")


def _worst(group: Sequence[RunNode]) -> list[RunNode]:
    """The iterations that are shown, in their order."""
    rank = {state: place for place, state in enumerate(_WORST)}
    chosen = sorted(group, key=lambda node: rank.get(node.state, len(rank)))[:MOST_ITERATIONS]
    return sorted(chosen, key=lambda node: node.iteration)


def _aligned(lines: Sequence[Line], style: Style) -> list[str]:
    names = max((width(line.graph + line.label) for line in lines), default=0)
    states = max((len(line.state) for line in lines), default=0)
    times = max((len(line.time) for line in lines), default=0)
    return [_written(line, names, states, times, style) for line in lines]


def _written(line: Line, names: int, states: int, times: int, style: Style) -> str:
    graph = line.graph if style.drawing else line.graph.translate(_PLAIN)
    label = line.label if style.drawing else line.label.replace("×", "x").replace("…", "...")
    if not line.state:
        return f"{graph}{label}".rstrip()
    gap = " " * (names - width(line.graph + line.label))
    state = f"{line.state:<{states}}"
    if style.colours and line.colour:
        state = click.style(state, fg=line.colour)
    # A remark of many lines would tear the drawing.
    told = line.told.partition("\n")[0]
    return f"{graph}{label}{gap}  {state}  {line.time:>{times}}  {told}".rstrip()


def _left_out(lines: Sequence[Line]) -> list[str]:
    more = len(lines) - MOST_LINES
    return [f"... {more} more lines; `-o json` tells of all nodes"] if more > 0 else []
