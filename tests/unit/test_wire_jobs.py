"""Jobs to and from the wire."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddleflow.common.v1 import event_pb2, resources_pb2
from paddleflow.job.v1 import job_pb2, spec_pb2
from paddleflow.models import (
    Change,
    ChangeKind,
    FilesystemMount,
    Framework,
    Happening,
    Job,
    JobFlavour,
    JobOwner,
    JobSpec,
    JobState,
    JobType,
    LimitFlavour,
    Member,
    Priority,
    RetryPolicy,
    Role,
    RoleStatus,
    Task,
    TaskState,
    TimeLimits,
)
from paddleflow.problems import InvalidArgument, JobExists
from paddleflow.wire import job_specs, jobs
from paddleflow.wire.base import EnumCodec

TEXTS = st.text(max_size=8)
COUNTS = st.integers(0, 2**31 - 1)
PAIRS = st.dictionaries(TEXTS, TEXTS, max_size=3)
AMOUNTS = st.dictionaries(TEXTS, st.integers(0, 10**18), max_size=3)
LASTING = st.none() | st.timedeltas(timedelta(0), timedelta(days=3650))
MOUNTS = st.builds(FilesystemMount, TEXTS, TEXTS, TEXTS, st.booleans(), TEXTS)
FLAVOURS = st.builds(JobFlavour, TEXTS, AMOUNTS)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=5,
)
WORK: dict[str, Any] = {
    "labels": PAIRS,
    "annotations": PAIRS,
    "queue": TEXTS,
    "priority": st.sampled_from(Priority),
    "flavour": FLAVOURS,
    "limit_flavour": st.builds(LimitFlavour, FLAVOURS, st.booleans()),
    "fs": st.none() | MOUNTS,
    "extra_fs": st.lists(MOUNTS, max_size=2).map(tuple),
    "image": TEXTS,
    "env": PAIRS,
    "secret_env": PAIRS,
    "command": TEXTS,
    "args": st.lists(TEXTS, max_size=3).map(tuple),
    "port": st.integers(0, 65535),
    "extension_template": st.none() | st.dictionaries(TEXTS, JSON, min_size=1, max_size=3),
}
MEMBERS = st.builds(
    Member, role=st.sampled_from(Role), replicas=COUNTS, max_replicas=COUNTS, replica_step=COUNTS, **WORK
)
SPECS = st.builds(
    JobSpec,
    id=TEXTS,
    name=TEXTS,
    framework=st.sampled_from(Framework),
    members=st.lists(MEMBERS, max_size=2).map(tuple),
    retry=st.builds(RetryPolicy, COUNTS, LASTING, LASTING, st.lists(COUNTS, max_size=3).map(tuple), st.booleans()),
    limits=st.builds(TimeLimits, LASTING, LASTING, LASTING, LASTING, LASTING),
    **WORK,
)
BEGAN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@given(SPECS)
def test_a_spec_survives_the_wire(spec: JobSpec) -> None:
    sent = spec_pb2.JobSpec.FromString(job_specs.spec_to_wire(spec).SerializeToString())
    assert job_specs.spec_from_wire(sent) == spec


def test_a_spec_that_says_nothing_is_empty_on_the_wire() -> None:
    assert job_specs.spec_to_wire(JobSpec()) == spec_pb2.JobSpec()


def test_a_job_is_read_wholly() -> None:
    told = job_pb2.Job(
        id="j",
        spec=spec_pb2.JobSpec(id="j", command="true"),
        type=job_pb2.JOB_TYPE_SINGLE,
        owner="alice",
        state=job_pb2.JOB_STATE_RUNNING,
        message="m",
        notes=["n"],
        queue="q",
        cluster="c",
        attempt=2,
        retries=1,
        resources=resources_pb2.Resources(amounts={"cpu": 1}),
        roles=[job_pb2.RoleStatus(role=spec_pb2.ROLE_MAIN, replicas=3, running=2, succeeded=1)],
        version=7,
        etag="7",
    )
    told.accept_time.FromDatetime(BEGAN)
    assert jobs.job_from_wire(told) == Job(
        id="j",
        spec=JobSpec(id="j", command="true"),
        type=JobType.SINGLE,
        owner="alice",
        state=JobState.RUNNING,
        message="m",
        notes=("n",),
        queue="q",
        cluster="c",
        attempt=2,
        retries=1,
        resources={"cpu": 1},
        accept_time=BEGAN,
        roles=(RoleStatus(Role.MAIN, 3, 2, 1),),
        version=7,
        etag="7",
    )


def test_a_task_tells_an_exit_status_of_zero_from_none() -> None:
    told = job_pb2.Task(job_id="j", attempt=1, role=spec_pb2.ROLE_WORKER, index=3, signal=9, accelerators=[0, 2])
    killed = Task(job_id="j", attempt=1, role=Role.WORKER, index=3, signal=9, accelerators=(0, 2))
    assert jobs.task_from_wire(told) == killed
    told = job_pb2.Task(job_id="j", attempt=1, state=job_pb2.TASK_STATE_SUCCEEDED, exit_status=0)
    ended = Task(job_id="j", attempt=1, role=Role.UNSPECIFIED, state=TaskState.SUCCEEDED, exit_status=0)
    assert jobs.task_from_wire(told) == ended


def test_a_happening_is_read_wholly() -> None:
    told = job_pb2.Happening(
        number=4, attempt=1, state=job_pb2.JOB_STATE_RUNNING, what="task-failed", role=spec_pb2.ROLE_WORKER, index=1
    )
    told.time.FromDatetime(BEGAN)
    assert jobs.happening_from_wire(told) == Happening(
        number=4, time=BEGAN, attempt=1, state=JobState.RUNNING, what="task-failed", role=Role.WORKER, index=1
    )


def test_a_result_is_the_job_or_why_it_was_refused() -> None:
    refused = jobs.result_from_wire(job_pb2.JobResult(code="ALREADY_EXISTS", reason="JOB_EXISTS", message="there"))
    assert isinstance(refused, JobExists)
    assert refused.message == "there"
    assert jobs.result_from_wire(job_pb2.JobResult(job=job_pb2.Job(id="j"))) == Job(id="j", spec=JobSpec())


def test_changes_name_what_is_set_and_what_is_removed() -> None:
    request = jobs.update_request(
        "j", {"priority": Priority.HIGH, "labels": {"a": "1", "b": None}, "annotations": {"c": None}}, "7"
    )
    assert request == job_pb2.UpdateJobRequest(
        id="j",
        priority=spec_pb2.PRIORITY_HIGH,
        labels={"a": "1"},
        labels_removed=["b"],
        annotations_removed=["c"],
        etag="7",
    )
    with pytest.raises(InvalidArgument, match="Nothing to change is given"):
        jobs.update_request("j", {"labels": {}}, "")


def test_a_filter_is_sent_wholly() -> None:
    request = jobs.list_request({"states": [JobState.RUNNING], "labels": {"a": "b"}, "started_since": BEGAN}, 5, "t")
    assert (list(request.states), dict(request.labels)) == ([job_pb2.JOB_STATE_RUNNING], {"a": "b"})
    assert (request.page_size, request.page_token) == (5, "t")
    assert request.started_since.ToDatetime(tzinfo=UTC) == BEGAN
    assert not request.HasField("updated_since")


def test_what_a_job_is_part_of_is_sent_only_if_it_is_told() -> None:
    assert jobs.owner_to_wire(None) is None
    assert jobs.owner_to_wire(JobOwner("k", "s", 3)) == job_pb2.JobOwner(key="k", scope="s", epoch=3)


def test_a_watch_tells_the_kind_and_the_job() -> None:
    event = job_pb2.JobEvent(kind=event_pb2.CHANGE_KIND_EXISTING, job=job_pb2.Job(id="j"))
    message = job_pb2.WatchJobsResponse(events=[event])
    assert list(jobs.job_changes_from_wire(message)) == [Change(ChangeKind.EXISTING, Job(id="j", spec=JobSpec()))]


@pytest.mark.parametrize(
    ("codec", "wire"),
    [
        (jobs.TYPE, job_pb2.JobType),
        (jobs.STATE, job_pb2.JobState),
        (jobs.TASK_STATE, job_pb2.TaskState),
        (job_specs.PRIORITY, spec_pb2.Priority),
        (job_specs.FRAMEWORK, spec_pb2.Framework),
        (job_specs.ROLE, spec_pb2.Role),
    ],
)
def test_every_member_has_its_number(codec: EnumCodec[Any, Any], wire: Any) -> None:
    assert sorted(codec.number(member) for member in codec.kind) == sorted(wire.values())
    assert codec.member(99) is codec.kind.UNSPECIFIED
