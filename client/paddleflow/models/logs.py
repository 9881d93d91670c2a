"""Logs of jobs: what their replicas have written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypedDict

from paddleflow.models.job_specs import Role


class LogChoice(TypedDict, total=False):
    """Which logs of a job; what is left out means all replicas, and of attempts and restarts the last."""

    attempt: int
    role: Role
    index: int
    restart: int


class LogOptions(LogChoice, total=False):
    """What to read. Beginning, end and amounts hold for each replica. At most one beginning is given."""

    tail_lines: int
    """Begin so many lines before the end; of those that have one of `texts`, if any are given."""
    tail_bytes: int
    offset: int
    since: datetime
    """Begin with the line that was written then, or a few seconds before."""
    until: datetime
    max_lines: int
    """0: no limit."""
    max_bytes: int
    texts: Sequence[str]
    """Only lines that contain one of these; `*` stands for anything within the line."""
    ignore_case: bool
    follow: bool
    """Wait for what will be written, until the replicas are over."""
    later: bool
    """With `follow`: go on with later restarts and attempts, until the job is over."""


@dataclass(frozen=True, slots=True, order=True)
class LogReplica:
    """One start of one replica of a job."""

    attempt: int
    role: Role
    index: int
    restart: int = 0


@dataclass(frozen=True, slots=True)
class LogChunk:
    """A part of the log of one replica."""

    replica: LogReplica
    offset: int
    """Of the first byte."""
    data: bytes
    """Whole lines where that is possible."""
    lost: int = 0
    """Bytes before these that are not kept any more."""
    end: bool = False
    """True if nothing more of this replica will come."""


@dataclass(frozen=True, slots=True)
class LogInfo:
    """How much there is to read of one replica."""

    replica: LogReplica
    size: int
    """Bytes that it has written."""
    kept_from: int
    """The offset of the first byte that is still kept."""
    complete: bool
    """True if it is over, so that the log grows no more."""
    lines: int | None = None
    """Lines that are kept; None if there are too many to be counted."""
