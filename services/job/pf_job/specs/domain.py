"""What a job is: what it runs, how often, and under which terms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from posixpath import normpath

DEFAULT_QUEUE = "default-queue"
DEFAULT_MOUNTS = "/home/paddleflow/storage/mnt"
"""Below it a filesystem appears under its id, if nothing else is said."""
CUSTOM_FLAVOUR = "customFlavour"
"""The name that says no more than none: the amounts count."""

CPU = "cpu"
"""In thousandths of a core."""
MEMORY = "memory"
"""In bytes."""
GPU = "nvidia.com/gpu"


class JobType(StrEnum):
    """What kind of job."""

    SINGLE = "single"
    DISTRIBUTED = "distributed"
    WORKFLOW = "workflow"


class Framework(StrEnum):
    """What a distributed job is made with."""

    STANDALONE = "standalone"
    PADDLE = "paddle"
    PYTORCH = "pytorch"
    TENSORFLOW = "tensorflow"
    MPI = "mpi"
    MXNET = "mxnet"
    RAY = "ray"
    SPARK = "spark"


class Role(StrEnum):
    """What the replicas of a member are."""

    MAIN = "main"
    MASTER = "master"
    WORKER = "worker"
    PSERVER = "pserver"
    DRIVER = "driver"
    EXECUTOR = "executor"
    SCHEDULER = "scheduler"
    EVALUATOR = "evaluator"


class Mode(StrEnum):
    """How the replicas of a distributed job share the work, in the words of `PF_JOB_MODE`."""

    PS = "PS"
    COLLECTIVE = "Collective"


class Priority(StrEnum):
    """What goes first among the jobs of one queue."""

    VERY_HIGH = "VERY_HIGH"
    HIGH = "HIGH"
    NORMAL = "NORMAL"
    LOW = "LOW"
    VERY_LOW = "VERY_LOW"

    @property
    def weight(self) -> int:
        """What admission knows it as."""
        return {"VERY_HIGH": 2000, "HIGH": 1000, "NORMAL": 0, "LOW": -1000, "VERY_LOW": -2000}[self]


class RestartPolicy(StrEnum):
    """Whether a replica that failed is started again within the attempt, in the words of `PF_JOB_RESTART_POLICY`."""

    NEVER = "Never"
    ON_FAILURE = "OnFailure"
    ALWAYS = "Always"
    """As OnFailure: a replica that ended well has ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulingPolicy:
    """Where and how a job waits."""

    queue: str = ""
    priority: Priority | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Flavour:
    """What a replica takes on its machine: a flavour by name, or amounts."""

    name: str = ""
    amounts: Mapping[str, int] = field(default_factory=dict)
    """By resource. Beside a name: what that flavour was when it was looked up."""

    @property
    def named(self) -> bool:
        """True if the amounts are kept under the name, elsewhere."""
        return self.name not in ("", CUSTOM_FLAVOUR)

    @property
    def empty(self) -> bool:
        return not self.named and not self.amounts


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitFlavour:
    """What a replica may use at most. Empty: as its cluster has it."""

    none: bool = False
    """True if there is no limit."""
    flavour: Flavour = field(default_factory=Flavour)

    @property
    def empty(self) -> bool:
        return not self.none and self.flavour.empty


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesystemMount:
    """A filesystem, or a folder of it, that appears to a replica."""

    id: str = ""
    name: str = ""
    mount_path: str = ""
    sub_path: str = ""
    read_only: bool = False

    @property
    def path(self) -> str:
        """Where it appears. Unknown, and empty, as long as neither a path is said nor the id is known."""
        if self.mount_path:
            return normpath(self.mount_path)
        return f"{DEFAULT_MOUNTS}/{self.id}" if self.id else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What replicas run, and with what: said by a job for all of its members, and by each member for itself."""

    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    scheduling_policy: SchedulingPolicy = field(default_factory=SchedulingPolicy)
    flavour: Flavour = field(default_factory=Flavour)
    limit_flavour: LimitFlavour = field(default_factory=LimitFlavour)
    fs: FilesystemMount | None = None
    extra_fs: tuple[FilesystemMount, ...] = ()
    image: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    secret_env: Mapping[str, str] = field(default_factory=dict)
    """Names of variables, and of the files that hold their values."""
    command: str = ""
    args: tuple[str, ...] = ()
    port: int = 0
    extension_template: Mapping[str, object] | None = None

    @property
    def mounts(self) -> tuple[FilesystemMount, ...]:
        """All filesystems; replicas start in the first."""
        return (self.fs, *self.extra_fs) if self.fs else self.extra_fs


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One role of a distributed job."""

    role: Role
    replicas: int = 1
    """How many there are; of an elastic member, how many it cannot do without."""
    max_replicas: int = 0
    """How many it can make use of. 0: exactly `replicas`."""
    replica_step: int = 0
    """Replicas come and go in multiples of this. 0 means 1."""
    work: Work = field(default_factory=Work)

    @property
    def most(self) -> int:
        return max(self.replicas, self.max_replicas)

    @property
    def elastic(self) -> bool:
        return self.most > self.replicas


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """Whether and how a job that failed is tried again."""

    limit: int = 0
    backoff: timedelta | None = None
    max_backoff: timedelta | None = None
    not_on: tuple[int, ...] = ()
    """Exit statuses after which it is not tried again."""
    no_requeue: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeLimits:
    """How long what may take; None is no limit, or what the service is set to."""

    pending: timedelta | None = None
    run: timedelta | None = None
    grace: timedelta | None = None
    protected: timedelta | None = None
    kept: timedelta | None = None
    steady: timedelta | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSpec:
    """What somebody wants to be run."""

    id: str = ""
    name: str = ""
    work: Work = field(default_factory=Work)
    framework: Framework | None = None
    members: tuple[Member, ...] = ()
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    limits: TimeLimits = field(default_factory=TimeLimits)

    @property
    def crew(self) -> tuple[Member, ...]:
        """The members; of a job that has none, the only replica it is."""
        return self.members or (Member(role=Role.MAIN, work=self.work),)

    def member(self, role: Role) -> Member | None:
        return next((member for member in self.crew if member.role is role), None)
