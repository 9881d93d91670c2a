"""``paddleflow run explain``: why a node stands where it stands."""

from __future__ import annotations

import click

from paddleflow.cli.completion import complete_run
from paddleflow.cli.output import Printer
from paddleflow.cli.run_finding import suggesting_node
from paddleflow.cli.table import Cell, Form, Table
from paddleflow.cli.verbs import Invocation, Verb, pass_invocation
from paddleflow.models.nodes import CacheExplanation, NodeExplanation
from paddleflow.original_runs import step_view


@click.command("explain", cls=Verb)
@click.argument("id", metavar="RUNID", shell_complete=complete_run)
@click.argument("node")
@pass_invocation
def explain(invocation: Invocation, id: str, node: str) -> None:  # noqa: A002 -- the word of the contract
    """Say why NODE waits, was skipped, failed, or why its result came from the cache or not."""
    paddleflow, printer = invocation.paddleflow(), invocation.printer
    with suggesting_node(paddleflow, id, node):
        explained = paddleflow.runs.explain(id, node)
    if printer.form.structured:
        printer.table(_whole(id, explained))
    elif printer.form is Form.TEXT:
        printer.table(Table(["of", "what"], _plain(explained)))
    else:
        _tell(explained, printer)


def _whole(run_id: str, explained: NodeExplanation) -> Table:
    """All there is to say, in one row, for programs."""
    fields: dict[str, Cell] = {
        "node": explained.node.path,
        "status": str(explained.node.state),
        "reasons": list(explained.reasons),
        "cache": _cache(explained.cache) if explained.cache else None,
        "view": step_view(run_id, explained.node),
    }
    return Table(list(fields), [list(fields.values())])


def _cache(cache: CacheExplanation) -> dict[str, Cell]:
    differences = [{"what": each.what, "before": each.before, "now": each.now} for each in cache.differences]
    return {
        "hit": cache.hit,
        "message": cache.message,
        "key": cache.key,
        "nearest": cache.nearest,
        "differences": differences,
    }


def _plain(explained: NodeExplanation) -> list[list[Cell]]:
    """A fact in each row, for scripts."""
    rows: list[list[Cell]] = [["node", explained.node.path], ["status", str(explained.node.state)]]
    rows += [["reason", reason] for reason in explained.reasons]
    if explained.cache:
        rows.append(["cache", explained.cache.message])
        rows += [["differs", f"{each.what}: {each.before} -> {each.now}"] for each in explained.cache.differences]
    return rows


def _tell(explained: NodeExplanation, printer: Printer) -> None:
    node, cache = explained.node, explained.cache
    printer.line(f"{node.path}: {node.state}")
    for reason in explained.reasons:
        printer.line(f"  {reason}")
    if cache is None:
        return
    printer.line(f"cache: {'hit' if cache.hit else 'no hit'}{f', {cache.message}' if cache.message else ''}")
    if cache.differences:
        printer.line(f"  what differs from {cache.nearest}:")
    for each in cache.differences:
        printer.line(f"    {each.what}: {each.before or '-'} -> {each.now or '-'}")
