"""What an administrator can choose about the queue service."""

from __future__ import annotations

from base64 import b64decode
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from pf_kit.lifecycle import Level
from pf_kit.server import ServerSettings
from pf_kit.service_settings import DatabaseSettings, KeptSettings
from pf_kit.setting_types import Between, Secret
from pf_kit.tracing import TraceSettings
from pf_queue.accounts.settings import AccountSettings
from pf_queue.admission.core.pool import Tuning
from pf_queue.admission.domain import Patience
from pf_queue.admission.journal.segments import Keeping
from pf_queue.clusters.vault import KEY_BYTES


@dataclass(frozen=True, slots=True)
class RoundsSettings:
    """The log of all that admission is told and decides, which `paddleflow queue replay` plays again."""

    folder: Path | None = None
    """Where it is kept. Empty: nowhere. It names users, queues and jobs."""
    segment_megabytes: Annotated[int, Between(1, 4096)] = 64
    """Size of a file, after which the next one is begun. In a small one, times of waiting begin anew too often."""
    segments: Annotated[int, Between(2, 10_000)] = 16
    """Files that are kept, and so many times the size of one in all. The oldest go first."""

    @property
    def keeping(self) -> Keeping | None:
        return Keeping(self.folder, self.segment_megabytes * 2**20, self.segments) if self.folder else None


@dataclass(frozen=True, slots=True)
class AdmissionSettings:
    """How patient admission is."""

    start_minutes: Annotated[float, Between(0.1, 1440)] = 15.0
    """Minutes that an admitted workload has until it should run."""
    backoff_seconds: Annotated[float, Between(0, 3600)] = 60.0
    """Seconds before a workload that was not started is tried again; they double each time, up to an hour."""
    requeues: Annotated[int, Between(0, 100)] = 5
    """How often a workload that is not started is tried again before it is held."""
    passed_over_seconds: Annotated[float, Between(1, 86_400)] = 60.0
    """Seconds for which others may pass the first in order that does not fit, until room is kept for it."""
    kept_seconds: Annotated[float, Between(1, 86_400)] = 60.0
    """Seconds for which room is kept for a workload beyond the grace of those who leave for it."""
    rounds: RoundsSettings = field(default_factory=RoundsSettings)

    @property
    def tuning(self) -> Tuning:
        return Tuning(patience=_micros(self.passed_over_seconds), hold=_micros(self.kept_seconds))

    @property
    def patience(self) -> Patience:
        return Patience(
            start_within=_micros(self.start_minutes * 60),
            backoff=_micros(self.backoff_seconds),
            requeues=self.requeues,
        )


def _micros(seconds: float) -> int:
    return round(seconds * 1_000_000)


@dataclass(frozen=True, slots=True)
class QueueSettings:
    """All settings of the queue service."""

    database: DatabaseSettings
    server: ServerSettings
    redis: Secret
    """The event bus, as a URL: ``redis://host:6379`` or ``unix:///path/of/socket``. The service works without it;
    others hear of changes later then."""
    signing_key: Secret
    """The private Ed25519 key, in PEM, that signs the tokens of this installation. Whoever has it can be anybody."""
    credential_key: Secret
    """32 bytes of chance in base64, with which credentials of clusters are encrypted. Without it, those that are
    stored are lost."""
    address: str = ""
    """Where other instances and services reach this one. Empty: the first address it listens on, with the machine's
    name if that is all of its addresses."""
    older_keys: tuple[str, ...] = ()
    """Files with public keys, in PEM, of signing keys that were replaced: their tokens stay good until they end."""
    seeds: bool = True
    """At the first start, make the cluster `default-cluster`, the queue `default-queue` and three flavours."""
    log_level: Level = Level.INFO
    """From which level on lines stand in the log."""
    accounts: AccountSettings = field(default_factory=AccountSettings)
    admission: AdmissionSettings = field(default_factory=AdmissionSettings)
    kept: KeptSettings = field(default_factory=KeptSettings)
    trace: TraceSettings = field(default_factory=TraceSettings)

    def __post_init__(self) -> None:
        if len(self.vault_key) != KEY_BYTES:
            raise ValueError(f"credential_key must be {KEY_BYTES} bytes in base64; make one: openssl rand -base64 32")

    @property
    def vault_key(self) -> bytes:
        """The key of credentials; ValueError if it is no base64."""
        return b64decode(self.credential_key.reveal(), validate=True)
