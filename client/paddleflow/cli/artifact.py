"""``paddleflow artifact``."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import click

from paddleflow.cli.completion import complete_filesystem, complete_user
from paddleflow.cli.parameters import moment
from paddleflow.cli.run_cache import listartifact
from paddleflow.cli.table import Cell, Table
from paddleflow.cli.verbs import Invocation, Noun, pass_invocation
from paddleflow.models.artifacts import ExportedTable, LineageLink
from paddleflow.problems import InvalidArgument, Violation

DEEPEST = 20
HEADINGS = ["direction", "distance", "run id", "node", "read", "wrote", "cached"]
TABLES = [str(each) for each in ExportedTable if each]


@click.group(cls=Noun)
def artifact() -> None:
    """See what runs read and wrote, where it comes from, and what became of it."""


artifact.add_command(listartifact, "list")


@artifact.command("lineage")
@click.argument("fs", shell_complete=complete_filesystem)
@click.argument("path")
@click.option("-u", "--username", default="", shell_complete=complete_user, help="Whose filesystem it is.")
@click.option(
    "--depth", type=click.IntRange(1, DEEPEST), default=5, show_default=True, help="Steps back and on at most."
)
@pass_invocation
def lineage(invocation: Invocation, fs: str, path: str, username: str, depth: int) -> None:
    """Say what the artifact PATH of the filesystem FS was made from, and what was made with it."""
    paddleflow, printer = invocation.paddleflow(), invocation.printer
    found = paddleflow.artifacts.lineage(paddleflow.filesystems.get(fs, owner=username).id, path, depth=depth)
    rows = [_row("made from", link) for link in found.made_from] + [_row("made into", link) for link in found.made_into]
    printer.table(Table(HEADINGS, rows))
    if found.truncated:
        click.echo("there is more; only the nearest steps are told", err=True)


@artifact.command("export")
@click.argument("table", type=click.Choice(TABLES))
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--since", help="Only what is about runs that were made since: 2026-05-01, or so long ago: 7d.")
@click.option("--until", help="Only what is about runs that were made before.")
@pass_invocation
def export(invocation: Invocation, table: str, file: Path, since: str | None, until: str | None) -> None:
    """Write a table of all that you may see to FILE, as Parquet."""
    now = datetime.now(UTC)
    pieces = invocation.paddleflow().artifacts.export(
        ExportedTable(table),
        since=moment("since", since, now) if since else None,
        until=moment("until", until, now) if until else None,
    )
    try:
        with file.open("wb") as target:
            size = sum(target.write(piece) for piece in pieces)
    except OSError as error:
        raise InvalidArgument.of(Violation("file", f"{file} cannot be written: {error.strerror}")) from error
    invocation.printer.success(f"{file} written, {size} bytes")


def _row(direction: str, link: LineageLink) -> list[Cell]:
    return [direction, link.distance, link.run_id, link.node, link.input_path, link.output_path, link.cached]
