"""Between the messages of ArtifactService and values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime

from google.protobuf.timestamp_pb2 import Timestamp

from paddleflow.pipeline.v1 import artifact_pb2 as pb
from paddleflow.problems import InvalidArgument, Violation
from pf_kit.fields import one_line, require, within
from pf_kit.wire import timestamp
from pf_pipeline.artifacts.domain import (
    ArtifactEvent,
    CachedResult,
    EventFilter,
    Period,
    Place,
    ResultFilter,
    Table,
    Use,
)
from pf_pipeline.artifacts.lineage import Lineage, Link
from pf_pipeline.owners import Owner

USES = {Use.INPUT: pb.ARTIFACT_USE_INPUT, Use.OUTPUT: pb.ARTIFACT_USE_OUTPUT}
TABLES = {pb.TABLE_LINEAGE: Table.LINEAGE, pb.TABLE_RUNS: Table.RUNS, pb.TABLE_NODES: Table.NODES}
MOST_WORDS = 100
"""Of one filter."""
LONGEST_WORD = 256
LONGEST_PATH = 4095
DEPTH, MOST_DEPTH = 5, 20


def event_filter(request: pb.ListArtifactEventsRequest) -> EventFilter:
    """Which events are wanted. InvalidArgument names each filter that is malformed."""
    require(
        _words("owners", request.owners, LONGEST_WORD),
        _words("filesystems", request.filesystems, LONGEST_WORD),
        _words("run_ids", request.run_ids, LONGEST_WORD),
        _words("path_prefixes", request.path_prefixes, LONGEST_PATH),
    )
    return EventFilter(
        owners=tuple(request.owners),
        filesystems=tuple(request.filesystems),
        runs=tuple(request.run_ids),
        uses=tuple(_uses(request.uses)),
        path_prefixes=tuple(request.path_prefixes),
    )


def result_filter(request: pb.ListCachedResultsRequest) -> ResultFilter:
    """Which results are wanted. InvalidArgument names each filter that is malformed."""
    require(
        _words("owners", request.owners, LONGEST_WORD),
        _words("filesystems", request.filesystems, LONGEST_WORD),
        _words("run_ids", request.run_ids, LONGEST_WORD),
    )
    return ResultFilter(tuple(request.owners), tuple(request.filesystems), tuple(request.run_ids))


def id_of(request: pb.GetCachedResultRequest | pb.DeleteCachedResultRequest) -> str:
    """The id of the result that is meant. InvalidArgument if it can be none."""
    require(_given("id", request.id, LONGEST_WORD))
    return request.id


def place_of(request: pb.GetLineageRequest) -> Place:
    """The artifact that is meant. InvalidArgument names what is missing."""
    require(
        _given("filesystem_id", request.filesystem_id, LONGEST_WORD),
        _given("artifact_path", request.artifact_path, LONGEST_PATH),
        within("depth", request.depth, 0, MOST_DEPTH),
    )
    return Place(request.filesystem_id, request.artifact_path.strip("/"))


def depth_of(request: pb.GetLineageRequest) -> int:
    return request.depth or DEPTH


def table_of(table: pb.Table.ValueType) -> Table:
    """The table that is meant. InvalidArgument if none is."""
    if table not in TABLES:
        raise InvalidArgument.of(Violation("table", f"must be one of {', '.join(Table).upper()}"))
    return TABLES[table]


def period_of(request: pb.ExportTableRequest, seen_by: Owner | None) -> Period:
    """Which rows are wanted. InvalidArgument if a time is none."""
    since = _time("since", request.since) if request.HasField("since") else None
    until = _time("until", request.until) if request.HasField("until") else None
    return Period(since, until, seen_by)


def event_message(event: ArtifactEvent) -> pb.ArtifactEvent:
    return pb.ArtifactEvent(
        number=event.number,
        run_id=event.key.run,
        node=event.key.node,
        step=event.step,
        filesystem_id=event.filesystem_id,
        filesystem=event.filesystem,
        owner=event.owner,
        artifact_path=",".join(event.paths),
        artifact=event.artifact,
        use=USES[event.use],
        meta=event.meta,
        digest=event.digest,
        job_id=event.job,
        create_time=timestamp(event.create_time),
        update_time=timestamp(event.update_time),
    )


def result_message(result: CachedResult) -> pb.CachedResult:
    shelf = result.cache_key.shelf
    return pb.CachedResult(
        id=result.id,
        run_id=result.made_by.run,
        node=result.made_by.node,
        job_id=result.job,
        filesystem=result.filesystem,
        owner=shelf.owner,
        origin=shelf.origin,
        key=result.key,
        max_expired_time=result.max_expired_time,
        used_by=result.used_by,
        create_time=timestamp(result.create_time),
        update_time=timestamp(result.update_time),
    )


def lineage_reply(found: Lineage) -> pb.GetLineageResponse:
    return pb.GetLineageResponse(
        made_from=map(_link, found.made_from), made_into=map(_link, found.made_into), truncated=found.truncated
    )


def _link(link: Link) -> pb.LineageLink:
    return pb.LineageLink(
        run_id=link.by.run,
        node=link.by.node,
        input_path=link.input_path,
        output_path=link.output_path,
        distance=link.distance,
        cached=link.cached,
    )


def _uses(uses: Iterable[pb.ArtifactUse.ValueType]) -> Iterator[Use]:
    known = {number: use for use, number in USES.items()}
    for use in uses:
        if use not in known:
            raise InvalidArgument.of(Violation("uses", "must be INPUT or OUTPUT"))
        yield known[use]


def _words(field: str, words: Sequence[str], longest: int) -> Iterator[Violation]:
    yield from within(f"the number of {field}", len(words), 0, MOST_WORDS)
    for number, word in enumerate(words):
        yield from one_line(f"{field}[{number}]", word, longest)


def _given(field: str, word: str, longest: int) -> Iterator[Violation]:
    if not word.strip("/"):
        yield Violation(field, "must be given")
    yield from one_line(field, word, longest)


def _time(field: str, time: Timestamp) -> datetime:
    try:
        return time.ToDatetime(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise InvalidArgument.of(Violation(field, "must be a time from the year 1 to 9999")) from None
