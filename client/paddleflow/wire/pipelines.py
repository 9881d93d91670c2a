"""Pipelines, their documents and what can be told of these, to and from the wire."""

from __future__ import annotations

from paddleflow.models.pipelines import (
    DocumentProblem,
    DrawingForm,
    Export,
    ExportFinding,
    ExportTarget,
    Fidelity,
    Pipeline,
    PipelineFilter,
    PipelineVersion,
    Source,
)
from paddleflow.pipeline.v1 import pipeline_pb2
from paddleflow.wire.base import EnumCodec, build, time_from_wire

DRAWING_FORM = EnumCodec(DrawingForm, pipeline_pb2.DrawingForm, "DRAWING_FORM_")
EXPORT_TARGET = EnumCodec(ExportTarget, pipeline_pb2.ExportTarget, "EXPORT_TARGET_")
FIDELITY = EnumCodec(Fidelity, pipeline_pb2.Fidelity, "FIDELITY_")


def source_to_wire(source: Source) -> pipeline_pb2.Source:
    return build(
        pipeline_pb2.Source,
        document=source.document,
        pipeline_id=source.pipeline_id,
        pipeline_version=source.pipeline_version,
        path=source.path,
        filesystem=source.filesystem,
    )


def source_from_wire(source: pipeline_pb2.Source) -> Source:
    return Source(
        document=source.document,
        pipeline_id=source.pipeline_id,
        pipeline_version=source.pipeline_version,
        path=source.path,
        filesystem=source.filesystem,
    )


def pipeline_from_wire(pipeline: pipeline_pb2.Pipeline) -> Pipeline:
    return Pipeline(
        id=pipeline.id,
        name=pipeline.name,
        description=pipeline.description,
        owner=pipeline.owner,
        newest_version=pipeline.newest_version,
        create_time=time_from_wire(pipeline, "create_time"),
        update_time=time_from_wire(pipeline, "update_time"),
        etag=pipeline.etag,
    )


def version_from_wire(version: pipeline_pb2.PipelineVersion) -> PipelineVersion:
    return PipelineVersion(
        pipeline_id=version.pipeline_id,
        number=version.number,
        document=version.document,
        digest=version.digest,
        filesystem=version.filesystem,
        path=version.path,
        author=version.author,
        create_time=time_from_wire(version, "create_time"),
    )


def problem_from_wire(problem: pipeline_pb2.Problem) -> DocumentProblem:
    return DocumentProblem(problem.path, problem.message, problem.line, problem.column)


def export_from_wire(reply: pipeline_pb2.ExportDocumentResponse) -> Export:
    findings = tuple(ExportFinding(each.path, FIDELITY.member(each.fidelity), each.message) for each in reply.findings)
    return Export(reply.text, reply.file_name, findings)


def list_request(chosen: PipelineFilter, size: int, token: str) -> pipeline_pb2.ListPipelinesRequest:
    return build(
        pipeline_pb2.ListPipelinesRequest,
        owners=chosen.get("owners", ()),
        names=chosen.get("names", ()),
        page_size=size,
        page_token=token,
    )
