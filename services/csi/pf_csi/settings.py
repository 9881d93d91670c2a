"""What an administrator can choose about the driver."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from pf_kit.lifecycle import Level
from pf_kit.setting_types import Between

DRIVER = "csi.paddleflow.org"


@dataclass(frozen=True, slots=True)
class ControllerSettings:
    """All settings of `pf-csi controller`."""

    stores: Path
    """The folder with a file for each place in which volumes are made, as a secret is mounted: ``NAME.json`` holds
    ``{"url": …, "properties": {…}}``. It is read for each call, so keys can be changed."""
    socket: Path = Path("/csi/csi.sock")
    """Where it listens. Only root and its own user may call."""
    driver: str = DRIVER
    """The name of the driver, as in the object CSIDriver."""
    log_level: Level = Level.INFO
    """From which level on lines stand in the log."""
    admin: str = ""
    """Where ``/metrics``, ``/healthz`` and ``/readyz`` are served over HTTP, as ``host:port``, or ``:port`` for all
    addresses; empty: nowhere. They have no secrets and change nothing."""


@dataclass(frozen=True, slots=True)
class AllowedSettings:
    """What volumes may be on this machine."""

    kinds: tuple[str, ...] = ("s3", "bos", "hdfs", "sftp")
    """Kinds of places."""
    folders: tuple[str, ...] = ()
    """Folders of the machine that volumes of kind ``local`` may be, with all below them. Never those that a pod brings
    itself, whose author could name any folder of the machine."""


@dataclass(frozen=True, slots=True)
class CallSettings:
    """How another service is called. Without any of it connections are not encrypted."""

    ca: Path | None = None
    """Certificates of those who sign that of the service, in PEM. Empty: those that are commonly trusted."""
    certificate: Path | None = None
    """The certificate chain that the driver shows, in PEM, where services ask for one."""
    key: Path | None = None
    """The private key of the certificate."""

    def __post_init__(self) -> None:
        if (self.certificate is None) != (self.key is None):
            raise ValueError("the certificate and its key must be set together")


@dataclass(frozen=True, slots=True)
class NodeSettings:
    """All settings of `pf-csi node`."""

    name: str
    """The machine, as Kubernetes calls it."""
    kubelet: Path = Path("/var/lib/kubelet")
    """The kubelet's folder, by the same path as the kubelet has it and without links: volumes appear only below it."""
    state: Path = Path("/var/lib/kubelet/plugins/csi.paddleflow.org/state")
    """Where it keeps what was published. It must outlive the pod."""
    socket: Path = Path("/csi/csi.sock")
    """Where it listens. Only root and its own user may call."""
    registration: Path | None = None
    """The folder in which the kubelet looks for drivers; empty: somebody else registers this one."""
    endpoint: str = "/var/lib/kubelet/plugins/csi.paddleflow.org/csi.sock"
    """The path of ``socket`` as the kubelet sees it."""
    holder: Path = Path("/run/paddleflow-csi/holder.sock")
    """The socket of `pf-csi holder` on the same machine."""
    fs: str = ""
    """Where the filesystem service is, ``host:port``, for volumes that name a filesystem; empty: there are none."""
    fs_tls: CallSettings = field(default_factory=CallSettings)
    driver: str = DRIVER
    """The name of the driver, as in the object CSIDriver."""
    log_level: Level = Level.INFO
    """From which level on lines stand in the log."""
    admin: str = ""
    """Where ``/metrics``, ``/healthz`` and ``/readyz`` are served over HTTP, as ``host:port``, or ``:port`` for all
    addresses; empty: nowhere. They have no secrets and change nothing."""
    allowed: AllowedSettings = field(default_factory=AllowedSettings)


class Run(StrEnum):
    """How clients of mounts run."""

    PODS = "pods"
    PROCESSES = "processes"


