"""``paddleflow audit``."""

from __future__ import annotations

from datetime import UTC, datetime

import click

from paddleflow.address import ENTRANCE, SERVICES
from paddleflow.cli.parameters import moment, paging
from paddleflow.cli.table import Table
from paddleflow.cli.verbs import Invocation, Noun, pass_invocation
from paddleflow.models.audit import AuditRecord
from paddleflow.original import original_time

HEADINGS = ["id", "time", "actor", "on behalf of", "method", "subject", "peer", "request id"]
BEGINNING = datetime.fromtimestamp(0, UTC)


@click.group(cls=Noun)
def audit() -> None:
    """Read who changed what. For root."""


@audit.command("list")
@paging
@click.option("--actor", default="", help="Only changes by this caller, as in user/alice.")
@click.option("--subject", default="", help="Only changes of this, as in queue/team-a.")
@click.option("--since", help="Only changes at or after this: 2h (ago), 2026-05-01, 2026-05-01T12:00:00+02:00.")
@click.option(
    "--service", type=click.Choice([*SERVICES]), default=ENTRANCE, show_default=True, help="Which service's record."
)
@pass_invocation
def list_records(
    invocation: Invocation, maxsize: int, marker: str, actor: str, subject: str, since: str | None, service: str
) -> None:
    """List changes, newest first. Each service keeps a record of its own."""
    start = moment("since", since, datetime.now(UTC)) if since else BEGINNING
    page = invocation.paddleflow().audit.page(
        maxsize, marker, actor=actor, subject=subject, since=start, service=service
    )
    invocation.printer.list(Table(HEADINGS, [_row(each) for each in page.items]), "records", page.next_token)


def _row(record: AuditRecord) -> list[str | int]:
    return [
        record.id,
        original_time(record.create_time),
        record.actor,
        record.on_behalf_of,
        record.method.rpartition("/")[2],
        record.subject,
        record.peer,
        record.request_id,
    ]
