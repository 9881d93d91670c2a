"""Between the messages of the contract and the values of the domain."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from google.protobuf.json_format import MessageToDict
from google.protobuf.struct_pb2 import Value as AnyValue

from paddleflow.pipeline.v1 import pipeline_pb2 as pb
from paddleflow.problems import FailedPrecondition, InvalidArgument, PermissionDenied, Violation
from pf_kit.events import Fact
from pf_kit.fields import one_line, require, shown, within
from pf_kit.principal import Principal, PrincipalKind
from pf_kit.wire import CHANGE_KINDS, timestamp
from pf_pipeline.documents.findings import Problem
from pf_pipeline.pipelines.domain import (
    Pipeline,
    PipelineChanged,
    PipelineFilter,
    PipelineVersion,
    description_violations,
    owner_violations,
)
from pf_pipeline.pipelines.ports import Difference, Exported, Fidelity, Form, Target
from pf_pipeline.pipelines.sources import LONGEST, Source
from pf_pipeline.plans.requests import Given

EVENT = pb.PipelineEvent.DESCRIPTOR.full_name
LONGEST_PATH = 4096
LONGEST_NAME = 128
FORMS = {
    pb.DRAWING_FORM_UNSPECIFIED: Form.SVG,
    pb.DRAWING_FORM_SVG: Form.SVG,
    pb.DRAWING_FORM_MERMAID: Form.MERMAID,
}
TARGETS = {pb.EXPORT_TARGET_ARGO: Target.ARGO, pb.EXPORT_TARGET_AIRFLOW: Target.AIRFLOW}
FIDELITIES = {Fidelity.EMULATED: pb.FIDELITY_EMULATED, Fidelity.LOST: pb.FIDELITY_LOST}


def pipeline_message(pipeline: Pipeline) -> pb.Pipeline:
    return pb.Pipeline(
        id=pipeline.id,
        name=pipeline.name,
        description=pipeline.description,
        owner=pipeline.owner,
        newest_version=pipeline.newest,
        create_time=timestamp(pipeline.create_time),
        update_time=timestamp(pipeline.update_time),
        etag=pipeline.etag,
    )


def version_message(pipeline_id: str, version: PipelineVersion) -> pb.PipelineVersion:
    return pb.PipelineVersion(
        pipeline_id=pipeline_id,
        number=version.number,
        document=version.document,
        digest=version.digest,
        filesystem=version.filesystem,
        path=version.path,
        author=version.author,
        create_time=timestamp(version.create_time),
    )


def problem_message(problem: Problem) -> pb.Problem:
    return pb.Problem(path=problem.path, message=problem.message, line=problem.line, column=problem.column)


def sendable(text: str, what: str, hint: str = "leave out a part") -> str:
    """The text. Raises FailedPrecondition with a hint if no message holds it."""
    if (size := len(text.encode())) > LONGEST:
        raise FailedPrecondition(f"the {what} has {size} bytes, and a message holds {LONGEST}; {hint}")
    return text


def sendable_drawing(text: str, form: Form) -> str:
    """The drawing. Raises FailedPrecondition with a hint if no message holds it."""
    return sendable(text, "drawing", "try Mermaid, which is shorter" if form is Form.SVG else "leave out a part")


def exported_message(exported: Exported) -> pb.ExportDocumentResponse:
    return pb.ExportDocumentResponse(
        text=sendable(exported.text, "export"),
        file_name=exported.file_name,
        findings=map(_finding_message, exported.differences),
    )


def _finding_message(difference: Difference) -> pb.ExportFinding:
    fidelity = FIDELITIES[difference.fidelity]
    return pb.ExportFinding(path=difference.path, fidelity=fidelity, message=difference.message)


def source_of(message: pb.Source) -> Source:
    """Where a document is. InvalidArgument names each field that cannot be."""
    require(
        _size_violations(message.document),
        within("source.pipeline_version", message.pipeline_version, 0, 2**31 - 1),
        one_line("source.path", message.path, LONGEST_PATH),
        one_line("source.filesystem", message.filesystem, LONGEST_NAME),
    )
    return Source(
        document=message.document,
        pipeline_id=message.pipeline_id,
        pipeline_version=message.pipeline_version,
        path=message.path,
        filesystem=message.filesystem,
    )


def _size_violations(document: str) -> list[Violation]:
    if len(document.encode()) <= LONGEST:
        return []
    return [Violation("source.document", f"must have at most {LONGEST} bytes")]


def user_of(caller: Principal, field: str) -> str:
    """The user that the caller is; InvalidArgument, for a field that would have to be given, if it is none."""
    if caller.kind is not PrincipalKind.USER:
        raise InvalidArgument.of(Violation(field, f"must be given, because {caller.label} is no user"))
    return caller.name


def owner_of(caller: Principal, message: pb.Pipeline) -> str:
    """Whose a new pipeline is to be. Raises InvalidArgument and PermissionDenied."""
    owner = message.owner or user_of(caller, "pipeline.owner")
    require(owner_violations(owner))
    if owner != caller.name and not caller.root:
        raise PermissionDenied(f"only root makes pipelines for others, here for {shown(owner)}")
    return owner


def description_of(field: str, description: str) -> str:
    """What people should know of a pipeline. InvalidArgument if it cannot be."""
    require(description_violations(field, description))
    return description


def filter_of(request: pb.ListPipelinesRequest) -> PipelineFilter:
    require(_word_violations("owners", request.owners), _word_violations("names", request.names))
    return PipelineFilter(owners=frozenset(request.owners), names=frozenset(request.names))


def filesystems_of(request: pb.ListPipelineVersionsRequest) -> frozenset[str]:
    require(_word_violations("filesystems", request.filesystems))
    return frozenset(request.filesystems)


def _word_violations(field: str, words: Iterable[str]) -> Iterator[Violation]:
    for word in words:
        yield from one_line(field, word, LONGEST_NAME)


def form_of(form: pb.DrawingForm.ValueType) -> Form:
    """How a graph is to be drawn. InvalidArgument if the form is not defined."""
    if form not in FORMS:
        raise InvalidArgument.of(Violation("form", "must be SVG or MERMAID"))
    return FORMS[form]


def target_of(target: pb.ExportTarget.ValueType) -> Target:
    """The system to write for. InvalidArgument if it is not given, or not defined."""
    if target not in TARGETS:
        raise InvalidArgument.of(Violation("target", "must be ARGO or AIRFLOW"))
    return TARGETS[target]


def parameters_of(message: Mapping[str, AnyValue]) -> Mapping[str, Given]:
    """Values of parameters; lists are tuples."""
    return {name: _given(MessageToDict(value)) for name, value in message.items()}


def _given(found: Any) -> Given:  # noqa: ANN401 -- JSON has no types
    match found:
        case list():
            return tuple(_given(item) for item in found)  # type: ignore[misc]  # planning tells what no list can hold
        case dict():
            return {name: _given(value) for name, value in found.items()}
        case _:
            value: Given = found
            return value


def encode(event: object) -> Fact:
    """The event, ready to be stored; TypeError if it is none of pipelines."""
    match event:
        case PipelineChanged(kind, pipeline, version):
            told = pb.PipelineEvent(kind=CHANGE_KINDS[kind], pipeline=pipeline_message(pipeline))
            return Fact(EVENT, f"pipeline/{pipeline.id}", version, told.SerializeToString(deterministic=True))
        case _:
            raise TypeError(f"{type(event).__name__} is no event of pipelines")
