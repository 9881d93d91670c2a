"""Who changed what, and which software answers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TypedDict


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """One change somebody made."""

    id: int
    """Grows."""
    create_time: datetime | None
    actor: str
    """Who: ``user/<name>`` or ``service/<name>``."""
    on_behalf_of: str
    """For whom, if a service acted for a user: ``user/<name>``."""
    method: str
    """For example ``/paddleflow.queue.v1.QueueService/CreateQueue``."""
    subject: str
    """What was changed, as ``<kind>/<name>``."""
    peer: str
    """From which address the call came."""
    request_id: str


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """Which software answers."""

    service: str
    version: str
    installation: str
    """Names the installation for as long as it lives."""


class AuditFilter(TypedDict, total=False):
    """Which records to list; filters that are given must all match."""

    service: str
    """Whose record, for example ``fs``; that of the queue service if none is named."""
    actor: str
    """As in ``user/alice``."""
    subject: str
    """As in ``queue/team-a``."""
    since: datetime
