"""``paddleflow token``."""

from __future__ import annotations

import click

from paddleflow.cli.parameters import duration, paging
from paddleflow.cli.table import Table
from paddleflow.cli.verbs import Invocation, Noun, pass_invocation
from paddleflow.models.users import Token
from paddleflow.original import original_time

HEADINGS = ["id", "user", "description", "create time", "expire time"]


@click.group(cls=Noun)
def token() -> None:
    """Manage tokens, with which programs prove whom they act for."""


@token.command("create")
@click.argument("description")
@click.option("--lifetime", metavar="DURATION", help="How long it lasts: 90m, 12h, 30d. Else as long as a login's.")
@click.option("-u", "--username", default="", help="Whose token; only root makes tokens for others.")
@pass_invocation
def create(invocation: Invocation, description: str, lifetime: str | None, username: str) -> None:
    """Make a token and print its secret, which is not shown again.

    DESCRIPTION says what the token is for. Use the secret as PADDLEFLOW_TOKEN, or as `token` in the configuration.
    """
    lasting = duration("lifetime", lifetime) if lifetime else None
    made = invocation.paddleflow().tokens.create(description, lifetime=lasting, user=username)
    printer = invocation.printer
    if printer.form.structured:
        printer.table(Table([*HEADINGS, "secret"], [[*_row(made.token), made.secret]]))
        return
    click.echo(f"token[{made.token.id}] create success, good until {original_time(made.token.expire_time)}", err=True)
    printer.line(made.secret)


@token.command("list")
@paging
@click.option("-u", "--username", default="", help="Whose tokens; root sees everybody's without it.")
@pass_invocation
def list_tokens(invocation: Invocation, maxsize: int, marker: str, username: str) -> None:
    """List the tokens that are still good, newest first, without their secrets."""
    page = invocation.paddleflow().tokens.page(maxsize, marker, user=username)
    invocation.printer.list(Table(HEADINGS, [_row(each) for each in page.items]), "tokens", page.next_token)


@token.command("revoke")
@click.argument("token_id", metavar="ID")
@pass_invocation
def revoke(invocation: Invocation, token_id: str) -> None:
    """End a token: every service refuses it within 5 seconds."""
    invocation.paddleflow().tokens.revoke(token_id)
    invocation.printer.success(f"token[{token_id}] revoke success")


def _row(each: Token) -> list[str]:
    return [
        each.id,
        each.user,
        each.description or "login",
        original_time(each.create_time),
        original_time(each.expire_time),
    ]
