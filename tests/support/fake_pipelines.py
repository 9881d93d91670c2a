"""What the small server of `fake_paddleflow` answers about pipelines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from paddleflow.pipeline.v1 import pipeline_pb2 as pb
from paddleflow.problems import DocumentInvalid, PipelineNotFound, PipelineVersionNotFound, Violation
from support.fake_services import BEGAN, World, page


@dataclass
class Pipelines:
    world: World

    def CreatePipeline(self, request: Any) -> Any:  # noqa: N802
        check(self.world)
        made = pb.Pipeline(id=f"ppl-{len(self.world.pipelines) + 1:06}", name="greeting", etag="1", newest_version=1)
        made.MergeFrom(pb.Pipeline(create_time=BEGAN, update_time=BEGAN, description=request.pipeline.description))
        made.owner = request.pipeline.owner or self.world.caller
        self.world.pipelines[made.id] = made
        return pb.CreatePipelineResponse(pipeline=made, version=self._keep(made, request.source))

    def GetPipeline(self, request: Any) -> Any:  # noqa: N802
        return pb.GetPipelineResponse(pipeline=self._found(request.id))

    def ListPipelines(self, request: Any) -> Any:  # noqa: N802
        chosen = [
            each
            for _, each in sorted(self.world.pipelines.items())
            if (not request.names or each.name in request.names)
            and (not request.owners or each.owner in request.owners)
        ]
        items, token = page(chosen, request, lambda each: each.id)
        return pb.ListPipelinesResponse(pipelines=items, next_page_token=token)

    def UpdatePipeline(self, request: Any) -> Any:  # noqa: N802
        found = self._found(request.id)
        if request.HasField("description"):
            found.description = request.description
        if request.HasField("source"):
            check(self.world)
            found.newest_version += 1
            self._keep(found, request.source)
        return pb.UpdatePipelineResponse(pipeline=found, version=self._versions(found.id)[-1])

    def DeletePipeline(self, request: Any) -> Any:  # noqa: N802
        del self.world.pipelines[self._found(request.id).id]
        return pb.DeletePipelineResponse()

    def GetPipelineVersion(self, request: Any) -> Any:  # noqa: N802
        return pb.GetPipelineVersionResponse(version=self._version(request.pipeline_id, request.number))

    def ListPipelineVersions(self, request: Any) -> Any:  # noqa: N802
        kept = self._versions(request.pipeline_id)
        chosen = [each for each in kept if not request.filesystems or each.filesystem in request.filesystems]
        items, token = page(chosen, request, lambda each: str(each.number))
        return pb.ListPipelineVersionsResponse(versions=items, next_page_token=token)

    def DeletePipelineVersion(self, request: Any) -> Any:  # noqa: N802
        self.world.pipeline_versions.remove(self._version(request.pipeline_id, request.number))
        return pb.DeletePipelineVersionResponse()

    def ValidateDocument(self, _: Any) -> Any:  # noqa: N802
        return pb.ValidateDocumentResponse(problems=self.world.document_problems)

    def DrawDocument(self, request: Any) -> Any:  # noqa: N802
        return pb.DrawDocumentResponse(drawing=f"{pb.DrawingForm.Name(request.form)} of a document")

    def ExportDocument(self, request: Any) -> Any:  # noqa: N802
        finding = pb.ExportFinding(path="cache", fidelity=pb.FIDELITY_LOST, message="there is no such cache")
        exact = not request.parameters
        return pb.ExportDocumentResponse(
            text="exported\n", file_name="greeting.yaml", findings=[] if exact else [finding]
        )

    def _found(self, id_: str) -> pb.Pipeline:
        if (found := self.world.pipelines.get(id_)) is None:
            raise PipelineNotFound(f"no pipeline {id_!r}")
        return found

    def _versions(self, id_: str) -> list[pb.PipelineVersion]:
        self._found(id_)
        return [each for each in self.world.pipeline_versions if each.pipeline_id == id_]

    def _version(self, id_: str, number: int) -> pb.PipelineVersion:
        for each in reversed(self._versions(id_)):
            if number in (0, each.number):
                return each
        raise PipelineVersionNotFound(f"pipeline {id_!r} has no version {number}")

    def _keep(self, pipeline: pb.Pipeline, source: pb.Source) -> pb.PipelineVersion:
        version = pb.PipelineVersion(
            pipeline_id=pipeline.id,
            number=pipeline.newest_version,
            document=source.document or "name: greeting\n",
            filesystem=source.filesystem,
            path=source.path,
            author=self.world.caller,
            create_time=BEGAN,
        )
        self.world.pipeline_versions.append(version)
        return version


def check(world: World) -> None:
    """Refuses a document if there is something wrong with all of them."""
    if wrong := world.document_problems:
        told = [Violation(each.path, f"{each.message} (line {each.line}, column {each.column})") for each in wrong]
        raise DocumentInvalid.of(*told)
