"""What an administrator can choose about the pipeline service."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Annotated

from pf_kit.lifecycle import Level
from pf_kit.server import ServerSettings
from pf_kit.service_settings import DatabaseSettings, KeptSettings
from pf_kit.setting_types import Between, Secret
from pf_kit.tracing import TraceSettings
from pf_pipeline.notices.settings import NoticeSettings


@dataclass(frozen=True, slots=True)
class PipelineSettings:
    """All settings of the pipeline service."""

    database: DatabaseSettings
    server: ServerSettings
    redis: Secret
    """The event bus, as a URL: ``redis://host:6379`` or ``unix:///path/of/socket``. The service works without it;
    others hear of changes later then."""
    signing_key: Secret
    """The private Ed25519 key, in PEM, that signs the tokens of this installation. Whoever has it can be anybody."""
    queue: str
    """Where the queue service is, which keeps users: ``host:port`` or ``unix:/path/of/socket``."""
    fs: str
    """Where the filesystem service is: ``host:port`` or ``unix:/path/of/socket``."""
    job: str
    """Where the job service is, which runs the steps: ``host:port`` or ``unix:/path/of/socket``."""
    log_level: Level = Level.INFO
    """From which level on lines stand in the log."""
    kept_runs_days: Annotated[float, Between(0.0001, 3660)] = 90.0
    """Days that a run is kept when it is over, with its nodes, what happened in it, and its cached results. Its
    artifacts stay until the run is deleted."""
    notices: NoticeSettings = field(default_factory=NoticeSettings)
    kept: KeptSettings = field(default_factory=KeptSettings)
    trace: TraceSettings = field(default_factory=TraceSettings)

    @property
    def kept_runs(self) -> timedelta:
        return timedelta(days=self.kept_runs_days)
