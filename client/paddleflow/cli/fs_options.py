"""What commands about filesystems have in common."""

from __future__ import annotations

from pathlib import Path

import click

from paddleflow.cli.completion import complete_filesystem, complete_user
from paddleflow.models.filesystems import FilesystemQuotaChanges
from paddleflow.mount_places import real_place
from paddleflow.quantity import MEMORY, parse_amount

OWNER = click.option(
    "-u", "--username", default="", shell_complete=complete_user, help="Whose filesystem; else your own."
)
NAME = click.argument("name", metavar="FSNAME", shell_complete=complete_filesystem)
FOLDERS = click.option(
    "--data-cache-path", "--cache-dir", "folders", multiple=True, type=click.Path(path_type=Path),
    help="Where to keep what was read; given several times, on several disks. Commands share a cache if all name it.",
)  # fmt: skip
SIZE = click.option(
    "--cache-size", default="", help="How much of it, such as 100Gi; else what the disks have room for."
)
QUOTA_SIZE = click.option("--quota-size", default="", help="How much may lie there, such as 100Gi; 0: any amount.")
QUOTA_FILES = click.option("--quota-files", type=click.IntRange(0), help="How many files; 0: any number.")
PLACE = click.argument(
    "place", metavar="PATH", type=click.Path(path_type=Path), callback=lambda _context, _option, path: real_place(path)
)


def snapshot_place(text: str) -> str:
    """A file of this machine, or after a colon one of the filesystem."""
    return text if not text or text.startswith(":") else str(Path(text).absolute())


def quota_changes(size: str, files: int | None) -> FilesystemQuotaChanges:
    """What is given of a quota."""
    changes = FilesystemQuotaChanges()
    if size:
        changes["bytes"] = parse_amount(MEMORY, size)
    if files is not None:
        changes["files"] = files
    return changes


def chosen_size(text: str) -> int | None:
    """Bytes of --cache-size."""
    return parse_amount(MEMORY, text) if text else None
