"""``paddleflow fs``."""

from __future__ import annotations

import click

from paddleflow.cli.completion import complete_filesystem, complete_user
from paddleflow.cli.fs_bench import run_bench
from paddleflow.cli.fs_caches import createfscache, deletefscache, getfscache, mounts
from paddleflow.cli.fs_copy import cp
from paddleflow.cli.fs_files import cat, du, find, ls, mkdir, mv, rm, stat, touch
from paddleflow.cli.fs_keeping import fsck, gc
from paddleflow.cli.fs_links import link, listlink, showlink, unlink
from paddleflow.cli.fs_mount import mount, umount
from paddleflow.cli.fs_options import NAME, OWNER, QUOTA_FILES, QUOTA_SIZE, quota_changes
from paddleflow.cli.fs_profile import profile
from paddleflow.cli.fs_properties import property_option
from paddleflow.cli.fs_snapshot import snapshot
from paddleflow.cli.fs_stats import stats
from paddleflow.cli.fs_warmup import warmup
from paddleflow.cli.parameters import paging
from paddleflow.cli.table import Cell, Table
from paddleflow.cli.verbs import Invocation, Noun, pass_invocation
from paddleflow.models.filesystems import Filesystem, FilesystemAccess, FilesystemQuota
from paddleflow.original import original_filesystem, original_time
from paddleflow.quantity import MEMORY, format_amount

HEADINGS = ["name", "owner", "type", "server address", "sub path", "properties", "quota"]
USER = click.argument("user", metavar="USERNAME", shell_complete=complete_user)


@click.group(cls=Noun)
def fs() -> None:
    """Manage filesystems: names under which jobs find files."""


@fs.command("create", output=["--output"])
@click.argument("name", metavar="FSNAME")
@click.argument("url")
@click.option(
    "-u", "--username", default="", shell_complete=complete_user, help="Whose it is to be; only root may name others."
)
@property_option
@QUOTA_SIZE
@QUOTA_FILES
@pass_invocation
def create(
    invocation: Invocation,
    name: str,
    url: str,
    username: str,
    properties: dict[str, str],
    quota_size: str,
    quota_files: int | None,
) -> None:
    """Add a filesystem.

    URL says where the files lie: local:///folder, s3://bucket/path, bos://bucket/path, hdfs://host:port/path,
    sftp://host:port/path, cfs://host/path, glusterfs://host:volume, afs://host/path. Its server must answer.

    Keep secrets out of the command line: VALUE is read from a file as @FILE, from the environment as '$NAME', and from
    the terminal, or a line of the input, as -. A value that begins with @ or $ is written with that letter twice.
    """
    quota = FilesystemQuota(**quota_changes(quota_size, quota_files))
    made = invocation.paddleflow().filesystems.create(Filesystem(name, url, username, properties, quota=quota))
    invocation.printer.success(f"fs[{name}] create success", [_table(made)])


@fs.command("list")
@paging
@click.option("-u", "--username", default="", shell_complete=complete_user, help="Only those of this user.")
@click.option("--prefix", default="", help="Only those whose names begin so.")
@pass_invocation
def list_filesystems(invocation: Invocation, maxsize: int, marker: str, username: str, prefix: str) -> None:
    """List your filesystems and those that are shared with you; for root all."""
    page = invocation.paddleflow().filesystems.page(maxsize, marker, owner=username, name_prefix=prefix)
    invocation.printer.list(_table(*page.items), "fs", page.next_token)


@fs.command("show", failing="describe fs")
@NAME
@OWNER
@pass_invocation
def show(invocation: Invocation, name: str, username: str) -> None:
    """Show a filesystem: your own, or the only one of that name that is shared with you."""
    invocation.printer.table(_table(invocation.paddleflow().filesystems.get(name, owner=username)))


