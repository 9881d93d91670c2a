"""Where pipelines are kept."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from pf_kit.unit import Change, View
from pf_pipeline.owners import Owner
from pf_pipeline.pipelines.domain import Pipeline, PipelineFilter, PipelineVersion


def pipeline_lock(id_: str) -> str:
    """Held by every change of a pipeline, and by whoever begins to use one that must stay."""
    return f"pipeline/{id_}"


def name_lock(owner: str, name: str) -> str:
    """Held by whoever makes a pipeline of this name."""
    return f"pipeline-name/{owner}/{name}"


class PipelineStore(Protocol):
    """The port to the rows of pipelines and their versions. Whoever changes a pipeline holds its lock."""

    async def next_number(self, change: Change) -> int:
        """The number of a new pipeline."""

    async def add(self, change: Change, pipeline: Pipeline, first: PipelineVersion) -> Pipeline:
        """Keeps a new pipeline and returns it with its etag. Raises PipelineExists if its owner has one of its name."""

    async def pipeline(self, view: View, number: int) -> Pipeline | None:
        """The pipeline of this number."""

    async def page(self, view: View, chosen: PipelineFilter, before: int, limit: int) -> Sequence[Pipeline]:
        """Pipelines with numbers below one, newest first; 0 means from the newest on."""

    async def owners(self, view: View) -> Sequence[Owner]:
        """The users who own pipelines."""

    async def owned(self, view: View, owner: Owner, limit: int) -> Sequence[Pipeline]:
        """Pipelines of a user, the oldest first."""

    async def save(self, change: Change, pipeline: Pipeline) -> Pipeline:
        """Keeps how a pipeline is now, and returns it with its new etag."""

    async def remove(self, change: Change, number: int) -> int:
        """Forgets a pipeline and all its versions, and returns the number of this change."""

    async def version(self, view: View, pipeline: int, number: int) -> PipelineVersion | None:
        """A version with its document."""

    async def versions(
        self, view: View, pipeline: int, filesystems: Collection[str], before: int, limit: int
    ) -> Sequence[PipelineVersion]:
        """Versions without their documents, newest first, whose numbers are below one; 0 means from the newest on.

        If filesystems are named, only those whose main filesystem has one of these names.
        """

    async def add_version(self, change: Change, version: PipelineVersion) -> None:
        """Keeps a new version."""

    async def remove_version(self, change: Change, pipeline: int, number: int) -> None:
        """Forgets a version."""
