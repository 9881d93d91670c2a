"""``paddleflow run``: what changes runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import click

from paddleflow.cli.completion import complete_run
from paddleflow.cli.run_finding import suggesting_node, suggesting_run
from paddleflow.cli.run_options import parameters_of
from paddleflow.cli.run_tables import run_table
from paddleflow.cli.run_wait import wait_for
from paddleflow.cli.verbs import Invocation, Verb, pass_invocation

RUN = click.argument("id", metavar="RUNID", shell_complete=complete_run)
RUNS = click.argument("ids", metavar="RUNID...", nargs=-1, required=True, shell_complete=complete_run)
NODE = click.argument("node")
COMMENT = click.option("--comment", default="", help="Why.")


@click.command("stop", cls=Verb)
@RUNS
@click.option("-f", "--force", is_flag=True, help="Also what runs in the end: post_process and exit handlers.")
@pass_invocation
def stop(invocation: Invocation, ids: Sequence[str], force: bool) -> None:
    """End what runs do; post_process and exit handlers still run."""
    paddleflow, printer = invocation.paddleflow(), invocation.printer

    def end(id_: str) -> None:
        with suggesting_run(paddleflow, id_):
            stopped = paddleflow.runs.stop(id_, force=force)
        printer.success(f"runid[{id_}] stop success", [run_table([stopped])])

    _each(ids, end)


@click.command("retry", cls=Verb)
@RUN
@click.option("--from", "again", multiple=True, help="Do this node again though it succeeded, and what depends on it.")
@click.option("-p", "--param", multiple=True, help="NAME=VALUE for what is done again. Repeatable.")
@click.option("--wait", "waiting", is_flag=True, help="Wait, and exit with 0 only if it succeeds.")
@pass_invocation
def retry(
    invocation: Invocation,
    id: str,  # noqa: A002 -- the word of the contract
    again: tuple[str, ...],
    param: tuple[str, ...],
    waiting: bool,
) -> None:
    """Make a new run of one that failed or was stopped: what succeeded is taken over, all else is done again."""
    paddleflow, printer = invocation.paddleflow(), invocation.printer
    with suggesting_node(paddleflow, id, next(iter(again), "")):
        made = paddleflow.runs.retry(id, again=again, parameters=parameters_of(param))
    said = f"run id[{id}] retry success, new run id is [{made.id}]"
    printer.success(said, [] if waiting else [run_table([made])])
    if waiting:
        wait_for(paddleflow, [made.id], printer)


@click.command("delete", cls=Verb)
@RUNS
@click.option("-not-cc", "--notcheckcache", is_flag=True, help="Also if other runs took results from it.")
@pass_invocation
def delete(invocation: Invocation, ids: Sequence[str], notcheckcache: bool) -> None:
    """Forget runs that are over, and remove their artifacts."""
    paddleflow, printer = invocation.paddleflow(), invocation.printer

    def forget(id_: str) -> None:
        with suggesting_run(paddleflow, id_):
            paddleflow.runs.delete(id_, keep_if_used=not notcheckcache)
        printer.success(f"run id [{id_}] delete success")

    _each(ids, forget)


@click.command("approve", cls=Verb)
@RUN
@NODE
@COMMENT
@pass_invocation
def approve(invocation: Invocation, id: str, node: str, comment: str) -> None:  # noqa: A002 -- the word of the contract
    """Let a node that waits for approval go on."""
    _decide(invocation, id, node, comment, approved=True)


@click.command("refuse", cls=Verb)
@RUN
@NODE
@COMMENT
@pass_invocation
def refuse(invocation: Invocation, id: str, node: str, comment: str) -> None:  # noqa: A002 -- the word of the contract
    """Let a node that waits for approval fail."""
    _decide(invocation, id, node, comment, approved=False)


def _decide(invocation: Invocation, id_: str, path: str, comment: str, *, approved: bool) -> None:
    paddleflow = invocation.paddleflow()
    with suggesting_node(paddleflow, id_, path):
        paddleflow.runs.decide(id_, path, approve=approved, comment=comment)
    invocation.printer.success(f"node[{path}] of run[{id_}] {'approve' if approved else 'refuse'} success")


def _each(ids: Sequence[str], act: Callable[[str], None]) -> None:
    for id_ in dict.fromkeys(ids):
        act(id_)
