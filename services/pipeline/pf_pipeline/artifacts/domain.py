"""What runs read and wrote, and the results that may be used again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from hashlib import sha256

from pf_pipeline.documents.model import Value
from pf_pipeline.owners import Owner

FOR_EVER = -1
"""As the time that a result counts."""
UNSTORED = datetime.fromtimestamp(0, UTC)
"""The time of what is not stored yet."""


class Use(StrEnum):
    """Whether a step read or wrote an artifact."""

    INPUT = "input"
    OUTPUT = "output"


@dataclass(frozen=True, slots=True, order=True)
class NodeKey:
    """One node of one run."""

    run: str
    node: str
    """Its path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactEvent:
    """A step read or wrote an artifact. There is one for each node, use and name."""

    key: NodeKey
    use: Use
    artifact: str
    """What the step calls it."""
    step: str
    """The name of the step."""
    filesystem_id: str
    filesystem: str
    owner: str
    """Whose run it is."""
    owner_since: datetime = UNSTORED
    """See `Owner`."""
    paths: tuple[str, ...]
    """In the filesystem, from its root. Several if it was put together from the iterations of a loop."""
    meta: str = ""
    """What is known of it, as JSON."""
    digest: str = ""
    """Of its content; empty if it was not read."""
    job: str = ""
    cached: bool = False
    """True if the result of the step came from the cache."""
    run_time: datetime = UNSTORED
    """When the run was made."""
    number: int = 0
    """Given out by the store; grows with each event."""
    create_time: datetime = UNSTORED
    update_time: datetime = UNSTORED

    @property
    def whose(self) -> Owner:
        return Owner(self.owner, self.owner_since)


@dataclass(frozen=True, slots=True)
class EventFilter:
    """Which events to list; what is empty or None matches all."""

    owners: tuple[str, ...] = ()
    filesystems: tuple[str, ...] = ()
    """By name."""
    runs: tuple[str, ...] = ()
    uses: tuple[Use, ...] = ()
    path_prefixes: tuple[str, ...] = ()
    since: datetime | None = None
    """Only of runs that were made at or after this time."""
    until: datetime | None = None
    seen_by: Owner | None = None
    """Only of runs of this user."""


@dataclass(frozen=True, slots=True)
class Place:
    """An artifact in a filesystem."""

    filesystem_id: str
    path: str


@dataclass(frozen=True, slots=True)
class Shelf:
    """Where results are looked for: what lies on different shelves is never mixed up."""

    owner: str
    filesystem_id: str
    """The main filesystem; empty if there is none."""
    origin: str
    """Whose results count: of one source, of pipelines of one name, or of all runs; see `CacheShare`."""
    owner_since: datetime = UNSTORED
    """See `Owner`."""

    @property
    def whose(self) -> Owner:
        return Owner(self.owner, self.owner_since)


@dataclass(frozen=True, slots=True)
class CacheKey:
    """What a result is looked for by."""

    shelf: Shelf
    step: str
    """SHA-256 of all that decides whether a step is the same, but for files: the first level."""


@dataclass(frozen=True, slots=True)
class Output:
    """An output artifact of a result."""

    path: str
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CachedResult:
    """The result of a step that succeeded."""

    cache_key: CacheKey
    files: str
    """SHA-256 of the contents of all files that decide whether a step is the same: the second level."""
    made_by: NodeKey
    component: str
    """The path of the node in its document, without iterations: the nearest results are those of the same component."""
    job: str = ""
    filesystem: str = ""
    """By name."""
    max_expired_time: int = FOR_EVER
    """Seconds."""
    outputs: Mapping[str, Output] = field(default_factory=dict)
    """By the name of the artifact."""
    results: Mapping[str, Value] = field(default_factory=dict)
    """The small results."""
    explanation: str = "{}"
    """What the keys were made of, as `keys.explanation` tells it."""
    number: int = 0
    """Given out by the store."""
    used_by: tuple[str, ...] = ()
    """Runs that took it, in the order in which they did."""
    create_time: datetime = UNSTORED
    update_time: datetime = UNSTORED

    @property
    def id(self) -> str:
        return f"cch-{self.number:06}"

    @property
    def key(self) -> str:
        """Both levels in one."""
        return sha256(f"{self.cache_key.step} {self.files}".encode()).hexdigest()

    def is_valid(self, now: datetime, max_expired_time: int) -> bool:
        """True if it may still be used, by a step that takes results of at most so many seconds."""
        age = (now - self.create_time).total_seconds()
        return all(limit == FOR_EVER or age < limit for limit in (self.max_expired_time, max_expired_time))


@dataclass(frozen=True, slots=True)
class ResultFilter:
    """Which results to list; what is empty or None matches all."""

    owners: tuple[str, ...] = ()
    filesystems: tuple[str, ...] = ()
    """By name."""
    runs: tuple[str, ...] = ()
    seen_by: Owner | None = None
    """Only of this user."""


@dataclass(frozen=True, slots=True)
class Taken:
    """A run took a result."""

    result: int
    """Its number."""
    maker: str
    """The run that made it."""
    taker: str
    """The run that took it."""


@dataclass(frozen=True, slots=True)
class WorkKey:
    """What two nodes have in common that would do the same work."""

    cache_key: CacheKey
    files: str


@dataclass(frozen=True, slots=True)
class Claim:
    """A node does some work, and whoever would do the same waits for it."""

    work: WorkKey
    by: NodeKey


class Table(StrEnum):
    """What can be exported."""

    LINEAGE = "lineage"
    RUNS = "runs"
    NODES = "nodes"


@dataclass(frozen=True, slots=True)
class Period:
    """Which rows of a table are wanted; what is None matches all."""

    since: datetime | None = None
    """Only what is about runs that were made at or after this time."""
    until: datetime | None = None
    """Only what is about runs that were made before this time."""
    seen_by: Owner | None = None
    """Only what is about runs of this user."""
