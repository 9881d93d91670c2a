"""Pipelines and their versions, and what they must look like."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from paddleflow.problems import PipelineNotFound, Violation
from pf_kit.changes import UNBORN, ChangeKind
from pf_kit.fields import plain_text, shown
from pf_pipeline.owners import Owner

LONGEST_DESCRIPTION = 256
_ID = re.compile(r"ppl-([0-9]{6,18})", re.ASCII)
_USER = re.compile(r"[A-Za-z0-9]{4,16}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline:
    """A document with a name, which has versions."""

    number: int
    """Given out by the store; grows with each pipeline."""
    name: str
    """Unique among those of the owner."""
    owner: str
    owner_since: datetime = UNBORN
    """See `Owner`."""
    description: str = ""
    newest: int = 1
    """The number of the newest version that there is."""
    last: int = 1
    """The last number that was given to a version; it is not given again."""
    create_time: datetime = UNBORN
    update_time: datetime = UNBORN
    version: int = 0
    """Grows with each change."""

    @property
    def whose(self) -> Owner:
        return Owner(self.owner, self.owner_since)

    @property
    def id(self) -> str:
        return f"ppl-{self.number:06}"

    @property
    def etag(self) -> str:
        return f"{self.version:x}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineVersion:
    """A document as it was at one time. It never changes."""

    pipeline: int
    """The number of the pipeline."""
    number: int
    document: str
    """As it was written; empty in lists."""
    digest: str
    filesystem: str
    """The name of the main filesystem; empty if there is none."""
    path: str
    """The file it was read from; empty if it was given as it is."""
    author: str
    create_time: datetime = UNBORN

    def means_the_same_as(self, other: PipelineVersion) -> bool:
        return self.digest == other.digest


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineFilter:
    """Which pipelines to list; what is empty or None matches all."""

    owners: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    seen_by: Owner | None = None
    """Only those of this user."""


@dataclass(frozen=True, slots=True)
class PipelineChanged:
    """Something happened to a pipeline."""

    kind: ChangeKind
    pipeline: Pipeline
    """As it is after that; for a deletion, before it."""
    version: int


def number_of(id_: str) -> int:
    """The number in the id of a pipeline. Raises PipelineNotFound if none has such an id."""
    found = _ID.fullmatch(id_)
    if found is None or f"{int(found[1]):06}" != found[1]:
        raise PipelineNotFound(f"no pipeline {shown(id_)}; ids are like ppl-000001")
    return int(found[1])


def with_version(pipeline: Pipeline, now: datetime) -> Pipeline:
    """The pipeline with one version more."""
    return replace(pipeline, newest=pipeline.last + 1, last=pipeline.last + 1, update_time=now)


def owner_violations(owner: str) -> Iterator[Violation]:
    """Whose a new pipeline is to be."""
    if not _USER.fullmatch(owner):
        yield Violation("pipeline.owner", "must be the name of a user: 4 to 16 letters and digits")


def description_violations(field: str, description: str) -> Iterator[Violation]:
    """What people should know of a pipeline."""
    yield from plain_text(field, description, LONGEST_DESCRIPTION)
