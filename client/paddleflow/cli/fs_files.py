"""``paddleflow fs ls`` and its like: files of filesystems, without a mount."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import click

from paddleflow.cli.table import Cell, Table
from paddleflow.cli.verbs import Invocation, Verb, pass_invocation
from paddleflow.models.files import FileInfo, FileKind
from paddleflow.original import original_time
from paddleflow.quantity import MEMORY, round_amount
from paddleflow.transfers.places import Remote, RemoteSource, remote_of

if TYPE_CHECKING:
    from paddleflow.sync import PaddleFlow

HEADINGS = ["type", "size", "modified", "path"]
PIECE = 8 * 1024 * 1024


def _remote(text: str) -> Remote:
    if (found := remote_of(text)) is None:
        raise click.BadParameter(f"{text!r} is not as in data:folder/file")
    return found


def _read_one(_ctx: click.Context, _param: click.Parameter, text: str) -> Remote:
    return _remote(text)


def _read_all(_ctx: click.Context, _param: click.Parameter, texts: tuple[str, ...]) -> tuple[Remote, ...]:
    return tuple(map(_remote, texts))


PLACE = click.argument("place", metavar="FSNAME:PATH", callback=_read_one)
TARGET = click.argument("target", metavar="FSNAME:PATH", callback=_read_one)
PLACES = click.argument("places", metavar="FSNAME:PATH...", callback=_read_all, nargs=-1, required=True)
RECURSIVE = click.option("-r", "-R", "--recursive", is_flag=True, help="Folders with all in them.")


@click.command("ls", cls=Verb)
@PLACE
@RECURSIVE
@pass_invocation
def ls(invocation: Invocation, place: Remote, recursive: bool) -> None:
    """List what is in a folder of a filesystem, or the one file at the path."""
    found = list(_listed(invocation.paddleflow(), place, recursive=recursive))
    invocation.printer.table(_table(sorted(found, key=lambda each: each.path)))


@click.command("find", cls=Verb)
@PLACE
@click.option("--name", "pattern", default="", help="Only what is named so: *, ? and [ab]; with a slash, whole paths.")
@click.option("--type", "kind", type=click.Choice(["f", "d", "l"]), help="Only files, folders or links.")
@pass_invocation
def find(invocation: Invocation, place: Remote, pattern: str, kind: str | None) -> None:
    """Print the paths of all below a folder of a filesystem, as they are found."""
    kinds = {"f": FileKind.REGULAR, "d": FileKind.FOLDER, "l": FileKind.LINK}
    files = invocation.paddleflow().files
    for each in files.list(place.name, place.path, owner=place.owner, recursive=True, pattern=pattern):
        if kind is None or each.kind is kinds[kind]:
            click.echo(each.path)


@click.command("stat", cls=Verb)
@PLACE
@pass_invocation
def stat(invocation: Invocation, place: Remote) -> None:
    """Show what is known of a file, a folder or a link of a filesystem."""
    found = invocation.paddleflow().files.stat(place.name, place.path, owner=place.owner)
    headings = [*HEADINGS, "version", "target"]
    row: list[Cell] = [str(found.kind), found.size, original_time(found.modify_time), found.path]
    invocation.printer.table(Table(headings, [[*row, found.version, found.target]]))


@click.command("cat", cls=Verb)
@PLACES
@pass_invocation
def cat(invocation: Invocation, places: tuple[Remote, ...]) -> None:
    """Write files of filesystems to the output."""
    files = invocation.paddleflow().files
    for place in places:
        source = RemoteSource(files, place, files.stat(place.name, place.path, owner=place.owner))
        for offset in range(0, source.size, PIECE):
            sys.stdout.buffer.write(source.read(offset, PIECE))
    sys.stdout.buffer.flush()


@click.command("mkdir", cls=Verb)
@PLACES
@pass_invocation
def mkdir(invocation: Invocation, places: tuple[Remote, ...]) -> None:
    """Make folders in filesystems, and those above them that are missing."""
    files = invocation.paddleflow().files
    for place in places:
        files.make_folder(place.name, place.path, owner=place.owner)


@click.command("touch", cls=Verb)
@PLACES
@pass_invocation
def touch(invocation: Invocation, places: tuple[Remote, ...]) -> None:
    """Make empty files in filesystems, or say of those that are there that they changed now."""
    files = invocation.paddleflow().files
    for place in places:
        files.touch(place.name, place.path, owner=place.owner)


@click.command("rm", cls=Verb)
@PLACES
@RECURSIVE
@pass_invocation
def rm(invocation: Invocation, places: tuple[Remote, ...], recursive: bool) -> None:
    """Remove files of filesystems, empty folders, and with -r folders with all in them."""
    files = invocation.paddleflow().files
    for place in places:
        while files.remove(place.name, place.path, owner=place.owner, recursive=recursive).pending:
            continue


@click.command("mv", cls=Verb)
@PLACE
@TARGET
@click.option("-n", "--no-clobber", is_flag=True, help="Fail if there is a file already.")
@pass_invocation
def mv(invocation: Invocation, place: Remote, target: Remote, no_clobber: bool) -> None:
    """Give a file, or a folder where the place can do that, another path in the same filesystem."""
    if (place.name, place.owner) != (target.name, target.owner):
        raise click.UsageError("Files are moved inside of one filesystem only; use `fs cp` and then `fs rm`.")
    files = invocation.paddleflow().files
    files.rename(place.name, place.path, target.path, owner=place.owner, replace=not no_clobber)


@click.command("du", cls=Verb)
@PLACES
@pass_invocation
def du(invocation: Invocation, places: tuple[Remote, ...]) -> None:
    """Tell how many files are below folders of filesystems, and how many bytes they have."""
    rows = [_usage(invocation.paddleflow(), place) for place in places]
    invocation.printer.table(Table(["path", "files", "bytes", "size"], rows))


def _usage(paddleflow: PaddleFlow, place: Remote) -> list[Cell]:
    count = total = 0
    for each in _listed(paddleflow, place, recursive=True):
        count += each.kind is FileKind.REGULAR
        total += each.size
    return [str(place), count, total, round_amount(MEMORY, total)]


def _listed(paddleflow: PaddleFlow, place: Remote, *, recursive: bool) -> Iterator[FileInfo]:
    """What is in a folder, or the file itself."""
    found = paddleflow.files.stat(place.name, place.path, owner=place.owner)
    if found.kind is not FileKind.FOLDER:
        yield found
        return
    yield from paddleflow.files.list(place.name, place.path, owner=place.owner, recursive=recursive)


def _table(files: Iterable[FileInfo]) -> Table:
    rows: list[list[Cell]] = [[str(each.kind), each.size, original_time(each.modify_time), each.path] for each in files]
    return Table(HEADINGS, rows)
