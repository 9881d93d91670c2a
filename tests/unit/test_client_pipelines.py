"""Pipelines, schedules and artifacts through the SDK."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

import paddleflow
from paddleflow.config import load_config
from paddleflow.connection import Connection
from paddleflow.models import (
    ArtifactUse,
    BackfilledTick,
    Catchup,
    ConcurrencyPolicy,
    DocumentProblem,
    DrawingForm,
    ExportedTable,
    ExportFinding,
    ExportTarget,
    Fidelity,
    Schedule,
    ScheduleState,
    Source,
)
from paddleflow.pipeline.v1 import artifact_pb2, pipeline_pb2, schedule_pb2
from paddleflow.problems import (
    CachedResultNotFound,
    DocumentInvalid,
    InvalidArgument,
    PipelineNotFound,
    PipelineVersionNotFound,
    ScheduleStateConflict,
)
from paddleflow.sync import PaddleFlow
from paddleflow.wire import pipelines, schedules
from paddleflow.wire.values import values_from_wire, values_to_wire
from support.fake_artifacts import remember
from support.fake_paddleflow import FakePaddleFlow
from support.fake_services import PASSWORD, Stream

BEGAN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
TEXTS = st.text(max_size=8)
COUNTS = st.integers(0, 2**31 - 1)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=5,
)
VALUES = st.dictionaries(TEXTS, JSON, max_size=3)
TIMES = st.none() | st.integers(0, 7 * 10**9).map(lambda seconds: datetime.fromtimestamp(seconds, UTC))


@pytest.fixture
def client(fake: FakePaddleFlow) -> Iterator[PaddleFlow]:
    with paddleflow.connect(fake.address, user="root", password=PASSWORD) as opened:
        yield opened


def test_a_pipeline_has_versions(fake: FakePaddleFlow, client: PaddleFlow) -> None:
    made = client.pipelines.create(Source(path="a.yaml", filesystem="ppl"), description="greets", owner="alice")
    assert (made.pipeline.id, made.pipeline.owner, made.pipeline.description) == ("ppl-000001", "alice", "greets")
    assert (made.version.number, made.version.path, made.version.filesystem) == (1, "a.yaml", "ppl")
    changed = client.pipelines.update("ppl-000001", Source(document="name: greeting"), etag="1")
    assert (changed.pipeline.newest_version, changed.version.document) == (2, "name: greeting")
    assert client.pipelines.update("ppl-000001", description="").pipeline.description == ""
    assert [each.number for each in client.pipelines.versions("ppl-000001")] == [1, 2]
    assert [each.number for each in client.pipelines.versions("ppl-000001", filesystems=["ppl"])] == [1]
    assert client.pipelines.version("ppl-000001").number == 2
    client.pipelines.delete_version("ppl-000001", 1)
    with pytest.raises(PipelineVersionNotFound):
        client.pipelines.version("ppl-000001", 1)
    assert list(client.pipelines.list(names=["greeting"])) == [client.pipelines.get("ppl-000001")]
    assert list(client.pipelines.list(owners=["bob"])) == []
    client.pipelines.delete("ppl-000001", etag="1")
    with pytest.raises(PipelineNotFound):
        client.pipelines.get("ppl-000001")
    untouched, *_ = [
        each for each in fake.world.asked(pipeline_pb2.UpdatePipelineRequest) if not each.HasField("source")
    ]
    assert untouched.HasField("description")


def test_documents_are_checked_drawn_and_exported(fake: FakePaddleFlow, client: PaddleFlow) -> None:
    fake.world.document_problems = [pipeline_pb2.Problem(path="entry_points", message="is missing", line=2, column=1)]
    source = Source(document="name: greeting")
    assert client.pipelines.validate(source, pipeline_only=True) == [
        DocumentProblem("entry_points", "is missing", 2, 1)
    ]
    with pytest.raises(DocumentInvalid, match="entry_points: is missing"):
        client.pipelines.create(source)
    assert client.pipelines.draw(source, DrawingForm.MERMAID).startswith("DRAWING_FORM_MERMAID")
    exported = client.pipelines.export(source, ExportTarget.ARGO, strict=True, parameters={"a": "b"})
    assert exported.findings == (ExportFinding("cache", Fidelity.LOST, "there is no such cache"),)
    (asked,) = fake.world.asked(pipeline_pb2.ExportDocumentRequest)
    assert (asked.target, asked.strict) == (pipeline_pb2.EXPORT_TARGET_ARGO, True)


def test_a_schedule_is_held_ended_and_forgotten(client: PaddleFlow) -> None:
    made = client.schedules.create(Schedule(name="nightly", pipeline_id="ppl-000001", crontab="@daily"))
    assert (made.id, made.state, made.next_time) == ("schedule-000001", ScheduleState.RUNNING, BEGAN)
    assert client.schedules.pause(made.id).state is ScheduleState.PAUSED
    assert list(client.schedules.list(states=[ScheduleState.RUNNING])) == []
    assert client.schedules.resume(made.id).state is ScheduleState.RUNNING
    with pytest.raises(ScheduleStateConflict):
        client.schedules.delete(made.id)
    assert client.schedules.stop(made.id).state.over
    client.schedules.delete(made.id)
    assert list(client.schedules.list()) == []


def test_ticks_in_the_past_are_made_up_for(fake: FakePaddleFlow, client: PaddleFlow) -> None:
    made = client.schedules.create(Schedule(name="nightly", pipeline_id="ppl-000001", crontab="@daily"))
    until = BEGAN + timedelta(days=1)
    ticks = client.schedules.backfill(made.id, BEGAN, until, reverse=True, dry_run=True)
    assert ticks == [BackfilledTick(until, "", True), BackfilledTick(BEGAN, "run-000001", False)]
    (asked,) = fake.world.asked(schedule_pb2.BackfillRequest)
    assert (asked.again, asked.dry_run) == (False, True)
    with pytest.raises(InvalidArgument, match="since: needs a time zone"):
        client.schedules.backfill(made.id, datetime(2026, 1, 1), until)  # noqa: DTZ001 -- what is refused


def test_artifacts_tell_where_they_come_from(fake: FakePaddleFlow, client: PaddleFlow) -> None:
    remember(fake.world)
    wrote, read = client.artifacts.events(run_ids=["run-000001"])
    assert (wrote.use, wrote.artifact, read.use, read.step) == (ArtifactUse.OUTPUT, "data", ArtifactUse.INPUT, "train")
    assert list(client.artifacts.events(uses=[ArtifactUse.INPUT], path_prefixes=[".pipeline"])) == [read]
    lineage = client.artifacts.lineage(wrote.filesystem_id, wrote.artifact_path, depth=3)
    assert [each.node for each in (*lineage.made_from, *lineage.made_into)] == ["prepare", "fit.train"]
    assert lineage.made_into[0].cached


def test_a_table_comes_in_pieces(fake: FakePaddleFlow, client: PaddleFlow) -> None:
    fake.world.streams = [Stream([artifact_pb2.ExportTableResponse(data=each) for each in (b"PAR1", b"...")])]
    assert b"".join(client.artifacts.export(ExportedTable.RUNS, since=BEGAN)) == b"PAR1..."
    (asked,) = fake.world.asked(artifact_pb2.ExportTableRequest)
    assert (asked.table, asked.HasField("since"), asked.HasField("until")) == (artifact_pb2.TABLE_RUNS, True, False)


def test_cached_results_are_found_and_forgotten(fake: FakePaddleFlow, client: PaddleFlow) -> None:
    remember(fake.world)
    (result,) = client.artifacts.cached(run_ids=["run-000001"])
    assert result == client.artifacts.get_cached("cch-000001")
    assert (result.max_expired_time, result.used_by) == (-1, ("run-000009",))
    client.artifacts.delete_cached("cch-000001")
    with pytest.raises(CachedResultNotFound):
        client.artifacts.get_cached("cch-000001")


@given(
    st.builds(
        Schedule,
        name=TEXTS,
        pipeline_id=TEXTS,
        pipeline_version=COUNTS,
        crontab=TEXTS,
        time_zone=TEXTS,
        description=TEXTS,
        owner=TEXTS,
        start_time=TIMES,
        end_time=TIMES,
        concurrency=COUNTS,
        concurrency_policy=st.sampled_from(ConcurrencyPolicy),
        expire_interval=st.integers(0, 10**9).map(lambda seconds: timedelta(seconds=seconds)),
        catchup=st.sampled_from(Catchup),
        parameters=VALUES,
    )
)
def test_a_schedule_survives_the_wire(schedule: Schedule) -> None:
    sent = schedule_pb2.Schedule.FromString(schedules.schedule_to_wire(schedule).SerializeToString())
    assert schedules.schedule_from_wire(sent) == schedule


@given(VALUES)
def test_values_survive_the_wire(values: dict[str, object]) -> None:
    assert values_from_wire(values_to_wire("parameters", values)) == values


@given(st.builds(Source, document=TEXTS, pipeline_id=TEXTS, pipeline_version=COUNTS, path=TEXTS, filesystem=TEXTS))
def test_a_source_survives_the_wire(source: Source) -> None:
    assert pipelines.source_from_wire(pipelines.source_to_wire(source)) == source


def test_the_pipeline_service_is_found(tmp_path: object) -> None:
    assert Connection("example.org:8999").address_of("pipeline") == "example.org:8996"
    assert Connection("unix:/run/queue.sock").address_of("pipeline") == "unix:/run/pipeline.sock"
    config = load_config(None, {"PADDLEFLOW_PIPELINE_SERVER": "other.org:5", "HOME": str(tmp_path)})
    assert config.services["pipeline"] == "other.org:5"
