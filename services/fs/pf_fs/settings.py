"""What an administrator can choose about the filesystem service."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from pf_fs.mounted import mounted_of
from pf_kit.addresses import allowed_of
from pf_kit.lifecycle import Level
from pf_kit.sealing import KEY_BYTES, KeyRing
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
    mounted: tuple[str, ...] = ()
    """What the administrator has mounted on the machines, for filesystems of kind CFS, GLUSTERFS and AFS: URLs, each
    with the folder where it is, as in ``cfs://nfs.example.org/export=/mnt/nfs``. Users get at folders below, as far as
    ``roots`` says."""

    def __post_init__(self) -> None:
        mounted_of(self.mounted)
        for setting, folders in (("roots", self.roots), ("forbidden", self.forbidden)):
            if wrong := [folder for folder in folders if not folder.startswith("/") or ".." in folder.split("/")]:
                raise ValueError(f"{setting} must be absolute paths without '..', and {wrong[0]!r} is none")

    @property
    def never(self) -> tuple[Path, ...]:
        """All that the administrator forbids."""
        own = (self.installation,) if self.installation else ()
        return (*map(Path, self.forbidden), *own)


@dataclass(frozen=True, slots=True)
class ServersSettings:
    """Which servers filesystems may lie behind."""

    allowed: tuple[str, ...] = ()
    """Servers that may be called beside those with public addresses: names, ``.example.com`` for all names that end so,
    addresses and networks such as ``10.1.0.0/16``. Empty: nobody makes the service call what only it can reach."""

    def __post_init__(self) -> None:
        allowed_of(self.allowed)


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
    job: str = ""
    """Where the job service is, which is asked whether jobs use what is to be deleted. Empty: it is not."""
    pipeline: str = ""
    """Where the pipeline service is, which is asked the same of runs and schedules. Empty: it is not."""
    credential_keys: Secret | None = None
    """The keys that seal the secrets of filesystems: 32 bytes of chance in base64 on each line. The first seals, all
    open; put a new one first, and the service seals everything anew with it. Without any, there are no filesystems with
    secrets. What is sealed with a key that is lost is lost."""
    log_level: Level = Level.INFO
    """From which level on lines stand in the log."""
    local: LocalSettings = field(default_factory=LocalSettings)
    servers: ServersSettings = field(default_factory=ServersSettings)
    kept: KeptSettings = field(default_factory=KeptSettings)
    trace: TraceSettings = field(default_factory=TraceSettings)

    def __post_init__(self) -> None:
        try:
            self.key_ring()
        except ValueError as error:
            raise ValueError(f"credential_keys: {error}; make one: openssl rand -base64 {KEY_BYTES}") from None

    def key_ring(self) -> KeyRing:
        """The keys that seal secrets; ValueError if they are none."""
        return KeyRing.parse(self.credential_keys.reveal() if self.credential_keys else "")
