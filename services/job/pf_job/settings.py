"""What an administrator can choose about the job service."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Annotated

from pf_job.runtimes.port import Ceiling
from pf_kit.lifecycle import Level
from pf_kit.server import ServerSettings
from pf_kit.setting_types import Between, Secret
from pf_kit.tracing import TraceSettings


@dataclass(frozen=True, slots=True)
class DatabaseSettings:
    """The service's Postgres."""

    dsn: Secret
    """Where Postgres is, as a URL: ``postgresql://user:password@host:5432/database``. The service makes a schema
    ``job`` of its own there."""
    connections: Annotated[int, Between(2, 200)] = 8
    """Most connections at once. Postgres serves short transactions best with few; more callers wait for a moment."""
    migrate: bool = True
    """Bring the schema up to date at start. Turn it off where migrations are a step of their own."""


@dataclass(frozen=True, slots=True)
class KeptSettings:
    """How long what is no longer needed is kept."""

    jobs_days: Annotated[float, Between(0.0001, 3660)] = 7.0
    """Days that a job which does not say so itself is kept when it is over, with its tasks, happenings and logs."""
    events_days: Annotated[float, Between(0.01, 3660)] = 7.0
    """Days that a watcher or another service may be away and still go on where it was."""
    requests_hours: Annotated[float, Between(1, 8784)] = 48.0
    """Hours in which a repeated request is recognised. Longer than any client goes on retrying."""
    audit_days: Annotated[float, Between(1, 3660)] = 400.0
    """Days that it is known who changed what: a year, and a month to look at it."""

    @property
    def jobs(self) -> timedelta:
        return timedelta(days=self.jobs_days)

    @property
    def events(self) -> timedelta:
        return timedelta(days=self.events_days)

    @property
    def requests(self) -> timedelta:
        return timedelta(hours=self.requests_hours)

    @property
    def audit(self) -> timedelta:
        return timedelta(days=self.audit_days)


@dataclass(frozen=True, slots=True)
class LocalSettings:
    """The cluster that is this machine."""

    cluster: str = "default-cluster"
    """The cluster whose jobs are processes of this machine. Empty: none."""
    folder: Path | None = None
    """Where replicas and their logs are kept. Empty: there is no local cluster."""
    processes: Annotated[int, Between(16, 1_000_000)] = 4096
    """Processes and threads that a replica may have at one time."""
    log_megabytes: Annotated[int, Between(1, 10_000_000)] = 1024
    """What is kept of the output of a replica; of more, the oldest goes first."""
    hidden: tuple[str, ...] = ()
    """Folders and files that no replica sees."""
    installation: Path | None = None
    """The folder with the data and the keys of this installation, which no replica sees either."""

    @property
    def unseen(self) -> tuple[str, ...]:
        return (*self.hidden, str(self.installation)) if self.installation else self.hidden

    @property
    def everybody(self) -> Ceiling:
        """What each replica may use at most, whatever its job says."""
        return Ceiling(processes=self.processes, log=self.log_megabytes * 2**20)


@dataclass(frozen=True, slots=True)
class JobSettings:
    """All settings of the job service."""

    database: DatabaseSettings
    server: ServerSettings
    redis: Secret
    """The event bus, as a URL: ``redis://host:6379`` or ``unix:///path/of/socket``. The service works without it;
    others hear of changes later then."""
    signing_key: Secret
    """The private Ed25519 key, in PEM, that signs the tokens of this installation. Whoever has it can be anybody."""
    queue: str
    """Where the queue service is, which keeps users, and admits jobs: ``host:port`` or ``unix:/path/of/socket``."""
    fs: str
    """Where the filesystem service is: ``host:port`` or ``unix:/path/of/socket``."""
    log_level: Level = Level.INFO
    """From which level on lines stand in the log."""
    local: LocalSettings = field(default_factory=LocalSettings)
    kept: KeptSettings = field(default_factory=KeptSettings)
    trace: TraceSettings = field(default_factory=TraceSettings)
