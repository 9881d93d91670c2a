"""Settings that stand in the environment, and what replicas are told."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pf_job.specs.domain import (
    FilesystemMount,
    Flavour,
    Framework,
    JobSpec,
    JobType,
    LimitFlavour,
    Member,
    Mode,
    Priority,
    RestartPolicy,
    Role,
    SchedulingPolicy,
    Work,
)
from pf_job.specs.magic import Identity, read, restart_policy, variables

WHO = Identity(job_id="job-1", user="alice", namespace="team")


def single(**env: str) -> JobSpec:
    return JobSpec(work=Work(env=env))


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({"PF_JOB_FLAVOUR": "flavour1"}, {"flavour": Flavour(name="flavour1")}),
        (
            {"PF_JOB_LIMIT_FLAVOUR": "flavour2"},
            {"limit_flavour": LimitFlavour(flavour=Flavour(name="flavour2"))},
        ),
        ({"PF_JOB_LIMIT_FLAVOUR": "none"}, {"limit_flavour": LimitFlavour(none=True)}),
        ({"PF_JOB_QUEUE_NAME": "team-a"}, {"scheduling_policy": SchedulingPolicy(queue="team-a")}),
        ({"PF_JOB_PRIORITY": "high"}, {"scheduling_policy": SchedulingPolicy(priority=Priority.HIGH)}),
        ({"OTHER": "x"}, {}),
    ],
)
def test_a_setting_stands_for_a_field_that_is_empty(env: dict[str, str], expected: dict[str, Any]) -> None:
    settings = read(single(**env), None)
    assert (settings.spec.work, settings.violations) == (Work(env=env, **expected), ())


def test_a_field_wins_over_a_setting() -> None:
    work = Work(
        flavour=Flavour(name="flavour1"),
        limit_flavour=LimitFlavour(none=True),
        scheduling_policy=SchedulingPolicy(queue="team-a", priority=Priority.LOW),
        env={"PF_JOB_FLAVOUR": "x", "PF_JOB_LIMIT_FLAVOUR": "x", "PF_JOB_QUEUE_NAME": "x", "PF_JOB_PRIORITY": "HIGH"},
    )
    assert read(JobSpec(work=work), JobType.SINGLE).spec.work == work


def test_a_member_has_settings_of_its_own() -> None:
    member = Member(role=Role.WORKER, work=Work(env={"PF_JOB_FLAVOUR": "flavour1", "PF_JOB_QUEUE_NAME": "passed-over"}))
    (settled,) = read(JobSpec(members=(member,)), None).spec.members
    assert settled.work.flavour == Flavour(name="flavour1")
    assert settled.work.scheduling_policy.queue == ""


@pytest.mark.parametrize(
    ("told", "env", "members", "expected"),
    [
        (None, "", 0, JobType.SINGLE),
        (None, "", 1, JobType.DISTRIBUTED),
        (None, "distributed", 0, JobType.DISTRIBUTED),
        (None, "workflow", 0, JobType.WORKFLOW),
        (None, "vcjob", 0, JobType.SINGLE),
        (JobType.WORKFLOW, "single", 0, JobType.WORKFLOW),
    ],
)
def test_the_type_is_told_or_set_or_seen(told: JobType | None, env: str, members: int, expected: JobType) -> None:
    spec = replace(single(PF_JOB_TYPE=env), members=(Member(role=Role.WORKER),) * members)
    assert read(spec, told).type is expected


def test_a_framework_may_be_set() -> None:
    assert read(single(PF_JOB_FRAMEWORK="Paddle"), JobType.DISTRIBUTED).spec.framework is Framework.PADDLE
    assert read(single(PF_JOB_FRAMEWORK="paddle"), JobType.SINGLE).spec.framework is None


def test_settings_that_mean_nothing_are_all_named() -> None:
    env = {"PF_JOB_TYPE": "a", "PF_JOB_FRAMEWORK": "b", "PF_JOB_PRIORITY": "c", "PF_JOB_RESTART_POLICY": "d"}
    member = Member(role=Role.WORKER, work=Work(env={"PF_JOB_PRIORITY": "e"}))
    settings = read(JobSpec(work=Work(env=env), members=(member,)), None)
    assert [wrong.field for wrong in settings.violations] == [
        "env.PF_JOB_TYPE",
        "env.PF_JOB_FRAMEWORK",
        "env.PF_JOB_PRIORITY",
        "env.PF_JOB_RESTART_POLICY",
        "members[0].env.PF_JOB_PRIORITY",
    ]


def test_a_restart_policy_is_never_unless_it_is_set() -> None:
    assert restart_policy(Work()) is RestartPolicy.NEVER
    assert restart_policy(Work(env={"PF_JOB_RESTART_POLICY": "OnFailure"})) is RestartPolicy.ON_FAILURE


def test_a_pipeline_says_in_variables_what_ray_is_to_run() -> None:
    env = {
        "PF_JOB_TYPE": "distributed",
        "PF_JOB_FRAMEWORK": "ray",
        "RAY_JOB_ENTRY_POINT": "python main.py",
        "RAY_JOB_HEADER_FLAVOUR": "flavour1",
        "RAY_JOB_HEADER_IMAGE": "ray:head",
        "RAY_JOB_HEADER_PRIORITY": "HIGH",
        "RAY_JOB_WORKER_FLAVOUR": "flavour2",
        "RAY_JOB_WORKER_REPLICAS": "3",
        "RAY_JOB_WORKER_MIN_REPLICAS": "2",
        "RAY_JOB_WORKER_MAX_REPLICAS": "5",
    }
    settings = read(single(**env), None)
    assert settings.violations == ()
    head, worker = settings.spec.members
    assert head == Member(
        role=Role.MASTER,
        work=Work(
            command="python main.py",
            image="ray:head",
            flavour=Flavour(name="flavour1"),
            scheduling_policy=SchedulingPolicy(priority=Priority.HIGH),
        ),
    )
    assert (worker.role, worker.replicas, worker.max_replicas) == (Role.WORKER, 2, 5)
    assert worker.work.flavour == Flavour(name="flavour2")


def test_a_ray_job_that_is_not_to_grow_has_as_many_workers_as_it_says() -> None:
    counts = {"RAY_JOB_WORKER_REPLICAS": "2", "RAY_JOB_WORKER_MIN_REPLICAS": "1", "RAY_JOB_WORKER_MAX_REPLICAS": "20"}
    work = Work(env={"RAY_JOB_ENTRY_POINT": "python main.py", "RAY_JOB_ENABLE_AUTOSCALING": "false", **counts})
    settings = read(JobSpec(framework=Framework.RAY, work=work), JobType.DISTRIBUTED)
    assert [(worker.replicas, worker.max_replicas) for worker in settings.spec.members[1:]] == [(2, 0)]


def test_counts_of_ray_that_are_none_are_named() -> None:
    env = {"RAY_JOB_WORKER_REPLICAS": "many", "RAY_JOB_WORKER_MAX_REPLICAS": "9" * 400, "RAY_JOB_HEADER_PRIORITY": "x"}
    settings = read(JobSpec(framework=Framework.RAY, work=Work(env=env)), JobType.DISTRIBUTED)
    assert sorted(wrong.field for wrong in settings.violations) == sorted(f"env.{name}" for name in env)


def test_a_replica_is_told_of_its_job_whatever_it_was_set_to() -> None:
    work = Work(
        fs=FilesystemMount(id="fs-a-b"),
        flavour=Flavour(name="flavour1"),
        scheduling_policy=SchedulingPolicy(queue="team-a", priority=Priority.HIGH),
        env={"PF_USER_NAME": "root", "PF_JOB_RESTART_POLICY": "OnFailure"},
    )
    spec = JobSpec(id="job-1", framework=Framework.PADDLE, members=(Member(role=Role.WORKER, work=work),))
    assert variables(WHO, spec, JobType.DISTRIBUTED, Mode.COLLECTIVE, spec.members[0]) == {
        "PF_JOB_ID": "job-1",
        "PF_USER_NAME": "alice",
        "PF_JOB_NAMESPACE": "team",
        "PF_JOB_TYPE": "distributed",
        "PF_JOB_FRAMEWORK": "paddle",
        "PF_JOB_MODE": "Collective",
        "PF_JOB_QUEUE_NAME": "team-a",
        "PF_JOB_PRIORITY": "HIGH",
        "PF_JOB_FLAVOUR": "flavour1",
        "PF_JOB_RESTART_POLICY": "OnFailure",
        "PF_WORK_DIR": "/home/paddleflow/storage/mnt/fs-a-b",
        "PF_MOUNT_PATH": "/home/paddleflow/storage/mnt/fs-a-b",
    }


def test_a_replica_without_a_filesystem_is_told_of_none() -> None:
    spec = JobSpec(id="job-1", work=Work(env={"PF_MOUNT_PATH": "NONE"}))
    told = variables(WHO, spec, JobType.SINGLE, None, spec.crew[0])
    assert told["PF_MOUNT_PATH"] == "NONE"
    assert told.keys().isdisjoint({"PF_WORK_DIR", "PF_JOB_MODE", "PF_JOB_FLAVOUR"})
