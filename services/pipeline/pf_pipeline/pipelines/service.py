"""Keeping, finding, changing and forgetting pipelines."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from paddleflow.problems import (
    EtagMismatch,
    InvalidArgument,
    PipelineInUse,
    Violation,
)
from pf_kit.changes import ChangeKind
from pf_kit.fields import shown
from pf_kit.principal import Principal
from pf_kit.unit import Change, View
from pf_pipeline.owners import Owner, eyes
from pf_pipeline.pipelines.domain import (
    Pipeline,
    PipelineChanged,
    PipelineFilter,
    PipelineVersion,
    with_version,
)
from pf_pipeline.pipelines.judging import Judged, Refused
from pf_pipeline.pipelines.ports import Uses
from pf_pipeline.pipelines.sources import version_of, visible
from pf_pipeline.pipelines.store import PipelineStore

Kept = tuple[Pipeline, PipelineVersion]


class Pipelines:
    """The pipelines, as callers may use them."""

    def __init__(self, *, store: PipelineStore, uses: Uses) -> None:
        self._store = store
        self._uses = uses

    async def get(self, view: View, caller: Principal, id_: str) -> Pipeline:
        """One pipeline. Raises PipelineNotFound."""
        return await visible(self._store, view, eyes(caller), id_)

    async def page(
        self, view: View, caller: Principal, chosen: PipelineFilter, before: int, limit: int
    ) -> Sequence[Pipeline]:
        """The pipelines with lower numbers that the caller may see, newest first."""
        return await self._store.page(view, replace(chosen, seen_by=eyes(caller)), before, limit)

    async def version(self, view: View, caller: Principal, id_: str, number: int) -> PipelineVersion:
        """One version with its document, 0 for the newest. Raises PipelineNotFound and PipelineVersionNotFound."""
        return await version_of(self._store, view, await visible(self._store, view, eyes(caller), id_), number)

    async def versions(
        self, view: View, caller: Principal, id_: str, filesystems: Collection[str], before: int, limit: int
    ) -> Sequence[PipelineVersion]:
        """The versions with lower numbers, newest first, without documents."""
        pipeline = await visible(self._store, view, eyes(caller), id_)
        return await self._store.versions(view, pipeline.number, filesystems, before, limit)

    async def create(
        self, change: Change, caller: Principal, owner: Owner, description: str, judged: Judged | Refused
    ) -> Kept:
        """Keeps a document as version 1 of a new pipeline. Raises why it was refused, and PipelineExists."""
        document = _accepted(judged)
        pipeline = Pipeline(
            number=await self._store.next_number(change),
            name=document.name,
            owner=owner.name,
            owner_since=owner.since,
            description=description or document.description,
            create_time=change.time,
            update_time=change.time,
        )
        first = _version(change, pipeline, document, caller)
        made = await self._store.add(change, pipeline, first)
        change.emit(PipelineChanged(ChangeKind.CREATED, made, made.version))
        return made, first

    async def update(
        self,
        change: Change,
        caller: Principal,
        id_: str,
        etag: str,
        *,
        description: str | None,
        judged: Judged | Refused | None,
    ) -> Kept:
        """Adds a version, if there is a document and it is not that of the newest one, and describes a pipeline anew.

        Raises why the document was refused, and what UpdatePipeline's contract lists.
        """
        before = await self._unchanged(change, caller, id_, etag)
        newest = await version_of(self._store, change, before, 0)
        after = before if description is None else replace(before, description=description)
        if judged is not None:
            document = _accepted(judged)
            _require_name(before, document)
            more = with_version(after, change.time)
            version = _version(change, more, document, caller)
            if not version.means_the_same_as(newest):
                await self._store.add_version(change, version)
                after, newest = more, version
        return (await self._saved(change, after), newest) if after != before else (before, newest)

    async def delete(self, change: Change, caller: Principal, id_: str, etag: str) -> None:
        """Forgets a pipeline with all its versions. Raises what DeletePipeline's contract lists."""
        pipeline = await self._unchanged(change, caller, id_, etag)
        await self._require_unused(change, pipeline, 0)
        version = await self._store.remove(change, pipeline.number)
        change.emit(PipelineChanged(ChangeKind.DELETED, pipeline, version))

    async def delete_version(self, change: Change, caller: Principal, id_: str, number: int) -> None:
        """Forgets a version. Raises what DeletePipelineVersion's contract lists."""
        pipeline = await visible(self._store, change, eyes(caller), id_)
        version = await version_of(self._store, change, pipeline, number)
        kept = await self._store.versions(change, pipeline.number, (), 0, 2)
        if len(kept) == 1:
            raise PipelineInUse(f"version {version.number} is the only one of {id_}; delete the pipeline instead")
        await self._require_unused(change, pipeline, version.number)
        await self._store.remove_version(change, pipeline.number, version.number)
        newest = kept[1].number if version.number == pipeline.newest else pipeline.newest
        await self._saved(change, replace(pipeline, newest=newest))

    async def _unchanged(self, change: Change, caller: Principal, id_: str, etag: str) -> Pipeline:
        pipeline = await visible(self._store, change, eyes(caller), id_)
        if etag and etag != pipeline.etag:
            raise EtagMismatch(f"changed since etag {shown(etag)}: it is {pipeline.etag!r} now; read it again")
        return pipeline

    async def _saved(self, change: Change, pipeline: Pipeline) -> Pipeline:
        saved = await self._store.save(change, replace(pipeline, update_time=change.time))
        change.emit(PipelineChanged(ChangeKind.UPDATED, saved, saved.version))
        return saved

    async def _require_unused(self, view: View, pipeline: Pipeline, version: int) -> None:
        if schedules := await self._uses.of(view, pipeline.id, version):
            what = f"version {version} of {pipeline.id}" if version else pipeline.id
            raise PipelineInUse(f"{what} is used by {', '.join(schedules)}; stop these schedules first")


def _accepted(judged: Judged | Refused) -> Judged:
    """Only in the change: a request that was fulfilled before is answered as then, whatever became of the document."""
    if isinstance(judged, Refused):
        raise judged
    return judged


def _version(change: Change, pipeline: Pipeline, document: Judged, author: Principal) -> PipelineVersion:
    return PipelineVersion(
        pipeline=pipeline.number,
        number=pipeline.newest,
        document=document.text,
        digest=document.digest,
        filesystem=document.filesystem,
        path=document.path,
        author=author.name,
        create_time=change.time,
    )


def _require_name(pipeline: Pipeline, document: Judged) -> None:
    if document.name != pipeline.name:
        message = (
            f"the document is named {shown(document.name)}, and the pipeline {shown(pipeline.name)}: give it that name"
        )
        raise InvalidArgument.of(Violation("source", message))
