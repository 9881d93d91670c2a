"""What an administrator can choose about the job service."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Annotated

from pf_job.runtimes.port import Ceiling
from pf_kit.lifecycle import Level
from pf_kit.server import ServerSettings
from pf_kit.service_settings import DatabaseSettings, KeptSettings
from pf_kit.setting_types import Between, Secret
from pf_kit.tracing import TraceSettings


@dataclass(frozen=True, slots=True)
class LocalSettings:
    """The cluster that is this machine."""

    cluster: str = "default-cluster"
    """The cluster whose jobs are processes of this machine. Empty: none."""
    folder: Path | None = None
    """Where replicas and their logs are kept. Empty: there is no local cluster."""
    endpoint: str = ""
    """Where replicas call this service, ``host:port``. Empty: the first address that it listens on, but for Unix
    sockets and for ports that are chosen anew at each start. Without any they cannot call it, nor can they if clients
    need certificates."""
    processes: Annotated[int, Between(16, 1_000_000)] = 4096
    """Processes and threads that a replica may have at one time."""
    log_megabytes: Annotated[int, Between(1, 10_000_000)] = 1024
    """What is kept of the output of a replica; of more, the oldest goes first."""
    hidden: tuple[str, ...] = ()
    """Folders and files that no replica sees."""
    cache_folders: tuple[str, ...] = ()
    """Where what jobs read of filesystems behind servers is kept: folders on the fastest disks, for this alone. Empty:
    ``pages`` in the folder of replicas."""
    cache_gigabytes: Annotated[int, Between(0, 10_000_000)] = 0
    """How much of it is kept, in all mounts of a filesystem; 0 is what the disks have room for."""
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
    kept_jobs_days: Annotated[float, Between(0.0001, 3660)] = 7.0
    """Days that a job which does not say so itself is kept when it is over, with its tasks, happenings and logs."""
    kept_card_times_days: Annotated[float, Between(1, 3660)] = 400.0
    """Days that it is known for how long jobs held what, whether they are kept or not: a year, and a month to look at
    it."""
    kept: KeptSettings = field(default_factory=KeptSettings)
    trace: TraceSettings = field(default_factory=TraceSettings)

    @property
    def kept_jobs(self) -> timedelta:
        return timedelta(days=self.kept_jobs_days)

    @property
    def kept_card_times(self) -> timedelta:
        return timedelta(days=self.kept_card_times_days)
