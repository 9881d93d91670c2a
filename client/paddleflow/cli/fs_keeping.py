"""``paddleflow fs fsck`` and ``gc``: what is kept on this machine, whether it is right and whether anybody needs it."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from paddleflow.cli.failure import REFUSED
from paddleflow.cli.fs_options import FOLDERS, SIZE, chosen_size
from paddleflow.cli.table import Cell, Table
from paddleflow.cli.verbs import Invocation, Verb, pass_invocation
from paddleflow.left_behind import Left, clear_away, left_behind
from paddleflow.mounting import MountOptions, own_pages, run_errand, source_of
from paddleflow.problems import FilesystemNotFound, PermissionDenied, Unavailable
from paddleflow.quantity import MEMORY, round_amount

if TYPE_CHECKING:
    from paddleflow.sync import PaddleFlow

Report = Mapping[str, Any]
_HOUR = 3600 * 10**9
"""Nanoseconds."""


@click.command("fsck", cls=Verb)
@FOLDERS
@pass_invocation
def fsck(invocation: Invocation, folders: tuple[Path, ...]) -> None:
    """Check what is kept on this machine: all bytes of the cache, and what mounts have left.

    What is not as it was written goes, and is fetched anew when it is needed. What was written to a mount and is not
    uploaded is never touched: it is told where it lies and what to do. The exit status is 1 if there is such, or if
    something was wrong.
    """
    last = followed(run_errand("check", {"cache": _cache(folders)}), "checked")
    left = [each for each in left_behind(os.environ) if not each.nothing]
    problems = [f"removed: {each}" for each in last["gone"]] + list(last["troubles"])
    problems += [problem for each in left for problem in each.problems]
    if invocation.form.structured:
        told = {**{name: last[name] for name in ("files", "bytes", "partial", "busy", "removed")}, "problems": problems}
        invocation.printer.table(_one({**told, "mounts": [_left_cells(each) for each in left]}))
    else:
        for problem in problems:
            click.echo(problem)
        size = round_amount(MEMORY, last["bytes"])
        click.echo(
            f"{last['files']} files with {size} are right, {last['removed']} were not; {last['busy']} are in use"
        )
    if problems:
        click.get_current_context().exit(REFUSED)


@click.command("gc", cls=Verb)
@FOLDERS
@SIZE
@click.option("--older-than", type=click.IntRange(1), default=24, show_default=True, help="Hours, for uploads.")
@click.option("-n", "--dry-run", is_flag=True, help="Tell what would be removed.")
@pass_invocation
def gc(invocation: Invocation, folders: tuple[Path, ...], cache_size: str, older_than: int, dry_run: bool) -> None:
    """Remove what nobody can use any more.

    From the cache of this machine: files of filesystems that are gone or that you may not use, versions that are no
    longer there, and the oldest of what is more than --cache-size. From the stores: uploads in parts that were begun
    --older-than hours ago and never finished, whoever began them. And folders of mounts in which nothing is left.
    """
    told = {
        "cache": {**_cache(folders), "size": chosen_size(cache_size)},
        "sources": list(_sources(invocation.paddleflow())),
        "dryRun": dry_run,
        "uploadsBefore": time.time_ns() - older_than * _HOUR,
    }
    last = followed(run_errand("collect", told), "looked at")
    empty = [each for each in left_behind(os.environ) if each.nothing and (dry_run or clear_away(each))]
    if invocation.form.structured:
        found = {name: last[name] for name in last if name != "over"}
        invocation.printer.table(_one({**found, "mounts": [str(each.folder) for each in empty]}))
    else:
        for line in _collected(last, empty, dry_run=dry_run):
            click.echo(line)
    for trouble in last["troubles"]:
        click.echo(trouble, err=True)
    if last["troubles"]:
        click.get_current_context().exit(REFUSED)


def _cache(folders: Sequence[Path]) -> Mapping[str, Any]:
    return {"folders": [str(folder.absolute()) for folder in folders] or [str(own_pages(os.environ))]}


def _sources(client: PaddleFlow) -> Iterator[Mapping[str, Any]]:
    """What opens each filesystem that the user may use; for reading only where it may not write."""
    for each in client.filesystems.list():
        # Deleted meanwhile, it is gone.
        with suppress(FilesystemNotFound):
            yield _source(client, each.name, each.owner)


def _source(client: PaddleFlow, name: str, owner: str) -> Mapping[str, Any]:
    try:
        described = client.filesystems.describe_mount(name, owner=owner)
    except PermissionDenied:
        described = client.filesystems.describe_mount(name, owner=owner, read_only=True)
    return source_of(described, MountOptions(), os.environ)


def followed(reports: Generator[Report, None, None], what: str) -> Report:
    """The last report; the others show on a terminal how far it is."""
    last: Report = {}
    shown = sys.stderr.isatty()
    with closing(reports):
        for last in reports:
            if shown:
                click.echo(f"\r{last['files']} files {what}", err=True, nl=bool(last["over"]))
    if not last.get("over"):
        so_far = f"after {last['files']} files {what}" if last else "before it told anything"
        raise Unavailable(f"the program that looks through the cache has ended {so_far}; the same command begins anew")
    return last


def _collected(last: Report, empty: Sequence[Left], *, dry_run: bool) -> Iterator[str]:
    gone, would = last["removed"], "would be " if dry_run else ""
    size = round_amount(MEMORY, last["freed"])
    yield (
        f"of {last['files']} cached files {sum(gone.values())} with {size} {would}removed: {gone['filesystem']} of "
        f"filesystems that are gone, {gone['version']} of other versions, {gone['unknown']} of which nothing is known"
    )
    if last["evicted"]:
        yield f"{last['evicted']} of the oldest removed, to keep within --cache-size"
    if last["busy"]:
        yield f"{last['busy']} are in use, and stay"
    for upload in last["uploads"]:
        yield f"upload of {upload['address']}: {upload['path']} {would}dropped"
    for each in empty:
        yield f"{each.folder} {would}removed: the mount at {each.place or 'some place'} has left nothing"


def _left_cells(left: Left) -> Mapping[str, Cell]:
    cells = asdict(left)
    return {**cells, "folder": str(left.folder)}


def _one(row: Mapping[str, Cell]) -> Table:
    return Table([*row], [[*row.values()]])
