"""Where documents come from: as they are given, from a pipeline that is kept, or from a file."""

from __future__ import annotations

from dataclasses import dataclass

from paddleflow.problems import InvalidArgument, PipelineNotFound, PipelineVersionNotFound, Violation
from pf_kit.fields import shown
from pf_kit.unit import View
from pf_pipeline.owners import Owner
from pf_pipeline.pipelines.domain import Pipeline, PipelineVersion, number_of
from pf_pipeline.pipelines.ports import Filesystems
from pf_pipeline.pipelines.store import PipelineStore

USUAL_PATH = "./run.yaml"
LONGEST = 4 * 2**20 - 64 * 1024
"""Bytes of a document, of a drawing and of an export: a message holds 4 MiB with all that goes with them."""
ROOT = "root"
"""The user that sees everything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where a document is. `document` goes before `pipeline_id`, and that before `path`; if none is given, the path is
    the usual one.
    """

    document: str = ""
    pipeline_id: str = ""
    pipeline_version: int = 0
    """0: the newest."""
    path: str = ""
    filesystem: str = ""
    """The main filesystem by name, in which the file is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """A document as it was found."""

    text: str
    pipeline_id: str = ""
    version: PipelineVersion | None = None
    """The version it is, if it is one that is kept."""
    path: str = ""
    """The file it was read from."""


class Documents:
    """Finds documents."""

    def __init__(self, *, store: PipelineStore, filesystems: Filesystems) -> None:
        self._store = store
        self._filesystems = filesystems

    async def read(self, view: View, user: Owner, source: Source) -> Given:
        """The document, in the name of the user whose pipeline or run it is to be.

        Raises PipelineNotFound, PipelineVersionNotFound, DocumentUnreadable, InvalidArgument, and what `Filesystems`
        raise.
        """
        if source.document:
            return Given(text=source.document)
        if source.pipeline_id:
            pipeline = await visible(self._store, view, None if user.name == ROOT else user, source.pipeline_id)
            version = await version_of(self._store, view, pipeline, source.pipeline_version)
            return Given(text=version.document, pipeline_id=pipeline.id, version=version)
        return await self._file(user.name, source)

    async def _file(self, user: str, source: Source) -> Given:
        if not source.filesystem:
            message = "must name the filesystem in which the file is; or give the document itself, or a pipeline"
            raise InvalidArgument.of(Violation("source.filesystem", message))
        path = source.path or USUAL_PATH
        filesystem_id = await self._filesystems.find(user, source.filesystem)
        text = await self._filesystems.text(user, filesystem_id, path, LONGEST)
        return Given(text=text, path=path)


async def visible(store: PipelineStore, view: View, user: Owner | None, id_: str) -> Pipeline:
    """The pipeline of this id. Raises PipelineNotFound, also if it is not the user's to see; None sees all."""
    pipeline = await store.pipeline(view, number_of(id_))
    if pipeline is None or not (user is None or pipeline.whose.is_of(user)):
        raise PipelineNotFound(f"no pipeline {shown(id_)} that you may see")
    return pipeline


async def version_of(store: PipelineStore, view: View, pipeline: Pipeline, number: int) -> PipelineVersion:
    """A version of a pipeline, 0 for the newest. Raises PipelineVersionNotFound."""
    version = await store.version(view, pipeline.number, number or pipeline.newest)
    if version is None:
        raise PipelineVersionNotFound(f"{pipeline.id} has no version {number}; the newest is {pipeline.newest}")
    return version
