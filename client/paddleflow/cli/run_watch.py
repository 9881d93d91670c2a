"""``paddleflow run watch``: how a run goes, as it goes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from paddleflow.cli.completion import complete_run
from paddleflow.cli.node_words import COLOURS
from paddleflow.cli.output import Printer
from paddleflow.cli.run_drawing import RUN_COLOURS, Style, drawing, headline
from paddleflow.cli.run_events import event_line
from paddleflow.cli.run_finding import suggesting_run
from paddleflow.cli.run_tables import run_table
from paddleflow.cli.table import Form, as_text, as_yaml
from paddleflow.cli.verbs import Invocation, Verb, pass_invocation
from paddleflow.models.nodes import NodeKind, NodeState, NodeWaiting, RunNode
from paddleflow.models.runs import Run, RunFilter, RunHappening, StepCounts
from paddleflow.models.watches import Change, ChangeKind, Reset, WatchItem

if TYPE_CHECKING:
    from paddleflow.sync import PaddleFlow

PER_SECOND = 4
"""How often a drawing on a terminal is renewed."""


@click.command("watch", cls=Verb)
@click.argument("id", metavar="RUNID", shell_complete=complete_run)
@pass_invocation
def watch(invocation: Invocation, id: str) -> None:  # noqa: A002 -- the word of the contract
    """Show how a run goes, until it is over: its graph on a terminal, else a line for each change."""
    paddleflow = invocation.paddleflow()
    with suggesting_run(paddleflow, id):
        watch_run(paddleflow, id, invocation.printer)


def watch_run(paddleflow: PaddleFlow, id_: str, printer: Printer) -> None:
    """Shows a run until it is over."""
    if printer.form is Form.TABLE and printer.terminal:
        _show_live(paddleflow, id_, printer)
        return
    known: dict[str, tuple[str, int]] = {}
    for happening in paddleflow.runs.happenings(id_, follow=True):
        if printer.form is not Form.TABLE:
            printer.line(event_line(happening, printer.form))
        elif is_news(happening, known):
            printer.line(_line(happening))


def is_news(happening: RunHappening, known: dict[str, tuple[str, int]]) -> bool:
    """True if people have not been told the same before; keeps in mind what they were told."""
    state, before = str(happening.node_state or happening.run_state), known.get(happening.path, ("pending", 0))
    known[happening.path] = state, max(happening.attempt, before[1])
    return state != before[0] or happening.attempt > max(before[1], 1) or bool(happening.message)


def print_changes(items: Iterable[WatchItem[Run]], chosen: RunFilter, printer: Printer) -> None:
    """Prints the changes of the chosen runs until the watch ends; people are not told the same twice."""
    known: dict[str, tuple[str, ...]] = {}
    for item in items:
        match item:
            case Reset():
                known.clear()
                click.echo("the server told to start over: all runs follow anew", err=True)
            case Change(kind, run) if matches(run, chosen):
                seen = str(kind is ChangeKind.DELETED), str(run.state), run.message
                if printer.form is not Form.TABLE or known.get(run.id) != seen:
                    printer.line(_change(str(kind), run, printer.form))
                known[run.id] = seen


def matches(run: Run, chosen: RunFilter) -> bool:
    """True if the server would list the run under this filter."""
    among: Sequence[tuple[Sequence[str], str]] = (
        (chosen.get("states", ()), run.state),
        (chosen.get("owners", ()), run.owner),
        (chosen.get("filesystems", ()), run.filesystem),
        (chosen.get("ids", ()), run.id),
        (chosen.get("names", ()), run.name),
    )
    pipeline = chosen.get("pipeline_id", "")
    return (
        all(not wanted or value in wanted for wanted, value in among)
        and chosen.get("schedule_id", "") in ("", run.schedule_id)
        and pipeline in ("", run.source.pipeline_id)
    )


@dataclass(slots=True)
class Seen:
    """A run as far as it was told of; renewed by what happens."""

    run: Run
    nodes: dict[str, RunNode] = field(default_factory=dict)

    def knows(self, happening: RunHappening) -> bool:
        return not happening.path or happening.path in self.nodes

    def take(self, happening: RunHappening) -> None:
        """What is known after something happened."""
        if happening.run_state:
            self.run = replace(self.run, state=happening.run_state)
        if happening.path in self.nodes and happening.node_state:
            self.nodes[happening.path] = after(self.nodes[happening.path], happening)


def after(node: RunNode, happening: RunHappening) -> RunNode:
    """The node after something happened to it."""
    state = happening.node_state
    begun = node.start_time or (happening.time if state is NodeState.RUNNING else None)
    return replace(
        node,
        state=state,
        message=happening.message or (node.message if state is node.state else ""),
        waiting=node.waiting if state is node.state else NodeWaiting.UNSPECIFIED,
        attempt=happening.attempt or node.attempt,
        job_id=happening.job_id or node.job_id,
        start_time=begun,
        finish_time=happening.time if state.over else None,
    )


def _show_live(paddleflow: PaddleFlow, id_: str, printer: Printer) -> None:
    from rich.console import Console  # noqa: PLC0415 -- loads rich
    from rich.live import Live  # noqa: PLC0415 -- as above
    from rich.text import Text  # noqa: PLC0415 -- as above

    seen = _look(paddleflow, id_)
    console = Console(no_color=not printer.colours, highlight=False)
    # Asked before the output is in other hands.
    style = Style(drawing=printer.drawing, colours=printer.colours)

    def picture() -> Text:
        lines = _picture(seen, style)
        # More than fits would make the terminal scroll at each renewal, and a line that is broken tears the graph.
        shown = "\n".join(lines[: max(console.height - 1, 2)])
        return Text.from_ansi(shown, no_wrap=True, overflow="ellipsis")

    try:
        with Live(console=console, refresh_per_second=PER_SECOND, transient=True, get_renderable=picture):
            for happening in paddleflow.runs.happenings(id_, follow=True):
                if seen.knows(happening):
                    seen.take(happening)
                else:
                    # Iterations of a loop are known once it begins.
                    seen.nodes = _look(paddleflow, id_).nodes
        seen = _look(paddleflow, id_)
    finally:
        # Also whoever has seen enough keeps the last picture.
        for line in _picture(seen, style):
            printer.line(line)


def _look(paddleflow: PaddleFlow, id_: str) -> Seen:
    return Seen(paddleflow.runs.get(id_), {node.path: node for node in paddleflow.runs.nodes(id_)})


def _picture(seen: Seen, style: Style) -> list[str]:
    nodes = list(seen.nodes.values())
    return [headline(replace(seen.run, steps=counted(nodes))), *drawing(nodes, datetime.now(UTC), style)]


def counted(nodes: Iterable[RunNode]) -> StepCounts:
    """How many of the steps that are known stand where; those of phases that have not begun count later."""
    steps = [node for node in nodes if node.kind is not NodeKind.DAG and node.waiting is not NodeWaiting.PHASE]
    states = Counter(node.state for node in steps)
    return StepCounts(
        waiting=states[NodeState.PENDING],
        running=states[NodeState.RUNNING] + states[NodeState.TERMINATING],
        succeeded=states[NodeState.SUCCEEDED],
        failed=states[NodeState.FAILED],
        skipped=states[NodeState.SKIPPED],
        cancelled=states[NodeState.CANCELLED] + states[NodeState.TERMINATED],
        cached=sum(bool(node.cache_run_id) for node in steps),
    )


def _line(happening: RunHappening) -> str:
    """What happened, for people."""
    clock = happening.time.astimezone().strftime("%H:%M:%S") if happening.time else ""
    word = str(happening.node_state if happening.path else happening.run_state) or happening.what
    colour = COLOURS.get(happening.node_state) if happening.path else RUN_COLOURS.get(happening.run_state)
    again = f"try {happening.attempt}  " if happening.attempt > 1 else ""
    about = happening.path or "the run"
    return f"{clock}  {click.style(f'{word:<11}', fg=colour)}  {about}  {again}{happening.message}".rstrip()


def _change(event: str, run: Run, form: Form) -> str:
    """A run that changed, in one line for people, for scripts or for programs."""
    match form:
        case Form.JSON:
            return json.dumps({"event": event, **run_table([run]).objects()[0]}, ensure_ascii=False)
        case Form.YAML:
            return as_yaml(run_table([run]))
        case Form.TEXT:
            return as_text(run_table([run]))
        case Form.TABLE:
            clock = datetime.now().astimezone().strftime("%H:%M:%S")
            word = event if event == ChangeKind.DELETED else str(run.state)
            state = click.style(f"{word:<11}", fg=RUN_COLOURS.get(run.state))
            return f"{clock}  {state}  {run.id}  {run.name}  {run.message}".rstrip()
