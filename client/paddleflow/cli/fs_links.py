"""``paddleflow fs link`` and its like: other places in folders of a filesystem."""

from __future__ import annotations

from collections.abc import Iterable

import click

from paddleflow.cli.fs_options import NAME, OWNER
from paddleflow.cli.fs_properties import property_option
from paddleflow.cli.table import Cell, Table
from paddleflow.cli.verbs import Invocation, Verb, pass_invocation
from paddleflow.models.mounts import FilesystemLink
from paddleflow.original import HIDDEN

PATH = click.argument("path", metavar="FSPATH")


@click.command("link", cls=Verb, output=["--output"])
@NAME
@PATH
@click.argument("url")
@OWNER
@property_option
@pass_invocation
def link(invocation: Invocation, name: str, path: str, url: str, username: str, properties: dict[str, str]) -> None:
    """Let the files of URL appear in the folder FSPATH of a filesystem.

    FSPATH must not be there yet, or be an empty folder. URL, properties and secrets are given as for `fs create`. The
    link shows wherever the filesystem is mounted from then on.
    """
    made = invocation.paddleflow().links.create(name, FilesystemLink(_inner(path), url, properties), owner=username)
    invocation.printer.success(f"fs[{name}] link[{path}] create success", [_table([made])])


@click.command("showlink", cls=Verb)
@NAME
@PATH
@OWNER
@pass_invocation
def showlink(invocation: Invocation, name: str, path: str, username: str) -> None:
    """Show the link at a path of a filesystem."""
    found = invocation.paddleflow().links.get(name, _inner(path), owner=username)
    invocation.printer.table(_table([found]))


@click.command("listlink", cls=Verb)
@NAME
@OWNER
@pass_invocation
def listlink(invocation: Invocation, name: str, username: str) -> None:
    """List the links of a filesystem."""
    found = invocation.paddleflow().links.list(name, owner=username)
    invocation.printer.list(_table(found), "link", "")


@click.command("unlink", cls=Verb)
@NAME
@PATH
@OWNER
@pass_invocation
def unlink(invocation: Invocation, name: str, path: str, username: str) -> None:
    """Remove the link at a path of a filesystem; the files stay where they are."""
    invocation.paddleflow().links.delete(name, _inner(path), owner=username)
    invocation.printer.success(f"fs[{name}] link[{path}] delete success")


def _inner(path: str) -> str:
    """The path in the filesystem, which people also write with a slash before it."""
    return path.lstrip("/")


def _table(links: Iterable[FilesystemLink]) -> Table:
    return Table(["path", "type", "url", "properties"], [_row(each) for each in links])


def _row(each: FilesystemLink) -> list[Cell]:
    hidden = dict.fromkeys(each.secret_properties, HIDDEN)
    return [each.path, str(each.kind), each.url, dict(each.properties) | hidden]
