"""``paddleflow fs warmup``: files into the cache before they are read."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict
from pathlib import Path

import click

from paddleflow.cli.failure import REFUSED
from paddleflow.cli.fs_options import FOLDERS, SIZE, chosen_size
from paddleflow.cli.table import Cell, Table
from paddleflow.cli.verbs import Invocation, Verb, pass_invocation
from paddleflow.mounting import MountOptions
from paddleflow.problems import InvalidArgument, Violation
from paddleflow.quantity import MEMORY, round_amount
from paddleflow.warming import Reports, Through, Warmth, by_itself, by_mount, followed, planned

Told = Callable[[Warmth], None]
_UNTOLD = ("failures", "listed")


@click.command("warmup", cls=Verb)
@click.argument("sources", metavar="FSNAME[:PATH]|PATH...", nargs=-1, required=True)
@click.option("--at-once", type=click.IntRange(1, 64), default=8, show_default=True, help="Requests under way.")
@FOLDERS
@SIZE
@pass_invocation
def warmup(
    invocation: Invocation, sources: tuple[str, ...], at_once: int, folders: tuple[Path, ...], cache_size: str
) -> None:
    """Bring files, and all files of folders, into the cache of this machine.

    Where PATH lies in a mount of yours, its client fetches them, into the cache of the mount. Files of FSNAME come
    without a mount, into the cache that is named by --data-cache-path: mount with the same one. If it is not named, it
    is in both cases the one that was set by `fs createfscache`, or your own. What is there already is not fetched
    again: interrupted, the same command goes on where it was.
    """
    options = MountOptions(cache_folders=[each.absolute() for each in folders], cache_size=chosen_size(cache_size))
    done = Warmth()
    with _shown() as told:
        for through, paths in planned(sources, os.environ).items():
            now = Warmth()
            with closing(followed(_reports(invocation, through, paths, options, at_once))) as reports:
                for now in reports:
                    told(done + now)
            done += now
    _tell(invocation, done)


def _reports(
    invocation: Invocation, through: Through, paths: Sequence[str], options: MountOptions, at_once: int
) -> Reports:
    if through.mount:
        if options.cache_folders or options.cache_size:
            why = f"{through.mount} has a cache already: leave --data-cache-path and --cache-size away, or name FSNAME"
            raise InvalidArgument.of(Violation("PATH", why))
        return by_mount(through.mount, os.environ, paths, at_once)
    return by_itself(invocation.paddleflow(), through, paths, options, at_once)


def _tell(invocation: Invocation, done: Warmth) -> None:
    for path, why in done.failures:
        click.echo(f"{path or 'all'}: {why}", err=True)
    if done.failed > len(done.failures):
        click.echo(f"and {done.failed - len(done.failures)} more", err=True)
    counts = {name.replace("_", " "): value for name, value in asdict(done).items() if name not in _UNTOLD}
    row: dict[str, Cell] = {**counts, "failures": [{"path": path, "why": why} for path, why in done.failures]}
    if invocation.form.structured:
        invocation.printer.table(Table([*row], [[*row.values()]]))
    else:
        fetched = round_amount(MEMORY, done.bytes_fetched)
        invocation.printer.line(
            f"{done.files_done} of {done.files} files are here, {done.files_kept} were before; fetched {fetched}"
        )
    if done.failed:
        click.get_current_context().exit(REFUSED)


@contextmanager
def _shown() -> Iterator[Told]:
    """Shows on a terminal how far it is."""
    if not sys.stderr.isatty():
        yield lambda _now: None
        return
    from rich.console import Console  # noqa: PLC0415 -- few commands need it
    from rich.progress import (  # noqa: PLC0415 -- as above
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    files = TextColumn("{task.fields[files]} files")
    columns = (files, BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=None, files="0")

        def told(now: Warmth) -> None:
            total = now.bytes if now.listed else None
            bar.update(task, completed=now.bytes_done, total=total, files=f"{now.files_done}/{now.files}")

        yield told
