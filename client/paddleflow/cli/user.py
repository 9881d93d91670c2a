"""``paddleflow user``."""

from __future__ import annotations

import click

from paddleflow.cli.parameters import paging, password
from paddleflow.cli.table import Table
from paddleflow.cli.verbs import Invocation, Noun, pass_invocation
from paddleflow.original import original_time


@click.group(cls=Noun)
def user() -> None:
    """Manage users. All but changing one's own password is for root."""


@user.command("list")
@paging
@pass_invocation
def list_users(invocation: Invocation, maxsize: int, marker: str) -> None:
    """List users."""
    page = invocation.paddleflow().users.page(maxsize, marker)
    rows = [[each.name, original_time(each.create_time)] for each in page.items]
    invocation.printer.list(Table(["name", "create time"], rows), "users", page.next_token)


@user.command("add", failing="user[{name}] add")
@click.argument("name")
@click.argument("secret", metavar="[PASSWORD]", required=False)
@pass_invocation
def add(invocation: Invocation, name: str, secret: str | None) -> None:
    """Add a user.

    NAME is 4 to 16 letters and digits. PASSWORD has at least 6 characters, among them a digit and a lower-case letter;
    left out it is asked for, and `-` reads it from the input, which keeps it out of the history of the shell.
    """
    chosen = password(secret, f"Password of {name}", confirm=True)
    added = invocation.paddleflow().users.create(name, chosen)
    table = Table(["name", "create time"], [[added.name, original_time(added.create_time)]])
    invocation.printer.success(f"user[{name}] add success", [table])


@user.command("set", failing="user[{name}] update")
@click.argument("name")
@click.argument("secret", metavar="[PASSWORD]", required=False)
@click.option("--old-password", help="The password so far, to change one's own; else that of the configuration.")
@pass_invocation
def set_password(invocation: Invocation, name: str, secret: str | None, old_password: str | None) -> None:
    """Change a user's password, which ends all the user's tokens.

    PASSWORD is given as for `user add`.
    """
    config, paddleflow = invocation.configuration(), invocation.paddleflow()
    own = paddleflow.tokens.who_am_i().user == name
    configured = config.password if config.user == name else ""
    chosen = password(secret, f"New password of {name}", confirm=True)
    old = password(old_password or configured or None, f"Old password of {name}", confirm=False) if own else ""
    paddleflow.users.set_password(chosen, name=name, old_password=old)
    invocation.printer.success(f"user[{name}] update success")
    if configured:
        click.echo(f"the configuration still has the old password: change it in {config.path}", err=True)
    elif own:
        click.echo("your tokens have ended with the old password: log in again with `paddleflow login`", err=True)


@user.command("delete", failing="user[{name}] delete")
@click.argument("name")
@pass_invocation
def delete(invocation: Invocation, name: str) -> None:
    """Delete a user, its tokens and its grants."""
    invocation.paddleflow().users.delete(name)
    invocation.printer.success(f"user[{name}] delete success")
