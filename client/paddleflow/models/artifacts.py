"""Artifacts: what runs read and wrote, and what may be used again instead of being made again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TypedDict


class ArtifactUse(StrEnum):
    """Whether a step read or wrote an artifact."""

    UNSPECIFIED = ""
    INPUT = "input"
    OUTPUT = "output"


class ExportedTable(StrEnum):
    """What can be exported."""

    UNSPECIFIED = ""
    LINEAGE = "lineage"
    """A row for each use of an artifact."""
    RUNS = "runs"
    NODES = "nodes"


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactEvent:
    """Says that a step read or wrote an artifact."""

    number: int
    run_id: str
    node: str
    """The path of the node."""
    step: str
    filesystem_id: str = ""
    filesystem: str = ""
    owner: str = ""
    artifact_path: str = ""
    """In the filesystem; several joined by commas."""
    artifact: str = ""
    """What the step calls it."""
    use: ArtifactUse = ArtifactUse.UNSPECIFIED
    meta: str = ""
    """What is known of it, as JSON."""
    digest: str = ""
    """SHA-256 of its content; empty if it was not read."""
    job_id: str = ""
    create_time: datetime | None = None
    update_time: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LineageLink:
    """One step between artifacts."""

    run_id: str
    node: str
    input_path: str = ""
    """Empty if it read none."""
    output_path: str = ""
    """Empty if it wrote none."""
    distance: int = 1
    cached: bool = False


@dataclass(frozen=True, slots=True)
class Lineage:
    """Where an artifact comes from, and what became of it."""

    made_from: Sequence[LineageLink]
    made_into: Sequence[LineageLink]
    truncated: bool = False
    """True if there is more than fits into an answer; the nearest are there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CachedResult:
    """A result that may be used again."""

    id: str
    run_id: str
    """The run that made it."""
    node: str
    job_id: str = ""
    filesystem: str = ""
    owner: str = ""
    origin: str = ""
    """Under what it is kept, as `Run.origin`."""
    key: str = ""
    """SHA-256 of all that decides whether a step is the same."""
    max_expired_time: int = 0
    """Seconds after which it counts no more; -1: never."""
    used_by: Sequence[str] = ()
    """Runs that took it."""
    create_time: datetime | None = None
    update_time: datetime | None = None


class CachedResultFilter(TypedDict, total=False):
    """Which cached results to list; filters that are given must all match."""

    owners: Sequence[str]
    filesystems: Sequence[str]
    run_ids: Sequence[str]


class ArtifactFilter(CachedResultFilter, total=False):
    """Which artifact events to list; filters that are given must all match."""

    uses: Sequence[ArtifactUse]
    path_prefixes: Sequence[str]
