"""What is asked of logs, and what is told of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from pf_job.logs.search import Search
from pf_job.runtimes.port import ReplicaKey


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Which logs of a job."""

    job: str
    attempt: int = 0
    """0 is the last."""
    role: str = ""
    """Empty: all."""
    index: int | None = None
    restart: int | None = None
    """None is the last within the attempt."""


@dataclass(frozen=True, slots=True)
class Beginning:
    """With the first byte that is kept."""


@dataclass(frozen=True, slots=True)
class TailLines:
    """With so many lines before the end."""

    count: int


@dataclass(frozen=True, slots=True)
class TailBytes:
    """With so many bytes before the end."""

    count: int


@dataclass(frozen=True, slots=True)
class Offset:
    """With the byte at this offset."""

    offset: int


@dataclass(frozen=True, slots=True)
class Since:
    """With the line that was written at a time, in microseconds of the epoch."""

    time: int


Start: TypeAlias = Beginning | TailLines | TailBytes | Offset | Since


@dataclass(frozen=True, slots=True)
class Position:
    """How far the log of one replica has been told."""

    key: ReplicaKey
    offset: int
    """The byte to go on with."""
    lines: int = 0
    """Ends of lines that have been told."""
    bytes: int = 0
    """Bytes that have been told."""
    end: bool = False
    """True if nothing more will be told."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much is told of one replica; 0 is no limit."""

    lines: int = 0
    bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """What is asked for. Beginning, end and bounds hold for each replica."""

    choice: Choice
    start: Start = field(default_factory=Beginning)
    bounds: Bounds = field(default_factory=Bounds)
    until: int | None = None
    """In microseconds of the epoch."""
    search: Search | None = None
    follow: bool = False
    later: bool = False
    """True to go on with later restarts and attempts."""
    positions: Mapping[ReplicaKey, Position] = field(default_factory=dict)
    """Where to go on after a break."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A part of the log of one replica."""

    offset: int
    """Of the first byte, or of the first that was searched."""
    data: bytes
    position: Position
    """Where the log stands after it."""
    lost: int = 0
    """Bytes before these that were asked for and are not kept."""


@dataclass(frozen=True, slots=True)
class Known:
    """A replica that there is, by the record of its job."""

    key: ReplicaKey
    over: bool


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a job stands, for whoever reads its logs."""

    attempt: int
    over: bool
    """True if there will be no other attempt, and no other replica."""
    replicas: Sequence[Known]


@dataclass(frozen=True, slots=True)
class Info:
    """How much there is to read of one replica."""

    key: ReplicaKey
    size: int
    kept_from: int
    complete: bool
    lines: int | None