@fs.command("update", output=["--output"])
@NAME
@OWNER
@property_option
@QUOTA_SIZE
@QUOTA_FILES
@pass_invocation
def update(
    invocation: Invocation,
    name: str,
    username: str,
    properties: dict[str, str],
    quota_size: str,
    quota_files: int | None,
) -> None:
    """Change properties of a filesystem, secrets among them, and its quota; the others stay.

    VALUE is given as for `fs create`. With nothing after the = the property goes away. What is mounted already goes on
    with the old ones, and takes over the quota within half a minute.
    """
    changes = {key: value or None for key, value in properties.items()}
    quota = quota_changes(quota_size, quota_files)
    made = invocation.paddleflow().filesystems.update(name, changes, quota=quota, owner=username)
    invocation.printer.success(f"fs[{name}] update success", [_table(made)])


@fs.command("delete")
@NAME
@OWNER
@pass_invocation
def delete(invocation: Invocation, name: str, username: str) -> None:
    """Delete a filesystem and the grants on it; the files stay as they are."""
    invocation.paddleflow().filesystems.delete(name, owner=username)
    invocation.printer.success(f"fs[{name}] delete success")


@fs.command("grant")
@NAME
@USER
@OWNER
@click.option("--read-only", is_flag=True, help="Let the user read only.")
@pass_invocation
def grant(invocation: Invocation, name: str, user: str, username: str, read_only: bool) -> None:
    """Share a filesystem with a user, in place of what it was allowed before."""
    access = FilesystemAccess.READ if read_only else FilesystemAccess.READ_WRITE
    invocation.paddleflow().filesystems.grant(name, user, access, owner=username)
    invocation.printer.success(f"fs[{name}] grant {access} to username[{user}] success")


@fs.command("ungrant")
@NAME
@USER
@OWNER
@pass_invocation
def ungrant(invocation: Invocation, name: str, user: str, username: str) -> None:
    """Take a grant back."""
    invocation.paddleflow().filesystems.revoke(name, user, owner=username)
    invocation.printer.success(f"fs[{name}] delete username[{user}] success")


@fs.command("grants")
@click.argument("name", metavar="[FSNAME]", required=False, default="", shell_complete=complete_filesystem)
@paging
@OWNER
@click.option("--to", "user", default="", shell_complete=complete_user, help="Only grants to this user.")
@pass_invocation
def grants(invocation: Invocation, name: str, maxsize: int, marker: str, username: str, user: str) -> None:
    """List with whom your filesystems, or FSNAME, are shared, and what is shared with you; for root all."""
    filesystems = invocation.paddleflow().filesystems
    page = filesystems.grant_page(maxsize, marker, name=name, owner=username, user=user)
    if name and not page.items:
        # A filesystem that is shared with nobody is no mistake; one that there is not is told to be none.
        filesystems.get(name, owner=username)
    rows = [[each.filesystem_id, each.user, str(each.access), original_time(each.create_time)] for each in page.items]
    invocation.printer.list(Table(["fs", "user name", "access", "create time"], rows), "grant", page.next_token)


CACHES = (createfscache, getfscache, deletefscache, mounts)
LINKS = (link, showlink, listlink, unlink)
MOUNTS = (mount, umount, stats, profile, warmup, snapshot, run_bench, fsck, gc)
for command in (*CACHES, *LINKS, *MOUNTS):
    fs.add_command(command)
for command in (cat, cp, du, find, ls, mkdir, mv, rm, stat, touch):
    fs.add_command(command)


def _table(*filesystems: Filesystem) -> Table:
    return Table(HEADINGS, [_row(each) for each in filesystems])


def _row(each: Filesystem) -> list[Cell]:
    shape = original_filesystem(each)
    return [
        each.name,
        each.owner,
        str(each.kind),
        shape.server_address,
        shape.sub_path,
        dict(shape.properties),
        _quota(each),
    ]


def _quota(each: Filesystem) -> Cell:
    size = {"size": format_amount(MEMORY, each.quota.bytes)} if each.quota.bytes else {}
    return {**size, "files": each.quota.files} if each.quota.files else size
