"""``paddleflow login`` and ``paddleflow version``."""

from __future__ import annotations

from dataclasses import replace

import click

from paddleflow.cli.parameters import password
from paddleflow.cli.table import Table
from paddleflow.cli.verbs import Invocation, Verb, pass_invocation
from paddleflow.config import Config, write_user
from paddleflow.original import original_time


@click.command(cls=Verb)
@click.option("-u", "--username", help="Who you are; else the name in the configuration.")
@click.option("--password", "secret", metavar="PASSWORD", help="`-` reads it from the input; else it is asked for.")
@pass_invocation
def login(invocation: Invocation, username: str | None, secret: str | None) -> None:
    """Log in, and keep the token for the commands that follow.

    Only the token is kept, readable by you alone, beside the configuration; the password is not.
    """
    config = invocation.configuration()
    user = username or config.user or str(click.prompt("User", err=True))
    chosen = password(secret, f"Password of {user}", confirm=False)
    paddleflow = invocation.paddleflow_of(replace(config, user=user, password=chosen, token=""))
    made = paddleflow.tokens.log_in()
    invocation.printer.success(
        f"login success: {user} at {config.address} until {original_time(made.token.expire_time)}"
    )
    _remember(config, user)


def _remember(config: Config, user: str) -> None:
    """Sees to it that the next command knows whose token to use."""
    if config.user == user:
        return
    if not config.path.exists():
        write_user(config, user)
        click.echo(f"{config.path} written", err=True)
        return
    click.echo(f"to go on as {user}, set `name = {user}` under [user] in {config.path}", err=True)


@click.command(cls=Verb, failing="get paddleflow server version")
@pass_invocation
def version(invocation: Invocation) -> None:
    """Show the versions of this client and of the server."""
    from importlib.metadata import version as installed_version  # noqa: PLC0415 -- loads slowly

    server = ""
    try:
        server = invocation.paddleflow().info.get().version
    finally:
        # What is known is told also if the server does not answer.
        invocation.printer.table(Table(["client", "server"], [[installed_version("paddleflow"), server]]))