@dataclass(frozen=True, slots=True)
class ClientsSettings:
    """Who serves mounts."""

    run: Run = Run.PROCESSES
    """``processes`` of the holder, with its rights, or ``pods`` without rights, which come by themselves."""
    user: Annotated[int, Between(1, (1 << 32) - 2)] = 10001
    """As whom pods run."""
    folder: Path = Path("/run/paddleflow-csi/clients")
    """Where pods come, and are told what to serve. It must be in memory, and they must see it at the same path."""
    machine: str = ""
    """This machine, as Kubernetes calls it; empty: nobody is told which mounts need clients."""
    namespace: str = ""
    """Where Kubernetes is told so."""
    states: Path = Path("/var/lib/kubelet/plugins/csi.paddleflow.org/clients")
    """What pods must know of their mounts, and what was written and not uploaded. They must see it at the same path."""


@dataclass(frozen=True, slots=True)
class ClientPodsSettings:
    """All settings of `pf-csi clients`."""

    template: Path
    """A file with the pod in which a client runs, as JSON: its labels, annotations and specification."""
    namespace: str
    """Where pods are made, and mounts are told of. Nothing else should be there."""
    own_namespace: str
    """Where the lease is by which one of several leads."""
    lease: str = "paddleflow-csi-clients"
    """The name of the lease."""
    spares: Annotated[int, Between(0, 16)] = 1
    """How many clients wait on each machine for whichever mount comes next."""
    driver: str = DRIVER
    """The name of the driver, as in the object CSIDriver."""
    lease_seconds: Annotated[float, Between(1, 600)] = 15.0
    """After how long without a word of who leads another does."""
    renewed_seconds: Annotated[float, Between(1, 600)] = 10.0
    """Who could not say that he leads for so long ends. It must be less than ``lease_seconds``."""
    retry_seconds: Annotated[float, Between(0.1, 600)] = 5.0
    """How often that is said, and others look."""
    log_level: Level = Level.INFO
    """From which level on lines stand in the log."""
    admin: str = ""
    """Where ``/metrics``, ``/healthz`` and ``/readyz`` are served over HTTP, as ``host:port``, or ``:port`` for all
    addresses; empty: nowhere. They have no secrets and change nothing."""

    def __post_init__(self) -> None:
        if self.renewed_seconds >= self.lease_seconds:
            raise ValueError("renewed_seconds must be less than lease_seconds, or two lead at once")


@dataclass(frozen=True, slots=True)
class HolderSettings:
    """All settings of `pf-csi holder`."""

    mounts: Path = Path("/var/lib/kubelet/plugins/csi.paddleflow.org/mounts")
    """Where filesystems are mounted, once for all pods that share one; below a mount that other namespaces see too."""
    secrets: Path = Path("/run/paddleflow-csi/secrets")
    """Where it remembers what opens storage. It must be in memory."""
    socket: Path = Path("/run/paddleflow-csi/holder.sock")
    """Where it listens. Only root and its own user may call."""
    cache: tuple[str, ...] = ("/var/cache/paddleflow",)
    """Folders for what was read."""
    cache_gib: Annotated[int, Between(0, 1 << 20)] = 0
    """Gibibytes that they may hold; 0: what the disks have room for."""
    ready_seconds: Annotated[float, Between(1, 110)] = 100.0
    """How long a mount may take before the kubelet is told to try again."""
    uploaded_seconds: Annotated[float, Between(0, 110)] = 20.0
    """How long the end of a pod waits until all is uploaded that it wrote. What takes longer goes on without it."""
    kept_seconds: Annotated[float, Between(0, 31_536_000)] = 86_400.0
    """How long it is tried to upload what pods wrote that have ended. What is not uploaded then is kept in the folder
    of the mount, and what opens the storage is forgotten."""
    hanging_seconds: Annotated[float, Between(1, 3600)] = 60.0
    """How long a client may live without an answer, while something is asked of its mount, before another one goes on
    with the mount. If that one does not answer for as long, the mount is made anew, and what was open there fails."""
    sizes_seconds: Annotated[float, Between(0.1, 3600)] = 15.0
    """How often it is looked whether volumes that are mounted were made larger."""
    log_level: Level = Level.INFO
    """From which level on lines stand in the log."""
    admin: str = ""
    """Where ``/metrics``, ``/healthz`` and ``/readyz`` are served over HTTP, as ``host:port``, or ``:port`` for all
    addresses; empty: nowhere. They have no secrets and change nothing."""
    clients: ClientsSettings = field(default_factory=ClientsSettings)
