"""``paddleflow run``: what begins runs, and what says beforehand what they would be."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Unpack

import click

from paddleflow.cli.completion import complete_filesystem
from paddleflow.cli.document_problems import Document, line_of, telling_all
from paddleflow.cli.failure import REFUSED
from paddleflow.cli.output import Printer
from paddleflow.cli.run_options import Choice, document_of, options_of, run_options
from paddleflow.cli.run_tables import plan_table, run_table
from paddleflow.cli.run_wait import wait_for
from paddleflow.cli.run_watch import watch_run
from paddleflow.cli.table import Cell, Form, Table
from paddleflow.cli.verbs import Invocation, Verb, pass_invocation
from paddleflow.models.nodes import CachePrediction, NodeKind, NodeState, PlannedNode, RunPlan
from paddleflow.models.pipelines import DocumentProblem
from paddleflow.models.runs import RunOptions

ENDS = {
    NodeState.SKIPPED: "skipped",
    NodeState.FAILED: "fails",
    NodeState.CANCELLED: "never runs",
    NodeState.TERMINATED: "never runs",
}
"""How nodes end that do not run."""
WORDS = {
    "runs": "to run",
    "cached": "cached",
    "maybe cached": "maybe cached",
    "skipped": "skipped",
    "fails": "to fail",
    "never runs": "never to run",
}
"""What is said of a node, and of all of which it is said."""


@click.command("create", cls=Verb)
@run_options
@click.option("--wait", "waiting", is_flag=True, help="Wait, and exit with 0 only if it succeeds.")
@click.option("--watch", "watching", is_flag=True, help="Show how it goes, until it is over; then as --wait.")
@pass_invocation
def create(invocation: Invocation, waiting: bool, watching: bool, **choice: Unpack[Choice]) -> None:
    """Run a pipeline: a file of the filesystem, a file of this machine, or a pipeline that is kept.

    All that is wrong with it is told at once.
    """
    document, options, paddleflow, printer = *_asked(choice), invocation.paddleflow(), invocation.printer
    with telling_all(paddleflow, document):
        made = paddleflow.runs.create(document.source, **options)
    said = f"run[{made.filesystem or made.name}] create success with run id[{made.id}]"
    printer.success(said, [] if waiting or watching else [run_table([made])])
    if watching:
        watch_run(paddleflow, made.id, printer)
    if waiting or watching:
        wait_for(paddleflow, [made.id], printer)


@click.command("plan", cls=Verb)
@run_options
@click.option("--document", "resolved", is_flag=True, help="Print the document as it would run, and nothing else.")
@pass_invocation
def plan(invocation: Invocation, resolved: bool, **choice: Unpack[Choice]) -> None:
    """Say what `run create` would do with the same options, step by step, and what would come from the cache."""
    document, options, paddleflow, printer = *_asked(choice), invocation.paddleflow(), invocation.printer
    with telling_all(paddleflow, document):
        planned = paddleflow.runs.plan(document.source, **options)
    if resolved:
        printer.line(planned.document.rstrip("\n"))
    elif printer.form is Form.TABLE:
        _tell(planned, printer)
    else:
        printer.table(plan_table(planned))
        if planned.left_out:
            click.echo(_left_out(planned), err=True)


@click.command("validate", cls=Verb)
@click.argument("file")
@click.option("-f", "--fsname", default="", shell_complete=complete_filesystem, help="The main filesystem.")
@pass_invocation
def validate(invocation: Invocation, file: str, fsname: str) -> None:
    """Say all that is wrong with the document FILE of this machine, as a run of it would; `-` reads the input."""
    document = Document.local(file, fsname)
    print_problems(document, invocation.paddleflow().pipelines.validate(document.source), invocation.printer)


def print_problems(document: Document, problems: Sequence[DocumentProblem], printer: Printer) -> None:
    """Tells what is wrong in a line each, and ends the command with what that means."""
    rows: list[list[Cell]] = [[each.line, each.column, each.path, each.message] for each in problems]
    if printer.form is not Form.TABLE:
        printer.table(Table(["line", "column", "path", "message"], rows))
    for problem in problems if printer.form is Form.TABLE else ():
        printer.line(line_of(document.name, problem))
    if problems:
        click.get_current_context().exit(REFUSED)
    printer.success(f"{document.name} is a pipeline that can be run")


def _asked(choice: Choice) -> tuple[Document, RunOptions]:
    return document_of(choice), options_of(choice)


def _tell(plan: RunPlan, printer: Printer) -> None:
    """A line for each node, and below a DAG one for each that it consists of."""
    labels = list(_labels(plan.nodes))
    names = max((len(label) for label, _ in labels), default=0)
    for label, each in labels:
        printer.line(f"{label:<{names}}  {_prediction(each):<12}  {_needs(each)}".rstrip())
    counts = Counter(map(_prediction, plan.nodes))
    told = [f"{counts[word]} {many}" for word, many in WORDS.items() if counts[word]]
    printer.line(f"{len(plan.nodes)} nodes: {', '.join(told) or 'nothing to run'}")
    if plan.left_out:
        printer.line(_left_out(plan))


def _left_out(plan: RunPlan) -> str:
    return f"{plan.left_out} more nodes are not told: further iterations of loops, or more than one answer can hold"


def _labels(nodes: Sequence[PlannedNode]) -> Iterator[tuple[str, PlannedNode]]:
    """The nodes as a tree, each with what stands before it."""
    children: defaultdict[str, list[PlannedNode]] = defaultdict(list)
    for each in nodes:
        children[each.node.parent].append(each)

    def below(parent: str, indent: str) -> Iterator[tuple[str, PlannedNode]]:
        for each in children[parent]:
            inner = each.node.path.removeprefix(f"{parent}.") if parent else each.node.path
            yield f"{indent}{inner}", each
            yield from below(each.node.path, f"{indent}  ")

    return below("", "")


def _prediction(planned: PlannedNode) -> str:
    """In a word what becomes of a node; a DAG that goes well does nothing itself."""
    node = planned.node
    match planned.prediction:
        case CachePrediction.HIT:
            return "cached"
        case CachePrediction.UNKNOWN:
            return "maybe cached"
        case CachePrediction.UNSPECIFIED if node.state in ENDS:
            return ENDS[node.state]
        case _:
            return "" if node.kind is NodeKind.DAG else "runs"


def _needs(planned: PlannedNode) -> str:
    node = planned.node
    after = f"after {', '.join(node.deps)}" if node.deps else ""
    condition = f"if {node.condition}" if node.condition else ""
    note = "" if node.message == planned.message else node.message
    return "; ".join(filter(None, [after, condition, note, planned.message]))
