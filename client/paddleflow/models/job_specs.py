"""What somebody wants to be run: the spec of a job, its members, and its terms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum


class Framework(StrEnum):
    """What a distributed job is made with."""

    UNSPECIFIED = ""
    STANDALONE = "standalone"
    """One program that needs no others."""
    PADDLE = "paddle"
    PYTORCH = "pytorch"
    TENSORFLOW = "tensorflow"
    MPI = "mpi"
    MXNET = "mxnet"
    RAY = "ray"
    SPARK = "spark"


class Role(StrEnum):
    """What the replicas of a member are."""

    UNSPECIFIED = ""
    MAIN = "main"
    """The only replica of a job that is not distributed."""
    MASTER = "master"
    WORKER = "worker"
    PSERVER = "pserver"
    DRIVER = "driver"
    EXECUTOR = "executor"
    SCHEDULER = "scheduler"
    EVALUATOR = "evaluator"


class Priority(StrEnum):
    """What goes first among the jobs of one queue."""

    UNSPECIFIED = ""
    """As normal."""
    VERY_HIGH = "VERY_HIGH"
    HIGH = "HIGH"
    NORMAL = "NORMAL"
    LOW = "LOW"
    VERY_LOW = "VERY_LOW"


@dataclass(frozen=True, slots=True)
class JobFlavour:
    """What a replica takes on its machine: a flavour by name, or amounts."""

    name: str = ""
    """A flavour that is kept; empty or ``customFlavour``: the amounts count."""
    amounts: Mapping[str, int] = field(default_factory=dict)
    """Nothing at all means one core and 1Gi."""


@dataclass(frozen=True, slots=True)
class LimitFlavour:
    """What a replica may use at most. Empty: as much as it takes."""

    flavour: JobFlavour = JobFlavour()
    none: bool = False
    """True if there is no limit."""


@dataclass(frozen=True, slots=True)
class FilesystemMount:
    """A filesystem, or a folder of it, that appears to a replica."""

    name: str = ""
    """One of another owner as ``owner/name``."""
    mount_path: str = ""
    """Where it appears; empty: ``/home/paddleflow/storage/mnt/`` and the filesystem's id."""
    sub_path: str = ""
    """The folder of the filesystem that appears; empty: all of it."""
    read_only: bool = False
    id: str = ""
    """In place of the name."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Whether and how a job that failed is tried again."""

    limit: int = 0
    """How often at most: 0 to 100."""
    backoff: timedelta | None = None
    """How long before the first retry; each later one takes twice as long. None: 10 s."""
    max_backoff: timedelta | None = None
    """None: 10 minutes."""
    not_on: Sequence[int] = ()
    """Exit statuses after which it is not tried again."""
    no_requeue: bool = False
    """True if a job that is pushed out does not wait again, but ends as preempted."""


@dataclass(frozen=True, slots=True)
class TimeLimits:
    """How long what may take; None is no limit, unless it says something else."""

    pending: timedelta | None = None
    """From accepted until it runs for the first time."""
    run: timedelta | None = None
    """From running until the end, per attempt."""
    grace: timedelta | None = None
    """Between the word to stop and the kill; None: 30 s."""
    protected: timedelta | None = None
    """As long as it has not run this long, it is not pushed out for others' sake, except for surplus."""
    kept: timedelta | None = None
    """After it ended, until it is forgotten; None: what the service is set to."""
    steady: timedelta | None = None
    """How long the number of replicas of an elastic job stays as it is before it grows again; None: 1 minute if the
    others are started again for newcomers, else 5 s."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What replicas run, and with what: said by a job for all of its members, and by each member for itself."""

    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    queue: str = ""
    """Empty: ``default-queue``. That of a member must be the job's."""
    priority: Priority = Priority.UNSPECIFIED
    flavour: JobFlavour = JobFlavour()
    limit_flavour: LimitFlavour = LimitFlavour()
    fs: FilesystemMount | None = None
    """The filesystem that replicas start in."""
    extra_fs: Sequence[FilesystemMount] = ()
    image: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    secret_env: Mapping[str, str] = field(default_factory=dict)
    """Names of variables, and of the files on the machine of the replica that hold their values."""
    command: str = ""
    """A text for the shell, to which the arguments are appended. Empty: the first of `args` is the program."""
    args: Sequence[str] = ()
    port: int = 0
    """The first port that replicas speak on; 0: one is chosen."""
    extension_template: Mapping[str, object] | None = None
    """A Kubernetes object that is filled in instead of the built-in one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Member(Work):
    """One role of a distributed job. What it does not say is as the job says."""

    role: Role
    replicas: int = 1
    """How many there are; of an elastic member, how many it cannot do without."""
    max_replicas: int = 0
    """How many it can make use of; 0: exactly `replicas`."""
    replica_step: int = 0
    """Replicas come and go in multiples of this; 0 means 1."""

    @property
    def elastic(self) -> bool:
        """True if replicas come and go while the job runs."""
        return self.max_replicas > self.replicas


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSpec(Work):
    """What somebody wants to be run."""

    id: str = ""
    """Names the job for ever; empty: one is made."""
    name: str = ""
    """What people call it; empty: the id."""
    framework: Framework = Framework.UNSPECIFIED
    members: Sequence[Member] = ()
    retry: RetryPolicy = RetryPolicy()
    limits: TimeLimits = TimeLimits()
