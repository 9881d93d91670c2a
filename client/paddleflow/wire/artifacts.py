"""Artifacts, where they come from, and cached results, to and from the wire."""

from __future__ import annotations

from paddleflow.models.artifacts import (
    ArtifactEvent,
    ArtifactFilter,
    ArtifactUse,
    CachedResult,
    CachedResultFilter,
    ExportedTable,
    Lineage,
    LineageLink,
)
from paddleflow.pipeline.v1 import artifact_pb2
from paddleflow.wire.base import EnumCodec, build, time_from_wire

USE = EnumCodec(ArtifactUse, artifact_pb2.ArtifactUse, "ARTIFACT_USE_")
TABLE = EnumCodec(ExportedTable, artifact_pb2.Table, "TABLE_")


def event_from_wire(event: artifact_pb2.ArtifactEvent) -> ArtifactEvent:
    return ArtifactEvent(
        number=event.number,
        run_id=event.run_id,
        node=event.node,
        step=event.step,
        filesystem_id=event.filesystem_id,
        filesystem=event.filesystem,
        owner=event.owner,
        artifact_path=event.artifact_path,
        artifact=event.artifact,
        use=USE.member(event.use),
        meta=event.meta,
        digest=event.digest,
        job_id=event.job_id,
        create_time=time_from_wire(event, "create_time"),
        update_time=time_from_wire(event, "update_time"),
    )


def lineage_from_wire(reply: artifact_pb2.GetLineageResponse) -> Lineage:
    made_from, made_into = (tuple(map(_link_from_wire, links)) for links in (reply.made_from, reply.made_into))
    return Lineage(made_from, made_into, reply.truncated)


def cached_result_from_wire(result: artifact_pb2.CachedResult) -> CachedResult:
    return CachedResult(
        id=result.id,
        run_id=result.run_id,
        node=result.node,
        job_id=result.job_id,
        filesystem=result.filesystem,
        owner=result.owner,
        origin=result.origin,
        key=result.key,
        max_expired_time=result.max_expired_time,
        used_by=tuple(result.used_by),
        create_time=time_from_wire(result, "create_time"),
        update_time=time_from_wire(result, "update_time"),
    )


def events_request(chosen: ArtifactFilter, size: int, token: str) -> artifact_pb2.ListArtifactEventsRequest:
    return build(
        artifact_pb2.ListArtifactEventsRequest,
        owners=chosen.get("owners", ()),
        filesystems=chosen.get("filesystems", ()),
        run_ids=chosen.get("run_ids", ()),
        uses=[USE.number(use) for use in chosen.get("uses", ())],
        path_prefixes=chosen.get("path_prefixes", ()),
        page_size=size,
        page_token=token,
    )


def cached_request(chosen: CachedResultFilter, size: int, token: str) -> artifact_pb2.ListCachedResultsRequest:
    return build(
        artifact_pb2.ListCachedResultsRequest,
        owners=chosen.get("owners", ()),
        filesystems=chosen.get("filesystems", ()),
        run_ids=chosen.get("run_ids", ()),
        page_size=size,
        page_token=token,
    )


def _link_from_wire(link: artifact_pb2.LineageLink) -> LineageLink:
    return LineageLink(
        run_id=link.run_id,
        node=link.node,
        input_path=link.input_path,
        output_path=link.output_path,
        distance=link.distance,
        cached=link.cached,
    )
