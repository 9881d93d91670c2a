"""The original's calls about runs, pipelines and schedules: their results and their messages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import paddleflow
from paddleflow.compat.pipelines import PipelineInfo, PipelineVersionInfo
from paddleflow.compat.run_infos import DagInfo, JobInfo, RunInfo
from paddleflow.job.v1 import log_pb2, spec_pb2
from paddleflow.original_run_logs import Paging, Position
from paddleflow.pipeline.v1 import artifact_pb2, pipeline_pb2, run_pb2, schedule_pb2
from support.fake_artifacts import remember
from support.fake_paddleflow import FakePaddleFlow
from support.fake_pipeline_runs import train
from support.fake_services import PASSWORD, Stream


@pytest.fixture
def client(fake: FakePaddleFlow, plain_environment: None) -> Iterator[paddleflow.Client]:
    train(fake.world)
    remember(fake.world)
    opened = paddleflow.Client(fake.address, "root", PASSWORD)
    yield opened
    opened.close()


def result(answer: tuple[bool, Any]) -> Any:
    assert answer[0], answer
    return answer[1]


def test_a_run_is_made_of_a_file_or_of_bytes(fake: FakePaddleFlow, client: paddleflow.Client) -> None:
    assert client.create_run("ppl", "alice", "mine", "why", "base/run.yaml", param={"epochs": 5}) == (
        True,
        "run-000002",
    )
    assert client.create_run(run_yaml_raw=b"name: a\n", disabled="a, b.c", failure_options={"strategy": "continue"})[0]
    assert client.create_run(pipeline_id="ppl-000001", pipeline_version_id="2", docker_env="python:3.11")[0]
    from_file, from_text, kept = fake.world.asked(run_pb2.CreateRunRequest)
    assert (from_file.source.filesystem, from_file.source.path, from_file.owner) == ("ppl", "base/run.yaml", "alice")
    assert (from_file.name, from_file.description, from_file.parameters["epochs"].number_value) == ("mine", "why", 5)
    assert (from_text.source.document, list(from_text.disabled)) == ("name: a\n", ["a", "b.c"])
    assert from_text.failure_strategy == run_pb2.FAILURE_STRATEGY_CONTINUE
    assert (kept.source.pipeline_version, kept.docker_env) == (2, "python:3.11")
    assert client.create_run(run_yaml_raw=b"\xff") == (False, "yaml_raw: is not in UTF-8")
    assert client.create_run(pipeline_id="p", pipeline_version_id="x")[0] is False


def test_what_is_wrong_with_a_document_is_told_as_a_message(fake: FakePaddleFlow, client: paddleflow.Client) -> None:
    fake.world.document_problems = [pipeline_pb2.Problem(path="entry_points", message="is missing", line=2, column=1)]
    ok, message = client.create_run(run_yaml_raw="name: a")
    assert (ok, message) == (False, "entry_points: is missing (line 2, column 1)")


def test_a_run_is_shown_with_views_of_its_nodes(client: paddleflow.Client) -> None:
    run = result(client.show_run("run-000001"))
    assert isinstance(run, RunInfo)
    assert (run.run_id, run.fs_name, run.username, run.status, run.source) == (
        "run-000001",
        "ppl",
        "alice",
        "failed",
        "./run.yaml",
    )
    assert (run.disabled, run.run_cached_ids, run.parameters) == ("report", "run-000009", {"epochs": 5})
    assert run.fs_options is not None
    assert (run.fs_options["mainFS"]["subPath"], run.fs_options["extraFS"][0]["name"]) == ("work", "abc")
    assert run.failure_options == {"strategy": "fail_fast"}
    assert run.runtime is not None
    assert {name: len(views) for name, views in run.runtime.items()} == {"prepare": 1, "fit": 2, "report": 1}
    (prepared,) = run.runtime["prepare"]
    assert isinstance(prepared, JobInfo)
    assert (prepared.job_id, prepared.name, prepared.type) == ("job-1", "run-000001-prepare", "step")
    assert prepared.cache == {
        "enable": True,
        "maxExpiredTime": "-1",
        "fsScope": [{"name": "ppl", "path": "a,b"}],
    }
    assert prepared.artifacts == {"input": {}, "output": {"data": ".pipeline/run-000001/data"}}
    first, second = run.runtime["fit"]
    assert isinstance(first, DagInfo)
    assert isinstance(second, DagInfo)
    assert (first.name, second.name) == ("run-000001-fit", "run-000001-fit-1")
    (cached,) = first.entry_points["train"]
    assert isinstance(cached, JobInfo)
    assert (cached.parent_dag_id, cached.cache_run_id, cached.cache_job_id) == (first.dag_id, "run-000000", "job-0")
    assert first.dag_id != second.dag_id
    assert run.post_process is not None
    assert run.post_process["mail"].get_dict()["stepName"] == "mail"
    assert client.show_run("nowhere") == (False, "no run 'nowhere'")


def test_runs_are_listed_stopped_tried_again_and_forgotten(fake: FakePaddleFlow, client: paddleflow.Client) -> None:
    listed = result(client.list_run("ppl", "alice", status="failed,running", maxsize=1))
    assert ([each.run_id for each in listed["runList"]], listed["nextMarker"]) == (["run-000001"], None)
    (asked,) = fake.world.asked(run_pb2.ListRunsRequest)
    assert list(asked.states) == [run_pb2.RUN_STATE_FAILED, run_pb2.RUN_STATE_RUNNING]
    assert client.list_run(status="fine")[0] is False
    assert client.stop_run("run-000001") == (False, "run 'run-000001' is over")
    assert client.retry_run("run-000001") == (True, "run-000002")
    assert client.delete_run("run-000001") == (False, "run 'run-000001' is used by run-000009")
    assert client.delete_run("run-000001", check_cache=False) == (True, None)


def test_artifacts_and_cached_results_are_listed(fake: FakePaddleFlow, client: paddleflow.Client) -> None:
    listed = result(client.list_artifact("alice", "ppl", "run-000001", "output", ".pipeline", 10))
    (wrote,) = listed["artifactList"]
    assert (wrote.type, wrote.step, wrote.artifact_name) == ("output", "prepare", "data")
    (asked,) = fake.world.asked(artifact_pb2.ListArtifactEventsRequest)
    assert (list(asked.owners), list(asked.filesystems), asked.page_size) == (["alice"], ["ppl"], 10)
    (cached,) = result(client.list_cache(run_filter="run-000001"))["runCacheList"]
    assert cached == result(client.show_cache("cch-000001"))
    assert (cached.job_id, cached.expired_time, cached.source) == ("job-1", "-1", "./run.yaml")
    assert client.delete_cache("cch-000001") == (True, None)
    assert client.show_cache("cch-000001") == (False, "no cached result 'cch-000001'")


def test_a_pipeline_is_made_shown_and_changed(client: paddleflow.Client) -> None:
    made = result(client.create_pipeline("ppl", "run.yaml", "greets", "alice"))
    assert made == {"name": "greeting", "pplID": "ppl-000001", "pplVerID": "1"}
    changed = client.update_pipeline("ppl-000001", yaml_raw=b"name: greeting\n")
    assert changed == (True, {"pipelineID": "ppl-000001", "pipelineVersionID": "2"})
    assert [each.name for each in result(client.list_pipeline("alice", "greeting"))["pipelineList"]] == ["greeting"]
    shown = result(client.show_pipeline("ppl-000001", max_keys=1))
    assert isinstance(shown["pipelineInfo"], PipelineInfo)
    assert ([each.pipeline_version_id for each in shown["pipelineVersionList"]], shown["nextMarker"]) == (["1"], "1")
    version = result(client.show_pipeline_version("ppl-000001", "2"))["pipelineVersionInfo"]
    assert isinstance(version, PipelineVersionInfo)
    assert version.pipeline_yaml == "name: greeting\n"
    assert client.delete_pipeline_version("ppl-000001", "2") == (True, None)
    assert client.delete_pipeline("ppl-000001") == (True, None)
    assert client.show_pipeline("ppl-000001") == (False, "no pipeline 'ppl-000001'")


def test_a_schedule_is_made_shown_and_ended(fake: FakePaddleFlow, client: paddleflow.Client) -> None:
    made = client.create_schedule(
        "nightly", "ppl-000001", "1", "0 3 * * *", "why", "2026-05-01 00:00:00", None, 2, "skip", "60", True, "alice"
    )
    assert made == (True, "schedule-000001")
    (asked,) = fake.world.asked(schedule_pb2.CreateScheduleRequest)
    assert (asked.schedule.expire_interval, asked.schedule.catchup) == (60, schedule_pb2.CATCHUP_ALL)
    fake.world.runs["run-000001"].schedule_id = "schedule-000001"
    shown = result(client.show_schedule("schedule-000001"))
    assert [each.run_id for each in shown["runList"]] == ["run-000001"]
    info = shown["scheduleInfo"]
    assert (info.crontab, info.status, info.fs_config) == ("0 3 * * *", "running", {"username": "alice"})
    assert info.options == {"catchup": "all", "expireInterval": 60, "concurrency": 2, "concurrencyPolicy": "skip"}
    listed = result(client.list_schedule(schedule_filter="schedule-000001,x", status_filter="running"))
    assert listed["scheduleList"] == [info]
    assert client.delete_schedule("schedule-000001")[0] is False
    assert client.stop_schedule("schedule-000001") == (True, None)
    assert client.delete_schedule("schedule-000001") == (True, None)
    assert client.create_schedule("a", "b", "1", "@daily", concurrency="many")[0] is False
    assert client.create_schedule("a", "b", "1", "@daily", start_time="soon")[0] is False


def test_the_log_of_a_run_comes_page_by_page(fake: FakePaddleFlow, client: paddleflow.Client) -> None:
    replica = log_pb2.LogReplica(attempt=1, role=spec_pb2.ROLE_MAIN)
    written = log_pb2.ReadLogResponse(data=b"c\nd\ne\n", position=log_pb2.LogPosition(replica=replica, end=True))
    happened = run_pb2.Happening(number=1, what="created", message="by alice")
    fake.world.streams = [
        Stream([run_pb2.WatchHappeningsResponse(happenings=[happened])]),
        Stream([written]),
    ]
    shown = result(client.show_log("run-000001", "job-1", 2, 1))
    (page,) = shown["runLog"]
    assert (page.log_content, page.has_next_page, page.pagesize, page.pageno) == ("d\ne\n", True, 2, 1)
    assert (page.runid, page.jobid, page.taskid) == ("run-000001", "job-1", "1/main/0")
    assert shown["submitLog"] == "created by alice"
    assert client.show_log("run-000001", page_size=0.5)[0] is False  # type: ignore[arg-type]  # what is refused
    assert client.show_log("run-000001", log_file_position="middle")[0] is False


LINES = [b"1\n", b"2\n", b"3\n", b"4\n", b"5\n"]


@pytest.mark.parametrize(
    ("position", "number", "read", "page", "more"),
    [
        (Position.BEGIN, 1, LINES[:3], LINES[:2], True),
        (Position.BEGIN, 2, LINES, LINES[2:4], True),
        (Position.BEGIN, 3, LINES, LINES[4:], False),
        (Position.BEGIN, 4, LINES, [], False),
        (Position.END, 1, LINES[2:], LINES[3:], True),
        (Position.END, 2, LINES, LINES[1:3], True),
        (Position.END, 3, LINES, LINES[:1], False),
        (Position.END, 4, LINES, [], False),
    ],
)
def test_a_page_is_cut_from_what_was_read(
    position: Position, number: int, read: list[bytes], page: list[bytes], more: bool
) -> None:
    assert Paging(2, number, position).cut(read) == (page, more)
