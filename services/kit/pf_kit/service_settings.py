"""The settings that services have in common."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Protocol

from pf_kit.server import ServerSettings
from pf_kit.setting_types import Between, Secret
from pf_kit.tracing import TraceSettings


@dataclass(frozen=True, slots=True)
class DatabaseSettings:
    """A service's Postgres."""

    dsn: Secret
    """Where Postgres is, as a URL: ``postgresql://user:password@host:5432/database``. The service makes a schema of its
    own there, of its own name: ``queue``, for example, or ``job``."""
    connections: Annotated[int, Between(2, 200)] = 8
    """Most connections at once. Postgres serves short transactions best with few; more callers wait for a moment."""
    migrate: bool = True
    """Bring the schema up to date at start. Turn it off where migrations are a step of their own."""


@dataclass(frozen=True, slots=True)
class KeptSettings:
    """How long what is no longer needed is kept."""

    events_days: Annotated[float, Between(0.01, 3660)] = 7.0
    """Days that a watcher or another service may be away and still go on where it was."""
    requests_hours: Annotated[float, Between(1, 8784)] = 48.0
    """Hours in which a repeated request is recognised. Longer than any client goes on retrying."""
    audit_days: Annotated[float, Between(1, 3660)] = 400.0
    """Days that it is known who changed what: a year, and a month to look at it."""

    @property
    def events(self) -> timedelta:
        return timedelta(days=self.events_days)

    @property
    def requests(self) -> timedelta:
        return timedelta(hours=self.requests_hours)

    @property
    def audit(self) -> timedelta:
        return timedelta(days=self.audit_days)


class GroundSettings(Protocol):
    """Where a service finds what it stands on."""

    @property
    def database(self) -> DatabaseSettings:
        """Its Postgres."""

    @property
    def redis(self) -> Secret:
        """The event bus, as a URL."""

    @property
    def kept(self) -> KeptSettings:
        """How long it keeps what every service has."""

    @property
    def trace(self) -> TraceSettings:
        """Where its traces go."""


class MemberSettings(GroundSettings, Protocol):
    """How a service joins an installation."""

    @property
    def server(self) -> ServerSettings:
        """Where it serves."""

    @property
    def signing_key(self) -> Secret:
        """Signs the tokens of the installation, its own among them."""

    @property
    def queue(self) -> str:
        """Where the service is that keeps users and their tokens."""
