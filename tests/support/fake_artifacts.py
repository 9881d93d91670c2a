"""What the small server of `fake_paddleflow` answers about artifacts and cached results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from paddleflow.pipeline.v1 import artifact_pb2 as pb
from paddleflow.problems import CachedResultNotFound, NotFound
from support.fake_services import BEGAN, World, page


@dataclass
class Artifacts:
    world: World

    def ListArtifactEvents(self, request: Any) -> Any:  # noqa: N802
        chosen = [
            each
            for each in self.world.artifact_events
            if (not request.uses or each.use in request.uses)
            and (not request.run_ids or each.run_id in request.run_ids)
            and (not request.path_prefixes or each.artifact_path.startswith(tuple(request.path_prefixes)))
        ]
        items, token = page(chosen, request, lambda each: f"{each.number:06}")
        return pb.ListArtifactEventsResponse(events=items, next_page_token=token)

    def GetLineage(self, request: Any) -> Any:  # noqa: N802
        if not self.world.lineage.made_from:
            raise NotFound(f"nobody wrote or read {request.artifact_path!r}")
        return self.world.lineage

    def ExportTable(self, _: Any) -> Any:  # noqa: N802
        raise NotImplementedError("streams are played")

    def ListCachedResults(self, request: Any) -> Any:  # noqa: N802
        chosen = [
            each
            for _, each in sorted(self.world.cached_results.items())
            if not request.run_ids or each.run_id in request.run_ids
        ]
        items, token = page(chosen, request, lambda each: each.id)
        return pb.ListCachedResultsResponse(results=items, next_page_token=token)

    def GetCachedResult(self, request: Any) -> Any:  # noqa: N802
        return pb.GetCachedResultResponse(result=self._found(request.id))

    def DeleteCachedResult(self, request: Any) -> Any:  # noqa: N802
        del self.world.cached_results[self._found(request.id).id]
        return pb.DeleteCachedResultResponse()

    def _found(self, id_: str) -> pb.CachedResult:
        if (found := self.world.cached_results.get(id_)) is None:
            raise CachedResultNotFound(f"no cached result {id_!r}")
        return found


def remember(world: World) -> None:
    """Adds what `run-000001` wrote and read, and a result of it that may be used again."""
    path = ".pipeline/run-000001/data"
    wrote = pb.ArtifactEvent(number=1, node="prepare", step="prepare", use=pb.ARTIFACT_USE_OUTPUT)
    read = pb.ArtifactEvent(number=2, node="fit.train", step="train", use=pb.ARTIFACT_USE_INPUT)
    for event, name in ((wrote, "data"), (read, "input")):
        event.MergeFrom(pb.ArtifactEvent(run_id="run-000001", owner="alice", create_time=BEGAN, update_time=BEGAN))
        event.MergeFrom(pb.ArtifactEvent(filesystem="ppl", filesystem_id="fs-root-ppl"))
        event.MergeFrom(pb.ArtifactEvent(artifact=name, artifact_path=path, meta="{}", job_id="job-1", digest="ab"))
    world.artifact_events = [wrote, read]
    world.lineage.made_from.add(run_id="run-000001", node="prepare", output_path=path, distance=1)
    world.lineage.made_into.add(
        run_id="run-000001", node="fit.train", input_path=path, output_path="model", distance=1, cached=True
    )
    result = pb.CachedResult(id="cch-000001", run_id="run-000001", node="prepare", job_id="job-1", filesystem="ppl")
    result.MergeFrom(pb.CachedResult(owner="alice", origin="./run.yaml", key="0f" * 32, max_expired_time=-1))
    result.MergeFrom(pb.CachedResult(used_by=["run-000009"], create_time=BEGAN, update_time=BEGAN))
    world.cached_results[result.id] = result
