"""What is written down of replicas, so that whoever runs next knows them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class MountOrder:
    """A folder of the machine that appears to a replica."""

    source: str
    target: str
    read_only: bool
    identity: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """All that it takes to start a replica. Never written down: it may hold what is secret."""

    name: str
    tenant: str
    argv: tuple[str, ...]
    env: Mapping[str, str]
    secret_env: Mapping[str, str]
    cwd: str
    mounts: tuple[MountOrder, ...]
    holds: tuple[str, ...]
    """Files of which it holds a shared lock as long as there is anything of it."""
    cpu: int | None
    memory: int | None
    processes: int | None
    log: int | None
    shares: int | None
    """Of the processor, in thousandths of a core, where others want it too."""
    accelerators: int

    @classmethod
    def of(cls, message: Mapping[str, Any]) -> Order:
        mounts = tuple(
            MountOrder(source, target, read_only, tuple(identity) if identity else None)
            for source, target, read_only, identity in message["mounts"]
        )
        return cls(**{**message, "argv": tuple(message["argv"]), "mounts": mounts, "holds": tuple(message["holds"])})


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a replica was not started, and never will be."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A replica that is about to be started, or that never will."""

    boot: str
    """The life of the machine in which it was."""
    uid: int = -1
    slot: int = -1
    """The folder it has for temporary files."""
    accelerators: tuple[int, ...] = ()
    log: int | None = None
    notes: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    """Folders of the control groups made for it."""
    holds: tuple[str, ...] = ()
    refusal: Refusal | None = None


@dataclass(frozen=True, slots=True)
class Process:
    """A process for all times, and when what it does began."""

    pid: int
    ticks: int
    """When the process was started, in clock ticks since the machine was."""
    started: int
    """When the replica began, in microseconds of the epoch."""


@dataclass(frozen=True, slots=True)
class Stop:
    """Somebody wishes it to end."""

    deadline: float
    """In seconds of the machine's life."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a replica ended."""

    ended: int
    status: int | None = None
    signal: int | None = None
    message: str = ""
    lost: bool = False
    cpu: int | None = None
    """Microseconds of the processor, of all that ran."""
    peak: int | None = None
    """Bytes of memory of the largest process."""
    read: int | None = None
    """Bytes from disks."""
    written: int | None = None


@dataclass(frozen=True, slots=True)
class Forgotten:
    """Nobody wants to know any more. It still cannot be started again."""


Line = Record | Process | Stop | Ending | Forgotten


def write(line: Line) -> bytes:
    """A line of the file of a replica."""
    return json.dumps({type(line).__name__.lower(): asdict(line)}).encode() + b"\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Book:
    """All that is written down of a replica."""

    record: Record | None = None
    process: Process | None = None
    stop: Stop | None = None
    ending: Ending | None = None
    forgotten: bool = False


def read(data: bytes) -> Book:
    """What the file of a replica says; what a crash left unfinished was not said."""
    book = Book()
    for line in data.split(b"\n")[:-1]:
        try:
            ((kind, content),) = json.loads(line).items()
        except ValueError:
            continue
        book = _with(book, kind, content)
    return book


def _with(book: Book, kind: str, content: dict[str, Any]) -> Book:
    match kind:
        case "record":
            return replace(book, record=_record(content))
        case "process":
            return replace(book, process=Process(**content))
        case "stop":
            return replace(book, stop=Stop(**content))
        case "ending":
            # The first is how it was told.
            return replace(book, ending=book.ending or Ending(**content))
        case "forgotten":
            return replace(book, forgotten=True)
    return book


def _record(content: dict[str, Any]) -> Record:
    # What an older runner wrote says nothing of what it holds.
    lists = {name: tuple(content.get(name, ())) for name in ("accelerators", "notes", "groups", "holds")}
    refusal = Refusal(**content["refusal"]) if content["refusal"] else None
    return Record(**{**content, **lists, "refusal": refusal})


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A replica, as the runner tells of it."""

    name: str
    phase: str
    accelerators: tuple[int, ...] = ()
    started: int | None = None
    ended: int | None = None
    status: int | None = None
    signal: int | None = None
    message: str = ""
    notes: tuple[str, ...] = ()
    holds: tuple[str, ...] = ()

    def told(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if value not in (None, (), "")}

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> Seen:
        lists = {name: tuple(told.get(name, ())) for name in ("accelerators", "notes", "holds")}
        return cls(**{**told, **lists})


def seen(name: str, record: Record, process: Process | None, ending: Ending | None) -> Seen:
    begun = None if process is None else process.started
    told = Seen(
        name=name,
        phase="starting" if process is None else "running",
        accelerators=record.accelerators,
        notes=record.notes,
        holds=record.holds,
        started=begun,
    )
    if ending is None:
        return told
    return replace(
        told,
        phase="lost" if ending.lost else "ended",
        ended=ending.ended,
        status=ending.status,
        signal=ending.signal,
        message=ending.message,
    )
