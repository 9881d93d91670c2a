"""What runs replicas: the port that processes of a machine and pods of a cluster stand behind."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from paddleflow.problems import Problem


@dataclass(frozen=True, slots=True, order=True)
class ReplicaKey:
    """One start of one replica, for ever. Whoever starts the same again gets what there is."""

    job: str
    attempt: int
    """Of the job, from 1."""
    role: str
    index: int
    """Among those of its role, from 0."""
    restart: int = 0
    """How often this replica was started before within the attempt."""


@dataclass(frozen=True, slots=True)
class Mount:
    """A folder of the machine that appears to a replica."""

    source: str
    """Absolute, and free of links. It exists."""
    target: str
    """Absolute. It need not exist."""
    read_only: bool = False
    identity: tuple[int, int] | None = None
    """Device and inode of the source as it was found, so that nobody puts something else in its place meanwhile. None:
    whatever is there."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where files lie, and what opens it."""

    url: str
    properties: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Secrets among them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Remote:
    """A filesystem behind a server, as its user may mount it."""

    filesystem: str
    etag: str
    """Another one says that it is to be mounted anew."""
    place: Place
    links: Mapping[str, Place] = field(default_factory=dict)
    """Folders of it in which the files of other places are."""
    read_only: bool = False
    cache_size: int = 0
    """Bytes that its owner wants kept on a machine at most; 0 leaves it to the machine."""
    quota: Mapping[str, int | None] = field(default_factory=dict)
    """Bytes and files that may lie there; None is any amount."""


@dataclass(frozen=True, slots=True)
class RemoteMount:
    """A folder of a filesystem behind a server that appears to a replica."""

    remote: Remote
    target: str
    """Absolute. It need not exist."""
    sub_path: str = ""
    """The folder; empty: all of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceiling:
    """What a replica may use at most; None is no limit."""

    cpu: int | None = None
    """In thousandths of a core."""
    memory: int | None = None
    """In bytes."""
    processes: int | None = None
    """Processes and threads at one time."""
    log: int | None = None
    """Bytes of output that are kept; of more, the oldest goes first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """All that it takes to start a replica."""

    key: ReplicaKey
    tenant: str
    """Whose it is. Replicas of two tenants see nothing of each other."""
    argv: Sequence[str]
    """The program and its arguments. Nothing in it is expanded."""
    env: Mapping[str, str]
    """All of its environment, but for what names its accelerators."""
    secret_env: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Names of variables, and of the files whose content is the value. Read at the start, and kept nowhere."""
    private_env: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Variables whose values nobody else may see. They come before those of `env`, and are written down nowhere."""
    cwd: str
    """Absolute, as the replica sees it."""
    mounts: Sequence[Mount | RemoteMount] = ()
    ceiling: Ceiling = field(default_factory=Ceiling)
    accelerators: int = 0
    """How many it has for itself alone."""
    requests: Mapping[str, int] = field(default_factory=dict)
    """What it takes on its machine, by resource."""


class Phase(StrEnum):
    """Where a replica stands, as its runtime sees it."""

    STARTING = "starting"
    RUNNING = "running"
    ENDED = "ended"
    LOST = "lost"
    """It is gone, and nobody knows how it ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """How a replica was seen."""

    key: ReplicaKey
    phase: Phase
    machine: str = ""
    accelerators: tuple[int, ...] = ()
    started: int | None = None
    """When it began, in microseconds of the epoch."""
    ended: int | None = None
    """When it ended."""
    status: int | None = None
    """Its exit status; None if a signal ended it."""
    signal: int | None = None
    """What ended it, if it was a signal."""
    message: str = ""
    """Why, if the runtime knows, for people: that memory was short, that the program was not found."""
    notes: tuple[str, ...] = ()
    """What people should know of how it runs: that its limits are not enforced here."""


@dataclass(frozen=True, slots=True)
class Refused:
    """A replica was not started, and never will be by this key; Unavailable: not yet, it is to be started again."""

    key: ReplicaKey
    problem: Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """A machine that replicas can run on."""

    name: str
    capacity: Mapping[str, int]
    """By resource, as in `paddleflow.common.v1.Resources`."""
    schedulable: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class LogRange:
    """A part of what a replica has written."""

    offset: int
    """Of the first byte, counted from the first that the replica ever wrote."""
    data: bytes
    end: bool
    """True if the replica is over and there is nothing after it."""
    kept_from: int
    """The first byte that is still kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """What a replica was seen to use at a moment; None where that is not known."""

    time: int
    """In microseconds of the epoch."""
    cpu: int | None = None
    """Microseconds of the processor since it began."""
    memory: int | None = None
    """Bytes."""
    peak: int | None = None
    """The most bytes of memory since it began."""
    read: int | None = None
    """Bytes from disks since it began."""
    written: int | None = None
    received: int | None = None
    """Bytes from networks since it began."""
    sent: int | None = None
    processes: int | None = None
    accelerator: int | None = None
    """Thousandths of an accelerator that are busy."""
    accelerator_memory: int | None = None
    """Bytes."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What a replica was seen to use."""

    samples: Sequence[Sample]
    """In order of time. First its beginning, at which nothing was used yet; if it is over, its end is the last."""
    notes: tuple[str, ...] = ()
    """What is not measured here and why, for people."""


class Runtime(Protocol):
    """The port. Every call may be repeated, and may come after a restart of whoever calls, and of what it calls."""

    async def start(self, launches: Sequence[Launch]) -> Sequence[Refused]:
        """Starts replicas, each once for ever; those that cannot be started are told.

        What a replica does from here on is seen by `watch`. Raises Unavailable if it is not known what was started.
        """

    async def stop(self, keys: Sequence[ReplicaKey], grace: int) -> Sequence[ReplicaKey]:
        """Tells replicas to end, and kills with all their children those that have not in so many microseconds.

        A second call can only shorten the grace. Replicas that are over or unknown are passed over; one that is unknown
        will not start any more, and a later start of it is refused. Tells which of them have not begun, and never will:
        `watch` says nothing of these.
        """

    def watch(self) -> AsyncIterator[Sequence[Sighting]]:
        """All replicas that are not forgotten, as they are; then each change. An empty list parts the two.

        Refused ones are not among them. Raises Unavailable when it can see no further; whoever begins again misses
        nothing.
        """

    async def forget(self, keys: Sequence[ReplicaKey]) -> None:
        """Removes what is kept of replicas that are over or were refused, but for their logs; others are passed over.

        Until its log is dropped too, a replica that was forgotten still cannot be started again. After that it could:
        whoever forgets it must not start it any more.
        """

    async def read_log(self, key: ReplicaKey, offset: int, size: int) -> LogRange:
        """Up to so many bytes of what a replica has written, from an offset on; a negative one counts from the end.

        What is no longer kept is left out. Raises NotFound if there is no log.
        """

    async def log_offset(self, key: ReplicaKey, time: int) -> int:
        """The offset of the first byte that was written at or after a time. Raises NotFound if there is no log."""

    async def wait_log(self, key: ReplicaKey, offset: int, patience: int) -> None:
        """Returns when there may be more to read from an offset on, or no more ever, or after so many microseconds."""

    async def usage(self, key: ReplicaKey) -> Usage:
        """What a replica was seen to use. It is kept as long as its log. Raises NotFound if it never began here."""

    async def drop_logs(self, keys: Sequence[ReplicaKey]) -> None:
        """Removes logs of replicas that are over, and what these used; others are passed over."""

    async def machines(self) -> Sequence[Machine]:
        """The machines there are."""
