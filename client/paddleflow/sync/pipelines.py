# Written by tools/generate_sync.py from paddleflow/aio/pipelines.py; change it there.
"""Pipelines: documents that are kept, with all their versions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Unpack

import grpc

from paddleflow.models.pages import Page
from paddleflow.models.pipelines import (
    DocumentProblem,
    DrawingForm,
    Export,
    ExportTarget,
    Pipeline,
    PipelineFilter,
    PipelineVersion,
    Source,
    VersionedPipeline,
)
from paddleflow.pipeline.v1 import pipeline_pb2, pipeline_pb2_grpc
from paddleflow.sync.pages import every
from paddleflow.sync.session import Session
from paddleflow.wire.base import build
from paddleflow.wire.pipelines import (
    DRAWING_FORM,
    EXPORT_TARGET,
    export_from_wire,
    list_request,
    pipeline_from_wire,
    problem_from_wire,
    source_to_wire,
    version_from_wire,
)
from paddleflow.wire.values import values_to_wire


class Pipelines:
    """Documents that say what is to be run in which order. A pipeline belongs to who made it."""

    def __init__(self, session: Session, channel: grpc.Channel) -> None:
        self._session = session
        self._stub: pipeline_pb2_grpc.PipelineServiceStub = pipeline_pb2_grpc.PipelineServiceStub(channel)

    def create(
        self, source: Source, *, description: str = "", owner: str = "", request_id: str = ""
    ) -> VersionedPipeline:
        """Keeps a document as version 1 of a new pipeline, which has its name. Only root names an owner."""
        draft = build(pipeline_pb2.Pipeline, description=description, owner=owner)
        request = build(pipeline_pb2.CreatePipelineRequest, pipeline=draft, source=source_to_wire(source))
        reply = self._session.change(self._stub.CreatePipeline, request, request_id)
        return VersionedPipeline(pipeline_from_wire(reply.pipeline), version_from_wire(reply.version))

    def get(self, id: str) -> Pipeline:  # noqa: A002 -- the word of the contract
        reply = self._session.call(self._stub.GetPipeline, build(pipeline_pb2.GetPipelineRequest, id=id))
        return pipeline_from_wire(reply.pipeline)

    def list(self, **chosen: Unpack[PipelineFilter]) -> Iterator[Pipeline]:
        """The pipelines that the caller may see, newest first; fetches page after page."""
        return every(lambda size, token: self.page(size, token, **chosen))

    def page(self, size: int = 0, token: str = "", **chosen: Unpack[PipelineFilter]) -> Page[Pipeline]:
        """One page of the list: at most `size` pipelines (0: as many as the server likes) from the token on."""
        reply = self._session.call(self._stub.ListPipelines, list_request(chosen, size, token))
        return Page([pipeline_from_wire(each) for each in reply.pipelines], reply.next_page_token)

    def update(
        self,
        id: str,  # noqa: A002 -- the word of the contract
        source: Source | None = None,
        *,
        description: str | None = None,
        etag: str = "",
        request_id: str = "",
    ) -> VersionedPipeline:
        """Keeps a document as the next version, unless it is that of the newest, or changes the description."""
        request = build(
            pipeline_pb2.UpdatePipelineRequest,
            id=id,
            source=source_to_wire(source) if source else None,
            description=description,
            etag=etag,
        )
        reply = self._session.change(self._stub.UpdatePipeline, request, request_id)
        return VersionedPipeline(pipeline_from_wire(reply.pipeline), version_from_wire(reply.version))

    def delete(self, id: str, *, etag: str = "", request_id: str = "") -> None:  # noqa: A002 -- as above
        """Forgets a pipeline with all its versions; its runs stay."""
        request = build(pipeline_pb2.DeletePipelineRequest, id=id, etag=etag)
        self._session.change(self._stub.DeletePipeline, request, request_id)

    def version(self, id: str, number: int = 0) -> PipelineVersion:  # noqa: A002 -- as above
        """One version with its document; without a number the newest."""
        request = build(pipeline_pb2.GetPipelineVersionRequest, pipeline_id=id, number=number)
        reply = self._session.call(self._stub.GetPipelineVersion, request)
        return version_from_wire(reply.version)

    def versions(self, id: str, *, filesystems: Sequence[str] = ()) -> Iterator[PipelineVersion]:  # noqa: A002 -- as above
        """The versions, newest first, without their documents; fetches page after page."""
        return every(lambda size, token: self.version_page(id, size, token, filesystems=filesystems))

    def version_page(
        self,
        id: str,  # noqa: A002 -- the word of the contract
        size: int = 0,
        token: str = "",
        *,
        filesystems: Sequence[str] = (),
    ) -> Page[PipelineVersion]:
        """One page of the versions: at most `size` (0: as many as the server likes) from the token on."""
        request = build(
            pipeline_pb2.ListPipelineVersionsRequest,
            pipeline_id=id,
            filesystems=filesystems,
            page_size=size,
            page_token=token,
        )
        reply = self._session.call(self._stub.ListPipelineVersions, request)
        return Page([version_from_wire(each) for each in reply.versions], reply.next_page_token)

    def delete_version(self, id: str, number: int, *, request_id: str = "") -> None:  # noqa: A002 -- as above
        """Forgets a version. Its number is not given again."""
        request = build(pipeline_pb2.DeletePipelineVersionRequest, pipeline_id=id, number=number)
        self._session.change(self._stub.DeletePipelineVersion, request, request_id)

    def validate(self, source: Source, *, pipeline_only: bool = False) -> Sequence[DocumentProblem]:
        """All that is wrong with a document, in its order; also for a run, unless `pipeline_only`."""
        request = build(
            pipeline_pb2.ValidateDocumentRequest, source=source_to_wire(source), pipeline_only=pipeline_only
        )
        reply = self._session.call(self._stub.ValidateDocument, request)
        return [problem_from_wire(each) for each in reply.problems]

    def draw(self, source: Source, form: DrawingForm = DrawingForm.SVG) -> str:
        """The graph of a document, as SVG or Mermaid."""
        request = build(pipeline_pb2.DrawDocumentRequest, source=source_to_wire(source), form=DRAWING_FORM.number(form))
        reply = self._session.call(self._stub.DrawDocument, request)
        return reply.drawing

    def export(
        self,
        source: Source,
        target: ExportTarget,
        *,
        strict: bool = False,
        parameters: Mapping[str, object] | None = None,
    ) -> Export:
        """The document for another system, and what is not exactly the same there; with `strict` that is refused."""
        request = build(
            pipeline_pb2.ExportDocumentRequest,
            source=source_to_wire(source),
            target=EXPORT_TARGET.number(target),
            strict=strict,
            parameters=values_to_wire("parameters", parameters or {}),
        )
        return export_from_wire(self._session.call(self._stub.ExportDocument, request))
