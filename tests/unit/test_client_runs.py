"""Runs through the SDK."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

import paddleflow
from paddleflow import aio
from paddleflow.common.v1 import event_pb2
from paddleflow.connection import Connection
from paddleflow.models import (
    CachePrediction,
    CacheScope,
    CacheSettings,
    DrawingForm,
    Executor,
    ExtraFilesystem,
    FailureStrategy,
    NodeKind,
    NodeState,
    NodeWaiting,
    RunHappening,
    RunState,
    Source,
)
from paddleflow.pipeline.v1 import run_pb2
from paddleflow.problems import InvalidArgument, NodeNotFound, RunNotFound, ShuttingDown
from paddleflow.sync import PaddleFlow
from support.fake_paddleflow import FakePaddleFlow
from support.fake_pipeline_runs import train
from support.fake_services import PASSWORD, Stream

BEGAN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def connected(fake: FakePaddleFlow) -> PaddleFlow:
    return paddleflow.connect(fake.address, user="root", password=PASSWORD)


def change(
    state: run_pb2.RunState.ValueType,
    version: int,
    kind: event_pb2.ChangeKind.ValueType = event_pb2.CHANGE_KIND_UPDATED,
) -> run_pb2.WatchRunsResponse:
    event = run_pb2.RunEvent(
        kind=kind,
        run=run_pb2.Run(id="run-000001", state=state, version=version),
    )
    return run_pb2.WatchRunsResponse(events=[event], resume_token=f"t{version}")


CAUGHT_UP = run_pb2.WatchRunsResponse(resume_token="t", bookmark=True)


def test_a_run_is_made_of_a_source_and_options(fake: FakePaddleFlow) -> None:
    with connected(fake) as client:
        made = client.runs.create(
            Source(path="a/run.yaml", filesystem="ppl"),
            name="mine",
            owner="alice",
            parameters={"epochs": 5, "train.rate": 0.5, "items": [1, "a", {"b": None}], "on": True},
            disabled=["report"],
            failure_strategy=FailureStrategy.CONTINUE,
            executor=Executor.NOTHING,
            fresh=["*"],
        )
    assert (made.id, made.name, made.owner, made.state) == ("run-000001", "mine", "alice", RunState.INITIATING)
    assert made.source == Source(path="a/run.yaml", filesystem="ppl")
    (asked,) = fake.world.asked(run_pb2.CreateRunRequest)
    assert len(asked.request_id) == 32
    assert (list(asked.disabled), list(asked.fresh)) == (["report"], ["*"])
    assert (asked.failure_strategy, asked.executor) == (run_pb2.FAILURE_STRATEGY_CONTINUE, run_pb2.EXECUTOR_NOTHING)
    assert asked.parameters["epochs"].number_value == 5
    assert asked.parameters["items"].list_value.values[2].struct_value.fields["b"].HasField("null_value")
    assert asked.parameters["on"].bool_value is True


def test_a_value_that_json_does_not_have_is_refused_by_name(fake: FakePaddleFlow) -> None:
    with connected(fake) as client, pytest.raises(InvalidArgument, match=r"parameters\.when: is neither"):
        client.runs.create(Source(), parameters={"when": BEGAN})


def test_a_run_and_its_nodes_are_read_wholly(fake: FakePaddleFlow) -> None:
    train(fake.world)
    with connected(fake) as client:
        run = client.runs.get("run-000001")
        prepared, fit, *_ = nodes = list(client.runs.nodes("run-000001"))
        below = list(client.runs.nodes("run-000001", below="fit[1]", states=[NodeState.FAILED]))
    assert (run.state, run.state.over, run.parameters) == (RunState.FAILED, True, {"epochs": 5})
    assert (run.steps.all, run.steps.over, run.steps.cached) == (4, 4, 1)
    assert (run.start_time, run.finish_time) == (BEGAN + timedelta(seconds=1), BEGAN + timedelta(seconds=60))
    assert (run.origin, run.used_by, run.disabled) == ("./run.yaml", ("run-000009",), ("report",))
    assert (prepared.kind, prepared.state, prepared.waiting) == (NodeKind.STEP, NodeState.SUCCEEDED, NodeWaiting(""))
    assert prepared.cache == CacheSettings(enable=True, max_expired_time=-1, fs_scope=(CacheScope("ppl", "a,b"),))
    assert prepared.extra_fs == (ExtraFilesystem("abc", "/abc", read_only=True),)
    assert (fit.kind, fit.iterations, fit.loop_argument, fit.deps) == (NodeKind.DAG, 2, "a", ("prepare",))
    assert prepared.loop_argument is None
    assert [each.path for each in nodes[2:]] == ["fit.train", "fit[1]", "fit[1].train", "report", "post_process/mail"]
    assert [each.path for each in below] == ["fit[1]", "fit[1].train"]


def test_runs_are_stopped_tried_again_and_forgotten(fake: FakePaddleFlow) -> None:
    train(fake.world)
    fake.world.runs["run-000001"].state = run_pb2.RUN_STATE_RUNNING
    with connected(fake) as client:
        assert client.runs.stop("run-000001", force=True).state is RunState.TERMINATING
        again = client.runs.retry("run-000001", again=["fit[1]"], parameters={"epochs": 6})
        assert (again.retry_of, [each.id for each in client.runs.list()]) == ("run-000001", ["run-000001", again.id])
        client.runs.delete("run-000001")
        with pytest.raises(RunNotFound):
            client.runs.get("run-000001")
    (asked,) = fake.world.asked(run_pb2.RetryRunRequest)
    assert (list(getattr(asked, "from")), asked.parameters["epochs"].number_value) == (["fit[1]"], 6)


def test_nodes_are_explained_approved_and_drawn(fake: FakePaddleFlow) -> None:
    train(fake.world)
    told = run_pb2.ExplainNodeResponse(reasons=["it failed"])
    told.cache.MergeFrom(run_pb2.CacheExplanation(message="no result fits", nearest="cch-000001"))
    told.cache.differences.add(what="command", before="a", now="b")
    fake.world.node_explanations["fit"] = told
    with connected(fake) as client:
        explained = client.runs.explain("run-000001", "fit")
        assert client.runs.explain("run-000001", "prepare").cache is None
        assert client.runs.decide("run-000001", "report", approve=False, comment="no").state is NodeState.FAILED
        assert client.runs.draw("run-000001", DrawingForm.MERMAID) == "a drawing of run-000001"
        with pytest.raises(NodeNotFound):
            client.runs.explain("run-000001", "nowhere")
    assert explained.reasons == ("it failed",)
    assert explained.cache is not None
    assert [(each.what, each.before, each.now) for each in explained.cache.differences] == [("command", "a", "b")]


def test_a_plan_tells_what_would_come_from_the_cache(fake: FakePaddleFlow) -> None:
    node = run_pb2.Node(path="prepare", name="prepare")
    fake.world.planned.document = "name: greeting\n"
    fake.world.planned.nodes.add(node=node, prediction=run_pb2.CACHE_PREDICTION_HIT, message="cch-000001 fits")
    with connected(fake) as client:
        plan = client.runs.plan(Source(document="name: greeting"), docker_env="python:3.11")
    assert (plan.document, plan.nodes[0].prediction) == ("name: greeting\n", CachePrediction.HIT)
    (asked,) = fake.world.asked(run_pb2.PlanRunRequest)
    assert (asked.run.source.document, asked.run.docker_env) == ("name: greeting", "python:3.11")


def test_happenings_go_on_behind_the_last_one_after_a_break(fake: FakePaddleFlow) -> None:
    first = run_pb2.Happening(number=4, path="prepare", what="started", node_state=run_pb2.NODE_STATE_RUNNING)
    last = run_pb2.Happening(number=5, what="ended", run_state=run_pb2.RUN_STATE_SUCCEEDED)
    fake.world.streams = [
        Stream([run_pb2.WatchHappeningsResponse(happenings=[first])], ends_with=ShuttingDown("later")),
        Stream([run_pb2.WatchHappeningsResponse(), run_pb2.WatchHappeningsResponse(happenings=[last])]),
    ]
    with connected(fake) as client:
        told = list(client.runs.happenings("run-000001", after=3, follow=True))
    assert told[0] == RunHappening(number=4, path="prepare", what="started", node_state=NodeState.RUNNING)
    assert (told[1].number, told[1].run_state) == (5, RunState.SUCCEEDED)
    asked = fake.world.asked(run_pb2.WatchHappeningsRequest)
    assert [(each.after, each.follow) for each in asked] == [(3, True), (4, True)]


async def test_a_run_is_followed_over_breaks_until_it_is_over(fake: FakePaddleFlow) -> None:
    fake.world.streams = [
        Stream([change(run_pb2.RUN_STATE_PENDING, 1), CAUGHT_UP], ends_with=ShuttingDown("later")),
        Stream(
            [change(run_pb2.RUN_STATE_RUNNING, 2), change(run_pb2.RUN_STATE_RUNNING, 2)], ends_with=ShuttingDown("")
        ),
        Stream([change(run_pb2.RUN_STATE_SUCCEEDED, 3)], silent=True),
    ]
    async with aio.AsyncPaddleFlow(Connection(fake.address, user="root", password=PASSWORD)) as client:
        states = [run.state async for run in client.runs.follow("run-000001")]
    assert states == [RunState.PENDING, RunState.RUNNING, RunState.SUCCEEDED]
    assert [each.resume_token for each in fake.world.asked(run_pb2.WatchRunsRequest)] == ["", "t", "t2"]


def test_a_run_that_was_over_before_is_told_once(fake: FakePaddleFlow) -> None:
    train(fake.world)
    fake.world.streams = [Stream([CAUGHT_UP], silent=True)]
    with connected(fake) as client:
        assert client.runs.wait("run-000001").state is RunState.FAILED


def test_a_run_that_is_deleted_is_not_waited_for(fake: FakePaddleFlow) -> None:
    gone = change(run_pb2.RUN_STATE_RUNNING, 2, event_pb2.CHANGE_KIND_DELETED)
    fake.world.streams = [Stream([change(run_pb2.RUN_STATE_RUNNING, 1), gone], silent=True)]
    with connected(fake) as client, pytest.raises(RunNotFound, match="was deleted"):
        client.runs.wait("run-000001")
