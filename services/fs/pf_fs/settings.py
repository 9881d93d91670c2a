"""What an administrator can choose about the filesystem service."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from pf_kit.lifecycle import Level
from pf_kit.server import ServerSettings
from pf_kit.service_settings import DatabaseSettings, KeptSettings
from pf_kit.setting_types import Secret
from pf_kit.tracing import TraceSettings


@dataclass(frozen=True, slots=True)
class LocalSettings:
    """Which folders of the machine may be filesystems."""

    roots: tuple[str, ...] = ()
    """Folders that are set aside for users: the local filesystems that users make lie in or below one of them. `{user}`
    stands for the owner's name: with ``/data/{user}`` each has a folder of its own, with ``/data`` each may choose
    anybody's. Empty: only root makes local filesystems. Root makes them anywhere."""
    forbidden: tuple[str, ...] = ()
    """Folders that are never shared, beside those that make the machine what it is (such as ``/etc`` and ``/proc``):
    no filesystem lies in or around one of them."""
    installation: Path | None = None
    """The folder with the data of this installation, which is never shared either."""

    def __post_init__(self) -> None:
        for setting, folders in (("roots", self.roots), ("forbidden", self.forbidden)):
            if wrong := [folder for folder in folders if not folder.startswith("/") or ".." in folder.split("/")]:
                raise ValueError(f"{setting} must be absolute paths without '..', and {wrong[0]!r} is none")

    @property
    def never(self) -> tuple[Path, ...]:
        """All that the administrator forbids."""
        own = (self.installation,) if self.installation else ()
        return (*map(Path, self.forbidden), *own)


@dataclass(frozen=True, slots=True)
class FsSettings:
    """All settings of the filesystem service."""

    database: DatabaseSettings
    server: ServerSettings
    redis: Secret
    """The event bus, as a URL: ``redis://host:6379`` or ``unix:///path/of/socket``. The service works without it;
    others hear of changes later then."""
    signing_key: Secret
    """The private Ed25519 key, in PEM, that signs the tokens of this installation. Whoever has it can be anybody."""
    queue: str
    """Where the queue service is, which keeps users and their tokens: ``host:port`` or ``unix:/path/of/socket``."""
    log_level: Level = Level.INFO
    """From which level on lines stand in the log."""
    local: LocalSettings = field(default_factory=LocalSettings)
    kept: KeptSettings = field(default_factory=KeptSettings)
    trace: TraceSettings = field(default_factory=TraceSettings)
