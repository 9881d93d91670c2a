"""``paddleflow run``: artifacts, and results that may be used again."""

from __future__ import annotations

import click

from paddleflow.cli.completion import complete_filesystem, complete_run, complete_user
from paddleflow.cli.parameters import paging, words
from paddleflow.cli.run_tables import artifact_table, cached_details, cached_table
from paddleflow.cli.verbs import F, Invocation, Verb, pass_invocation
from paddleflow.models.artifacts import ArtifactUse
from paddleflow.original import member

CACHED = click.argument("id", metavar="CACHEID")


def filters(function: F) -> F:
    """The options that choose whose, where and of which run."""
    user = click.option("-u", "--userfilter", default="", shell_complete=complete_user, help="Only of this user.")
    place = click.option(
        "-f", "--fsfilter", default="", shell_complete=complete_filesystem, help="Only in this filesystem."
    )
    run = click.option("-r", "--runfilter", default="", shell_complete=complete_run, help="Only of this run.")
    return user(place(run(function)))


@click.command("listcache", cls=Verb, failing="cache list")
@filters
@paging
@pass_invocation
def listcache(
    invocation: Invocation, userfilter: str, fsfilter: str, runfilter: str, maxsize: int, marker: str
) -> None:
    """List results that may be used again, the newest first."""
    page = invocation.paddleflow().artifacts.cached_page(
        maxsize, marker, owners=words(userfilter), filesystems=words(fsfilter), run_ids=words(runfilter)
    )
    invocation.printer.list(cached_table(page.items), "cache", page.next_token)


@click.command("showcache", cls=Verb, failing="cache show")
@CACHED
@pass_invocation
def showcache(invocation: Invocation, id: str) -> None:  # noqa: A002 -- the word of the contract
    """Show a result that may be used again."""
    for table in cached_details(invocation.paddleflow().artifacts.get_cached(id)):
        invocation.printer.table(table)


@click.command("deletecache", cls=Verb, failing="cache delete")
@CACHED
@pass_invocation
def deletecache(invocation: Invocation, id: str) -> None:  # noqa: A002 -- the word of the contract
    """Forget a result, so that it is made again; the artifacts stay."""
    invocation.paddleflow().artifacts.delete_cached(id)
    invocation.printer.success(f"cache id [{id}] delete success")


@click.command("listartifact", cls=Verb, failing="artifact list")
@filters
@click.option("-t", "--typefilter", default="", help="Only what steps read (input), or wrote (output).")
@click.option("-p", "--pathfilter", default="", help="Only what lies below this path.")
@paging
@pass_invocation
def listartifact(
    invocation: Invocation,
    userfilter: str,
    fsfilter: str,
    runfilter: str,
    typefilter: str,
    pathfilter: str,
    maxsize: int,
    marker: str,
) -> None:
    """List which step read or wrote what, the newest first."""
    page = invocation.paddleflow().artifacts.event_page(
        maxsize,
        marker,
        owners=words(userfilter),
        filesystems=words(fsfilter),
        run_ids=words(runfilter),
        uses=[member(ArtifactUse, word, "typefilter") for word in words(typefilter)],
        path_prefixes=words(pathfilter),
    )
    invocation.printer.list(artifact_table(page.items), "artifact", page.next_token)
