"""What commands about filesystems have in common."""

from __future__ import annotations

import click

from paddleflow.cli.completion import complete_filesystem, complete_user

OWNER = click.option(
    "-u", "--username", default="", shell_complete=complete_user, help="Whose filesystem; else your own."
)
NAME = click.argument("name", metavar="FSNAME", shell_complete=complete_filesystem)
