"""What `paddleflow job` does between calls: waiting, following, exit statuses, what options mean."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddleflow.cli.finding import nearest
from paddleflow.cli.job_submit import SubmitOptions, read_spec
from paddleflow.cli.job_tables import ending, field_names
from paddleflow.cli.job_wait import exit_status
from paddleflow.cli.job_watch import matches, print_changes
from paddleflow.cli.output import Printer
from paddleflow.cli.table import Form
from paddleflow.common.v1 import event_pb2
from paddleflow.job.v1 import job_pb2
from paddleflow.models import (
    Bookmark,
    Change,
    ChangeKind,
    FilesystemMount,
    Job,
    JobFlavour,
    JobSpec,
    JobState,
    Priority,
    Reset,
    RetryPolicy,
    Role,
    Task,
    TaskState,
    WatchItem,
)
from paddleflow.problems import InvalidArgument
from paddleflow.queue.v1 import cluster_pb2
from support.command_line import CommandLine
from support.fake_jobs import employ
from support.fake_paddleflow import FakePaddleFlow
from support.fake_services import Stream

BEGAN = datetime(2026, 1, 2, tzinfo=UTC)
RUNS = Job(id="a", spec=JobSpec(name="train", labels={"x": "1"}), owner="alice", queue="q", state=JobState.RUNNING)
FAILED = replace(RUNS, state=JobState.FAILED)
NOTHING: SubmitOptions = {
    "name": "",
    "queue": "",
    "priority": "",
    "flavour": "",
    "cpu": None,
    "mem": None,
    "gpu": None,
    "env": (),
    "fs": (),
    "labels": (),
    "retries": 0,
}


def ended(status: int | None, after: int = 0, state: TaskState = TaskState.FAILED) -> Task:
    finish = BEGAN + timedelta(seconds=after)
    return Task(job_id="a", attempt=1, role=Role.WORKER, state=state, exit_status=status, finish_time=finish)


@pytest.mark.parametrize(
    ("job", "tasks", "status"),
    [
        (replace(RUNS, state=JobState.SUCCEEDED), [ended(3)], 0),
        (FAILED, [ended(3, 2), ended(7, 1), ended(0, 0, TaskState.SUCCEEDED)], 7),
        (FAILED, [ended(143, 0, TaskState.STOPPED), ended(3, 1)], 3),
        (FAILED, [replace(ended(None, 1), signal=9), ended(7, 2)], 137),
        (FAILED, [ended(None)], 1),
        (FAILED, [], 1),
        (replace(RUNS, state=JobState.TERMINATED), [], 1),
    ],
)
def test_a_job_stands_for_an_exit_status(job: Job, tasks: Sequence[Task], status: int) -> None:
    assert exit_status(job, tasks) == status


def test_an_ending_is_a_status_or_a_signal() -> None:
    killed = replace(ended(None), signal=9)
    assert [ending(task) for task in (ended(0), ended(None), killed)] == ["0", "", "signal 9"]


def message(state: job_pb2.JobState.ValueType, kind: event_pb2.ChangeKind.ValueType, *, said: str = "") -> object:
    job = job_pb2.Job(id="trained", state=state, message=said)
    return job_pb2.WatchJobsResponse(events=[job_pb2.JobEvent(kind=kind, job=job)], resume_token="t")


def test_waiting_tells_each_step_and_ends_with_the_status(fake: FakePaddleFlow, command_line: CommandLine) -> None:
    employ(fake.world)
    steps = [
        message(job_pb2.JOB_STATE_PENDING, event_pb2.CHANGE_KIND_EXISTING),
        message(job_pb2.JOB_STATE_RUNNING, event_pb2.CHANGE_KIND_UPDATED),
        message(job_pb2.JOB_STATE_FAILED, event_pb2.CHANGE_KIND_UPDATED, said="worker 1 failed"),
    ]
    fake.world.streams = [Stream(steps, silent=True)]  # type: ignore[arg-type]  # they are messages
    result = command_line.run("job wait trained")
    assert result.exit_code == 3
    assert result.stderr.splitlines() == ["job[trained] pending", "job[trained] running"]
    assert result.stdout == "job[trained] failed: worker 1 failed\n"


def test_waiting_for_a_job_that_is_deleted_fails(fake: FakePaddleFlow, command_line: CommandLine) -> None:
    steps = [
        message(job_pb2.JOB_STATE_PENDING, event_pb2.CHANGE_KIND_EXISTING),
        message(job_pb2.JOB_STATE_PENDING, event_pb2.CHANGE_KIND_DELETED),
    ]
    fake.world.streams = [Stream(steps, silent=True)]  # type: ignore[arg-type]  # they are messages
    result = command_line.run("job wait trained")
    assert (result.exit_code, "job 'trained' was deleted" in result.stderr) == (1, True)


def over(id_: str, state: job_pb2.JobState.ValueType) -> Stream:
    event = job_pb2.JobEvent(kind=event_pb2.CHANGE_KIND_EXISTING, job=job_pb2.Job(id=id_, state=state))
    return Stream([job_pb2.WatchJobsResponse(events=[event], resume_token="t")], silent=True)


def test_a_wait_for_several_ends_with_the_first_that_did_not_succeed(
    fake: FakePaddleFlow, command_line: CommandLine
) -> None:
    employ(fake.world)
    fake.world.streams = [over("waits", job_pb2.JOB_STATE_SUCCEEDED), over("trained", job_pb2.JOB_STATE_FAILED)]
    result = command_line.run("job wait waits trained waits")
    assert result.exit_code == 3
    assert result.stdout == "job[waits] succeeded\njob[trained] failed\n"


def test_all_that_are_waited_for_must_be_there(fake: FakePaddleFlow, command_line: CommandLine) -> None:
    employ(fake.world)
    result = command_line.run("job wait waits traimed")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "no job 'traimed'; did you mean trained?" in result.stderr


def test_a_wait_ends_when_its_time_is_over(fake: FakePaddleFlow, command_line: CommandLine) -> None:
    employ(fake.world)
    fake.world.streams = [over("trained", job_pb2.JOB_STATE_SUCCEEDED), over("waits", job_pb2.JOB_STATE_PENDING)]
    result = command_line.run("job wait trained waits --timeout 1s")
    assert result.exit_code == 124
    told = ["not over after 1s: job[waits]", "job[waits] goes on; `paddleflow job stop waits` ends it"]
    assert result.stderr.splitlines()[-2:] == told
    wrong = command_line.run("job wait waits --timeout soon")
    assert (wrong.exit_code, "'soon' is not a duration" in wrong.stderr) == (1, True)


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("log kube -n pod-1 -ns default", "there is no Kubernetes cluster"),
        ("log kube -n pod-1 -c default-cluster", "cluster[default-cluster] is no Kubernetes cluster"),
        ("log showlimit -c cloud -t pod", "logs of Kubernetes are not served yet; use kubectl"),
    ],
)
def test_logs_of_kubernetes_are_refused_with_what_can_be_read(
    fake: FakePaddleFlow, command_line: CommandLine, command: str, why: str
) -> None:
    fake.world.clusters["default-cluster"] = cluster_pb2.Cluster(
        name="default-cluster", type=cluster_pb2.CLUSTER_TYPE_LOCAL
    )
    if "cloud" in command:
        fake.world.clusters["cloud"] = cluster_pb2.Cluster(name="cloud", type=cluster_pb2.CLUSTER_TYPE_KUBERNETES)
    result = command_line.run(command)
    assert result.exit_code == 1
    assert f"message[{why}; `paddleflow job logs JOBID` reads what a job has written]" in result.stderr


def test_a_log_is_of_a_job_or_of_an_object(command_line: CommandLine) -> None:
    for command in ("log showlimit", "log showlimit -j a -n b"):
        result = command_line.run(command)
        assert (result.exit_code, "Name a job by --jobid, or" in result.stderr) == (2, True)


ITEMS: Sequence[WatchItem[Job]] = [
    Change(ChangeKind.EXISTING, RUNS),
    Change(ChangeKind.CREATED, replace(RUNS, id="other", owner="bob")),
    Bookmark("t", caught_up=True),
    Change(ChangeKind.UPDATED, FAILED),
    Change(ChangeKind.DELETED, FAILED),
    Reset(),
]


def told(form: Form, capsys: pytest.CaptureFixture[str], states: Sequence[JobState] = ()) -> list[str]:
    print_changes(ITEMS, lambda job: matches(job, {"owner": "alice", "states": states}), Printer(form, terminal=False))
    return capsys.readouterr().out.splitlines()


def test_changes_are_told_to_people_scripts_and_programs(capsys: pytest.CaptureFixture[str]) -> None:
    lines = [re.sub(r"^\d\d:\d\d:\d\d  ", "", line) for line in told(Form.TABLE, capsys)]
    assert lines == [f"{state:<11}  a  train  queue q" for state in ("running", "failed", "deleted")]
    assert told(Form.TEXT, capsys)[1] == "updated\ta\ttrain\tq\tfailed\t"
    assert [json.loads(line)["event"] for line in told(Form.JSON, capsys)] == ["existing", "updated", "deleted"]


@pytest.mark.parametrize(("form", "times"), [(Form.TABLE, 1), (Form.TEXT, 2), (Form.JSON, 2)])
def test_people_are_not_told_the_same_twice(form: Form, times: int, capsys: pytest.CaptureFixture[str]) -> None:
    changes = [Change(ChangeKind.UPDATED, replace(FAILED, etag=etag)) for etag in ("1", "2")]
    print_changes(changes, lambda _: True, Printer(form, terminal=False))
    assert len(capsys.readouterr().out.splitlines()) == times


def test_a_job_that_is_no_longer_chosen_is_told_of_once(capsys: pytest.CaptureFixture[str]) -> None:
    kinds = [line.split("\t")[0] for line in told(Form.TEXT, capsys, [JobState.RUNNING])]
    assert kinds == ["existing", "left"]


def test_a_filter_holds_for_changes_too() -> None:
    assert matches(RUNS, {"queue": "q", "labels": {"x": "1"}, "name_prefix": "tr", "states": [JobState.RUNNING]})
    assert not matches(RUNS, {"queue": "other"})
    assert not matches(RUNS, {"labels": {"x": "2"}})
    assert not matches(RUNS, {"name_prefix": "a"})


def test_a_name_or_a_slip_finds_a_job_and_another_id_none() -> None:
    made = [Job(id=f"job-{n:016x}", spec=JobSpec(name=name)) for n, name in ((2**60, "train"), (7**21, "test"))]
    assert nearest("train", made) == [made[0].id]
    assert nearest(made[1].id[:-1], made) == [made[1].id]
    assert nearest("job-0123456789abcdef", made) == []


def test_options_say_what_a_job_is() -> None:
    options: SubmitOptions = {
        **NOTHING,
        "name": "n",
        "priority": "low",
        "cpu": "500m",
        "mem": "1Gi",
        "gpu": 2,
        "env": ("A=1=2", "HERE"),
        "fs": ("data:/data:ro", "alice/more", "third:/x"),
        "labels": ("a=b,c=d", "e=f"),
        "retries": 2,
    }
    assert read_spec(("python", "-c", "1"), options, {"HERE": "there"}) == JobSpec(
        name="n",
        priority=Priority.LOW,
        flavour=JobFlavour(amounts={"cpu": 500, "memory": 2**30, "nvidia.com/gpu": 2}),
        env={"A": "1=2", "HERE": "there"},
        fs=FilesystemMount("data", "/data", read_only=True),
        extra_fs=[FilesystemMount("alice/more"), FilesystemMount("third", "/x")],
        labels={"a": "b", "c": "d", "e": "f"},
        args=("python", "-c", "1"),
        retry=RetryPolicy(2),
    )


@given(st.from_regex(r"[^:]+(:/[^:]*(:r[ow])?)?", fullmatch=True))
def test_a_mount_is_read(text: str) -> None:
    fs = read_spec(("true",), {**NOTHING, "fs": (text,)}, {}).fs
    assert fs is not None
    assert f"{fs.name}{':' if fs.mount_path else ''}{fs.mount_path}" == text.removesuffix(":ro").removesuffix(":rw")
    assert fs.read_only == (text.endswith(":ro"))


@pytest.mark.parametrize("text", ["", ":", ":/path", "data:path", "data:ro", "data::ro"])
def test_a_mount_that_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(InvalidArgument, match="is not of the form"):
        read_spec(("true",), {**NOTHING, "fs": (text,)}, {})


def test_fields_are_named_as_the_original_and_as_documents_do() -> None:
    assert field_names("id, fs,extraFileSystems") == ["id", "fileSystem", "extraFileSystems"]
    assert field_names(None)[0] == "id"
    with pytest.raises(InvalidArgument, match="there are id, name"):
        field_names("zzzzzz")


@pytest.mark.parametrize(
    ("given", "amounts"),
    [({"cpu": "2"}, {"cpu": 2000, "memory": 2**30}), ({"mem": "2Gi"}, {"cpu": 1000, "memory": 2**31}), ({}, {})],
)
def test_what_is_left_out_of_what_a_job_takes_is_as_usual(given: Any, amounts: Any) -> None:
    options: SubmitOptions = {**NOTHING, **given}
    assert read_spec(["true"], options, {}).flavour.amounts == amounts
