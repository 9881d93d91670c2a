"""What taking and showing runs needs from elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from pf_kit.unit import Change, View
from pf_pipeline.runs.domain import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Where somebody wants a document to come from."""

    document: str = ""
    pipeline_id: str = ""
    pipeline_version: int = 0
    path: str = ""
    filesystem: str = ""
    """The main filesystem by name; empty: the one of the document."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A document."""

    text: str
    source: Source
    filesystem: str = ""
    """The main filesystem that goes with it; empty: the one of the document."""


class Documents(Protocol):
    """The port to documents."""

    async def find(self, owner: str, wanted: Wanted) -> Found:
        """The document, in the name of a user. Raises DocumentUnreadable, PipelineNotFound, PipelineVersionNotFound,
        and what there is to say of its filesystem.
        """


class Filesystems(Protocol):
    """The port to filesystems."""

    async def ids(self, owner: str, names: Sequence[str]) -> Mapping[str, str]:
        """Ids of filesystems by their names, as a user means them. Raises FilesystemNotFound."""

    async def require(self, owner: str, id_: str, *, write: bool) -> None:
        """Raises FilesystemNotFound or PermissionDenied, unless a user may use a filesystem so."""


class Traces(Protocol):
    """What else is kept of runs: artifacts, cached results."""

    async def used_by(self, view: View, run: str) -> Sequence[str]:
        """Runs that took results from a run."""

    async def forget(self, change: Change, runs: Sequence[str]) -> None:
        """Forgets all else that is kept of runs."""
