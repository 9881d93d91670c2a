"""``paddleflow fs snapshot``: what there is in a filesystem, for mounts that are not to ask."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict

import click

from paddleflow.cli.fs_options import snapshot_place
from paddleflow.cli.table import Table
from paddleflow.cli.verbs import Invocation, Verb, pass_invocation
from paddleflow.problems import InvalidArgument, Violation
from paddleflow.quantity import MEMORY, round_amount
from paddleflow.snapshots import Taken, take
from paddleflow.transfers.places import Remote, remote_of


@click.command("snapshot", cls=Verb)
@click.argument("source", metavar="FSNAME[:PATH]")
@click.argument("to", metavar="FILE|:PATH")
@click.option("--at-once", type=click.IntRange(1, 64), default=16, show_default=True, help="Folders listed at once.")
@pass_invocation
def snapshot(invocation: Invocation, source: str, to: str, at_once: int) -> None:
    """Write down what there is in a filesystem, or in a folder of it, as a table in Parquet.

    It goes to FILE of this machine, or to PATH in that folder. `paddleflow fs mount --dataset --snapshot` with the
    same place shows the files as they were then, and asks no server what there is: see `--sub-path` for a folder.
    """
    found = Taken()
    with (
        _shown() as told,
        closing(take(invocation.paddleflow(), _remote(source), snapshot_place(to), at_once)) as taking,
    ):
        for found in taking:
            told(found)
    if invocation.form.structured:
        row = asdict(found)
        invocation.printer.table(Table([*row], [[*row.values()]]))
    else:
        size = round_amount(MEMORY, found.bytes)
        invocation.printer.line(f"{found.files} files of {size} in {found.folders} folders are in {to}")


def _remote(source: str) -> Remote:
    found = remote_of(source) or remote_of(f"{source}:")
    if found is None:
        raise InvalidArgument.of(Violation("source", "must name a filesystem, as in data or data:folder"))
    return found


@contextmanager
def _shown() -> Iterator[Callable[[Taken], None]]:
    """Shows on a terminal how far it is."""
    if not sys.stderr.isatty():
        yield lambda _now: None
        return
    yield lambda now: click.echo(f"\r{now.files} files in {now.folders} folders ", err=True, nl=False)
    click.echo("", err=True)
