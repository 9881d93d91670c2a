"""``paddleflow fs createfscache`` and its like: how filesystems are cached, and where they are mounted."""

from __future__ import annotations

import click

from paddleflow.cli.fs_options import NAME, OWNER
from paddleflow.cli.fs_properties import property_option
from paddleflow.cli.parameters import paging
from paddleflow.cli.table import Table
from paddleflow.cli.verbs import Invocation, Verb, pass_invocation
from paddleflow.models.mounts import FilesystemCache, MountFilter, MountReport
from paddleflow.original import original_time
from paddleflow.original_caches import cache_words, read_cache
from paddleflow.quantity import MEMORY, round_amount


@click.command("createfscache", cls=Verb, output=["--output"])
@NAME
@OWNER
@property_option
@pass_invocation
def createfscache(invocation: Invocation, name: str, username: str, properties: dict[str, str]) -> None:
    """Say how those who mount a filesystem keep what they have read, in place of what was said before.

    Properties are cacheDir=/FOLDER[,/FOLDER…], metaDriver=mem|disk, blockSize=4Mi, size=100Gi, cleanCache=true,
    debug=true, cpuLimit=2, memoryLimit=1Gi, nodeAffinity.LABEL=VALUE and extraConfig.OPTION=VALUE. What is left open is
    the choice of whoever mounts. Refused while the filesystem is mounted.
    """
    made = invocation.paddleflow().mounts.set_cache(name, read_cache(properties), owner=username)
    invocation.printer.success(f"fs[{name}] cache create success", [_cache_table(name, made)])


@click.command("getfscache", cls=Verb)
@NAME
@OWNER
@pass_invocation
def getfscache(invocation: Invocation, name: str, username: str) -> None:
    """Show what was said about the cache of a filesystem."""
    found = invocation.paddleflow().mounts.get_cache(name, owner=username)
    invocation.printer.table(_cache_table(name, found))


@click.command("deletefscache", cls=Verb)
@NAME
@OWNER
@pass_invocation
def deletefscache(invocation: Invocation, name: str, username: str) -> None:
    """Leave the cache of a filesystem to those who mount it. Refused while it is mounted."""
    invocation.paddleflow().mounts.delete_cache(name, owner=username)
    invocation.printer.success(f"fs[{name}] cache delete success")


@click.command("mounts", cls=Verb)
@click.argument("name", metavar="[FSNAME]", required=False, default="")
@paging
@OWNER
@click.option("--node", default="", help="Only on this machine.")
@pass_invocation
def mounts(invocation: Invocation, name: str, maxsize: int, marker: str, username: str, node: str) -> None:
    """List where your filesystems, or FSNAME, are mounted, and your own mounts; for root all."""
    chosen: MountFilter = {"name": name, "owner": username, "node": node}
    page = invocation.paddleflow().mounts.page(maxsize, marker, **chosen)
    headings = ["fs", "user name", "node", "path", "read only", "used", "hit", "reported"]
    invocation.printer.list(Table(headings, [_row(each) for each in page.items]), "mount", page.next_token)


def _cache_table(name: str, cache: FilesystemCache) -> Table:
    words = cache_words(cache)
    return Table(["name", *words], [[name, *words.values()]])


def _row(each: MountReport) -> list[str | bool]:
    usage = each.usage
    read = usage.hit_bytes + usage.missed_bytes
    return [
        each.filesystem_id,
        each.user,
        each.node,
        each.path,
        each.read_only,
        round_amount(MEMORY, usage.used_bytes),
        f"{100 * usage.hit_bytes // read} %" if read else "",
        original_time(each.report_time),
    ]
