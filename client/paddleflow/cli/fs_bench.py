"""``paddleflow fs bench``: how fast a mount is."""

from __future__ import annotations

from pathlib import Path

import click

from paddleflow.benching import MIB, Row, Size, bench
from paddleflow.cli.fs_options import PLACE
from paddleflow.cli.table import Cell, Form, Table
from paddleflow.cli.verbs import Invocation, Verb, pass_invocation
from paddleflow.quantity import MEMORY, parse_amount

_LEAST = MIB


@click.command("bench", cls=Verb)
@PLACE
@click.option("--size", default="256Mi", show_default=True, help="Of the large file.")
@click.option("--files", type=click.IntRange(1, 1_000_000), default=500, show_default=True, help="Of 100 KiB.")
@click.option("--at-once", type=click.IntRange(1, 256), default=4, show_default=True, help="Threads for small files.")
@pass_invocation
def run_bench(invocation: Invocation, place: Path, size: str, files: int, at_once: int) -> None:
    """Measure how fast files are written and read in a folder, for example a mount at PATH.

    It makes a folder of its own there, and removes it afterwards, also when it is interrupted. What the kernel has
    cached is dropped before files are read; what the mount has kept on its disk is not.
    """
    large = max(_LEAST, parse_amount(MEMORY, size))
    rows: list[Row] = []
    try:
        for row in bench(place, Size(large, files, at_once)):
            rows.append(row)
            if invocation.form is Form.TABLE:
                click.echo(_line(row) if len(rows) > 1 else f"{_HEAD}\n{_line(row)}")
    except OSError as error:
        raise click.ClickException(f"{error.filename or place}: {error.strerror}") from None
    if invocation.form is not Form.TABLE:
        headings = ["what", "seconds", "bytes", "count", "p50", "p99"]
        cells: list[list[Cell]] = [
            [each.what, each.seconds, each.bytes, each.count, each.half, each.most] for each in rows
        ]
        invocation.printer.table(Table(headings, cells))


_HEAD = f"{'':<30}{'s':>9}{'MB/s':>9}{'each s':>10}{'half in ms':>12}{'99 % in ms':>12}"


def _line(row: Row) -> str:
    rate = f"{row.bytes / row.seconds / 1e6:.1f}" if row.bytes else ""
    each = f"{row.count / row.seconds:.1f}" if row.count > 1 else ""
    times = [f"{1e3 * seconds:.2f}" if seconds else "" for seconds in (row.half, row.most)]
    return f"{row.what:<30}{row.seconds:>9.2f}{rate:>9}{each:>10}{times[0]:>12}{times[1]:>12}"
