"""ArtifactService: who sees what, page by page."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import pytest

from paddleflow.pipeline.v1 import artifact_pb2 as pb
from paddleflow.problems import CachedResultNotFound, InvalidArgument, NotFound, PageTokenInvalid
from pf_kit.call import CURRENT, Call
from pf_kit.clock import SystemClock
from pf_kit.events import Fact
from pf_kit.lists import Lists
from pf_kit.memory import MemoryDatabase
from pf_kit.mutation import Mutations
from pf_kit.page import PageTokens
from pf_kit.principal import Principal, PrincipalKind
from pf_kit.unit import AuditFilter
from pf_pipeline.artifacts.domain import (
    ArtifactEvent,
    CachedResult,
    CacheKey,
    NodeKey,
    Period,
    Shelf,
    Table,
    Taken,
    Use,
)
from pf_pipeline.artifacts.memory import MemoryArtifactStore
from pf_pipeline.artifacts.service import Artifacts
from pf_pipeline.artifacts.servicer import ArtifactServicer
from support.owners import CALLERS

MADE = datetime(2030, 1, 1, tzinfo=UTC)
SECRET = b"secret"


class OneTable:
    """Fulfils `Tables`: says what was asked for."""

    async def parquet(self, table: Table, period: Period) -> AsyncIterator[bytes]:
        yield f"{table} {period.seen_by} {period.since}".encode()


def no_events(event: object) -> Fact:
    raise TypeError(event)


@pytest.fixture
async def database() -> MemoryDatabase:
    """With events and results of two users."""
    database, store = MemoryDatabase(encode=no_events, clock=SystemClock()), MemoryArtifactStore()
    async with database.change("run") as change:
        for number in range(3):
            await store.record(change, [event(f"r{number}", "ada"), event(f"s{number}", "bob")])
        results = await store.add_results(change, [result("r1", "ada"), result("s1", "bob")])
        await store.take(change, [Taken(results[0].number, "r1", "r2")])
    return database


@pytest.fixture
def servicer(database: MemoryDatabase) -> ArtifactServicer:
    return ArtifactServicer(
        database=database,
        callers=CALLERS,
        mutations=Mutations(database, SECRET),
        lists=Lists(tokens=PageTokens(SECRET)),
        artifacts=Artifacts(store=MemoryArtifactStore()),
        tables=OneTable(),
    )


def event(run: str, owner: str) -> ArtifactEvent:
    return ArtifactEvent(
        key=NodeKey(run, "train"),
        use=Use.OUTPUT,
        artifact="model",
        step="train",
        filesystem_id=f"fs-{owner}-data",
        filesystem="data",
        owner=owner,
        paths=(f"runs/{run}", "b"),
        run_time=MADE,
    )


def result(run: str, owner: str) -> CachedResult:
    key = CacheKey(Shelf(owner, "fs", "path:run.yaml"), "k")
    return CachedResult(cache_key=key, files="f", made_by=NodeKey(run, "train"), component="train", filesystem="data")


@contextmanager
def calling(user: str) -> Iterator[None]:
    principal = Principal(PrincipalKind.USER, user, root=user == "root")
    token = CURRENT.set(Call("/method", principal, "peer", "", float("inf")))
    try:
        yield
    finally:
        CURRENT.reset(token)


async def asked(servicer: ArtifactServicer, user: str, request: Any) -> Any:
    method = type(request).__name__.removesuffix("Request")
    with calling(user):
        return await getattr(servicer, method)(request, None)


async def test_each_sees_its_own_and_root_all(servicer: ArtifactServicer) -> None:
    request = pb.ListArtifactEventsRequest()
    assert [each.run_id for each in (await asked(servicer, "ada", request)).events] == ["r2", "r1", "r0"]
    assert len((await asked(servicer, "root", request)).events) == 6
    assert not (await asked(servicer, "ada", pb.ListArtifactEventsRequest(owners=["bob"]))).events
    told = (await asked(servicer, "ada", pb.ListArtifactEventsRequest(run_ids=["r1"]))).events[0]
    assert (told.artifact_path, told.use, told.node) == ("runs/r1,b", pb.ARTIFACT_USE_OUTPUT, "train")


async def test_lists_come_in_pages(servicer: ArtifactServicer) -> None:
    request, runs = pb.ListArtifactEventsRequest(page_size=4), list[str]()
    while True:
        page = await asked(servicer, "root", request)
        runs.extend(each.run_id for each in page.events)
        if not page.next_page_token:
            break
        request.page_token = page.next_page_token
    assert runs == ["s2", "r2", "s1", "r1", "s0", "r0"]
    request.owners.append("ada")
    with pytest.raises(PageTokenInvalid):
        await asked(servicer, "root", request)


@pytest.mark.parametrize(
    ("request_", "field"),
    [
        (pb.ListArtifactEventsRequest(owners=["a\0"]), r"owners\[0\]"),
        (pb.ListArtifactEventsRequest(run_ids=["r"] * 101), "run_ids"),
        (pb.ListArtifactEventsRequest(path_prefixes=["x" * 5000]), "path_prefixes"),
        (pb.ListArtifactEventsRequest(uses=[pb.ARTIFACT_USE_UNSPECIFIED]), "uses"),
        (pb.ListCachedResultsRequest(filesystems=["\n"]), "filesystems"),
        (pb.GetLineageRequest(artifact_path="a"), "filesystem_id"),
        (pb.GetLineageRequest(filesystem_id="fs", artifact_path="/"), "artifact_path"),
        (pb.GetLineageRequest(filesystem_id="fs", artifact_path="a\0"), "artifact_path"),
        (pb.GetLineageRequest(filesystem_id="fs", artifact_path="a", depth=21), "depth"),
        (pb.GetCachedResultRequest(), "id"),
        (pb.DeleteCachedResultRequest(id="a\0"), "id"),
    ],
)
async def test_what_is_malformed_is_named(servicer: ArtifactServicer, request_: Any, field: str) -> None:
    with pytest.raises(InvalidArgument, match=field):
        await asked(servicer, "ada", request_)


async def test_lineage_is_told(servicer: ArtifactServicer) -> None:
    request = pb.GetLineageRequest(filesystem_id="fs-ada-data", artifact_path="/runs/r1/")
    (link,) = (await asked(servicer, "ada", request)).made_from
    assert link == pb.LineageLink(run_id="r1", node="train", output_path="runs/r1", distance=1)
    with pytest.raises(NotFound, match="no run that you may see"):
        await asked(servicer, "bob", request)


async def test_cached_results_are_told(servicer: ArtifactServicer) -> None:
    (told,) = (await asked(servicer, "ada", pb.ListCachedResultsRequest())).results
    assert (told.run_id, told.owner, told.origin, list(told.used_by)) == ("r1", "ada", "path:run.yaml", ["r2"])
    assert len(told.key) == 64
    assert (await asked(servicer, "ada", pb.GetCachedResultRequest(id=told.id))).result == told
    for user, id_ in (("bob", told.id), ("ada", "cch-999999"), ("ada", "cch-x"), ("ada", "cch-" + "9" * 30)):
        with pytest.raises(CachedResultNotFound):
            await asked(servicer, user, pb.GetCachedResultRequest(id=id_))


async def test_a_result_is_forgotten_once_and_on_record(servicer: ArtifactServicer, database: MemoryDatabase) -> None:
    (told,) = (await asked(servicer, "ada", pb.ListCachedResultsRequest())).results
    with pytest.raises(CachedResultNotFound):
        await asked(servicer, "bob", pb.DeleteCachedResultRequest(id=told.id))
    request = pb.DeleteCachedResultRequest(id=told.id, request_id="1")
    assert await asked(servicer, "ada", request) == await asked(servicer, "ada", request)
    assert not (await asked(servicer, "ada", pb.ListCachedResultsRequest())).results
    with pytest.raises(CachedResultNotFound):
        await asked(servicer, "ada", pb.DeleteCachedResultRequest(id=told.id, request_id="2"))
    (record,) = await database.audit_records(AuditFilter(), None, 10)
    assert record.entry.subject == f"cached-result/{told.id}"


async def exported(servicer: ArtifactServicer, user: str, request: pb.ExportTableRequest) -> bytes:
    with calling(user):
        async with asyncio.timeout(5):
            return b"".join([piece.data async for piece in servicer.ExportTable(request, None)])


async def test_tables_hold_what_the_caller_may_see(servicer: ArtifactServicer) -> None:
    request = pb.ExportTableRequest(table=pb.TABLE_NODES)
    assert (await exported(servicer, "ada", request)).startswith(b"nodes Owner(name='ada'")
    request.since.FromDatetime(MADE)
    assert await exported(servicer, "root", request) == b"nodes None 2030-01-01 00:00:00+00:00"
    request.since.seconds = 2**60
    with pytest.raises(InvalidArgument, match="since"):
        await exported(servicer, "root", request)
    with pytest.raises(InvalidArgument, match="LINEAGE, RUNS, NODES"):
        await exported(servicer, "ada", pb.ExportTableRequest())
