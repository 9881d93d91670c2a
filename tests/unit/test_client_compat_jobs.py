"""The original's calls about jobs: their results and their messages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import paddleflow
from paddleflow.compat.job_infos import JobInfo
from paddleflow.job.v1 import job_pb2, spec_pb2
from support.fake_jobs import employ
from support.fake_paddleflow import FakePaddleFlow
from support.fake_services import PASSWORD

REQUEST: dict[str, Any] = {
    "name": "train",
    "schedulingPolicy": {"queue": "q", "priority": "HIGH"},
    "flavour": {"name": "customFlavour", "cpu": "1", "mem": "1Gi", "scalarResources": {"nvidia.com/gpu": "1"}},
    "fs": {"name": "data", "mountPath": "/data"},
    "extraFS": [],
    "image": None,
    "env": {"A": "b"},
    "command": "python train.py",
    "args": [],
}


@pytest.fixture
def client(fake: FakePaddleFlow, plain_environment: None) -> Iterator[paddleflow.Client]:
    employ(fake.world)
    opened = paddleflow.Client(fake.address, "root", PASSWORD)
    yield opened
    opened.close()


def test_a_job_is_made_of_a_document(fake: FakePaddleFlow, client: paddleflow.Client) -> None:
    assert client.create_job("single", REQUEST) == (True, "job-003")
    [asked] = fake.world.asked(job_pb2.CreateJobRequest)
    spec = asked.job.spec
    assert (asked.job.type, spec.command, spec.fs.name) == (job_pb2.JOB_TYPE_SINGLE, "python train.py", "data")
    assert spec.scheduling_policy == spec_pb2.SchedulingPolicy(queue="q", priority=spec_pb2.PRIORITY_HIGH)
    assert dict(spec.flavour.amounts.amounts) == {"cpu": 1000, "memory": 2**30, "nvidia.com/gpu": 1}


def test_what_is_wrong_with_a_document_is_the_message(client: paddleflow.Client) -> None:
    ok, message = client.create_job("single", {"comand": "true", "port": "many"})
    assert ok is False
    assert "did you mean command?" in str(message)
    assert "port" in str(message)
    assert client.create_job("double", {}) == (
        False,
        "jobType: 'double' is not one of single, distributed, workflow",
    )
    ok, message = client.create_job("single", {"command": object()})
    assert (ok, str(message).startswith("job_request: is no document")) == (False, True)


def test_a_job_is_shown_as_the_original_does(client: paddleflow.Client) -> None:
    ok, info = client.show_job("trained")
    assert ok
    assert isinstance(info, JobInfo)
    assert (info.job_id, info.job_name, info.username, info.status) == ("trained", "training", "alice", "failed")
    assert (info.labels, info.framework, info.runtime) == ({"team": "a"}, "paddle", None)
    assert info.distributed_runtime is not None
    assert [each["status"] for each in info.distributed_runtime["runtimes"]] == ["succeeded", "failed"]
    assert client.show_job("nowhere") == (False, "no job 'nowhere'")


def test_jobs_are_listed_page_by_page(fake: FakePaddleFlow, client: paddleflow.Client) -> None:
    ok, jobs, marker = client.list_job(queue="busy", maxkeys=1)
    assert (ok, [job.job_id for job in jobs if isinstance(job, JobInfo)], marker) == (True, ["trained"], "trained")
    ok, jobs, marker = client.list_job(queue="busy", marker=marker)
    assert (ok, [job.job_id for job in jobs if isinstance(job, JobInfo)], marker) == (True, ["waits"], None)
    assert client.list_job("runing")[0] is False
    client.list_job("failed", 1777593600, "2026-05-01 00:00:00", labels={"a": "b"})
    asked = fake.world.asked(job_pb2.ListJobsRequest)[-1]
    assert asked.updated_since == asked.started_since
    assert (list(asked.states), dict(asked.labels)) == ([job_pb2.JOB_STATE_FAILED], {"a": "b"})
    assert client.list_job(timestamp="yesterday")[:2] == (
        False,
        "timestamp: 'yesterday' is no time such as 2026-05-01 12:00:00",
    )


def test_a_job_is_changed_stopped_and_forgotten(fake: FakePaddleFlow, client: paddleflow.Client) -> None:
    assert client.update_job("waits", "low", {"a": "b", "c": ""}) == (True, None)
    [asked] = fake.world.asked(job_pb2.UpdateJobRequest)
    assert (dict(asked.labels), list(asked.labels_removed)) == ({"a": "b"}, ["c"])
    ok, message = client.delete_job("waits")
    assert (ok, "stop it" in str(message)) == (False, True)
    assert client.stop_job("waits") == (True, None)
    assert client.delete_job("waits") == (True, None)
    assert client.stop_job("waits") == (False, "no job 'waits'")
