"""What a job says for its members, and we for the job."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from pf_job.specs.defaults import (
    filesystem_names,
    filled,
    flavour_names,
    joined,
    limits,
    total,
    with_filesystems,
    with_flavours,
)
from pf_job.specs.domain import (
    FilesystemMount,
    Flavour,
    Framework,
    JobSpec,
    LimitFlavour,
    Member,
    Priority,
    RetryPolicy,
    Role,
    SchedulingPolicy,
    TimeLimits,
    Work,
)

WEEK = timedelta(days=7)
A, B, C = (FilesystemMount(name=name, mount_path=f"/{name}") for name in "abc")
BIG = Flavour(amounts={"cpu": 4000, "memory": 2**33})


def test_a_job_that_says_nothing() -> None:
    assert filled(JobSpec(id="job-1"), WEEK) == JobSpec(
        id="job-1",
        name="job-1",
        work=Work(
            scheduling_policy=SchedulingPolicy(queue="default-queue", priority=Priority.NORMAL),
            flavour=Flavour(amounts={"cpu": 1000, "memory": 2**30}),
        ),
        retry=RetryPolicy(backoff=timedelta(seconds=10), max_backoff=timedelta(minutes=10)),
        limits=TimeLimits(grace=timedelta(seconds=30), kept=WEEK),
    )


def test_a_mount_without_a_path_appears_under_its_id() -> None:
    spec = filled(JobSpec(work=Work(fs=FilesystemMount(id="fs-root-data"))), WEEK)
    assert spec.work.fs
    assert spec.work.fs.mount_path == "/home/paddleflow/storage/mnt/fs-root-data"


def test_a_member_that_says_nothing_is_as_the_job_says() -> None:
    work = Work(
        labels={"a": "1"},
        scheduling_policy=SchedulingPolicy(queue="q", priority=Priority.HIGH),
        flavour=BIG,
        limit_flavour=LimitFlavour(none=True),
        fs=A,
        extra_fs=(B,),
        image="i",
        env={"E": "1"},
        secret_env={"S": "/s"},
        command="c",
        args=("a",),
        port=7,
        annotations={"n": "1"},
    )
    spec = JobSpec(framework=Framework.PADDLE, work=work, members=(Member(role=Role.WORKER, replicas=2),))
    member = Member(role=Role.WORKER, replicas=2, max_replicas=2, replica_step=1, work=work)
    assert filled(spec, WEEK).members == (member,)


@pytest.mark.parametrize(
    ("job", "member", "expected"),
    [
        ({"labels": {"a": "1", "b": "1"}}, {"labels": {"b": "2"}}, {"labels": {"a": "1", "b": "2"}}),
        ({"annotations": {"a": "1"}}, {"annotations": {"b": "2"}}, {"annotations": {"a": "1", "b": "2"}}),
        ({"env": {"a": "1", "b": "1"}}, {"env": {"b": "2"}}, {"env": {"a": "1", "b": "2"}}),
        ({"env": {"a": "1"}}, {"secret_env": {"a": "/a"}}, {"secret_env": {"a": "/a"}}),
        ({"secret_env": {"a": "/a"}}, {"env": {"a": "1"}}, {"env": {"a": "1"}}),
        ({"fs": A}, {"fs": B}, {"fs": B}),
        ({"extra_fs": (A, B)}, {"extra_fs": (C,)}, {"extra_fs": (A, B, C)}),
        (
            {"extra_fs": (FilesystemMount(name="old", mount_path="/a/"), B)},
            {"extra_fs": (A,)},
            {"extra_fs": (B, A)},
        ),
        ({"command": "c", "args": ("x",)}, {"command": "d"}, {"command": "d"}),
        ({"command": "c", "args": ("x",)}, {"args": ("y",)}, {"command": "c", "args": ("y",)}),
        ({"flavour": BIG}, {"flavour": Flavour(name="customFlavour")}, {"flavour": BIG}),
        ({"flavour": BIG}, {"flavour": Flavour(name="small")}, {"flavour": Flavour(name="small")}),
        ({"extension_template": {"kind": "PaddleJob"}}, {}, {}),
    ],
)
def test_what_both_say_is_joined_or_the_members(
    job: dict[str, Any], member: dict[str, Any], expected: dict[str, Any]
) -> None:
    assert joined(Work(**job), Work(**member)) == Work(**expected)


def test_flavours_are_looked_up_by_name() -> None:
    spec = JobSpec(
        work=Work(flavour=Flavour(name="f1"), limit_flavour=LimitFlavour(flavour=Flavour(name="f2"))),
        members=(Member(role=Role.WORKER, work=Work(flavour=Flavour(name="customFlavour", amounts={"cpu": 1}))),),
    )
    assert flavour_names(spec) == {"f1", "f2"}
    known = with_flavours(spec, {"f1": {"cpu": 1000, "memory": 5}, "f2": {"cpu": 2000}, "customFlavour": {}})
    assert known.work.flavour == Flavour(name="f1", amounts={"cpu": 1000, "memory": 5})
    assert limits(known.work) == {"cpu": 2000, "memory": 5}
    assert known.members == spec.members


def test_a_job_without_limit_is_limited_by_nothing() -> None:
    assert limits(Work(flavour=BIG, limit_flavour=LimitFlavour(none=True))) == {}


def test_filesystems_are_looked_up_by_name() -> None:
    known = FilesystemMount(id="fs-a-known", name="known")
    spec = JobSpec(
        work=Work(fs=FilesystemMount(name="bob/data")),
        members=(Member(role=Role.WORKER, work=Work(extra_fs=(A, known))),),
    )
    assert filesystem_names(spec) == {"bob/data", "a"}
    found = with_filesystems(spec, {"bob/data": "fs-bob-data", "a": "fs-me-a"})
    assert found.work.fs == FilesystemMount(id="fs-bob-data", name="bob/data")
    assert [mount.id for mount in found.members[0].work.extra_fs] == ["fs-me-a", "fs-a-known"]


def test_replicas_together_take_what_each_takes_without_surplus() -> None:
    members = (
        Member(role=Role.PSERVER, work=Work(flavour=Flavour(amounts={"cpu": 1000, "memory": 1}))),
        Member(
            role=Role.WORKER, replicas=2, max_replicas=9, work=Work(flavour=Flavour(amounts={"cpu": 500, "gpu": 1}))
        ),
    )
    assert total(JobSpec(members=members)) == {"cpu": 2000, "memory": 1, "gpu": 2}
    assert total(filled(JobSpec(), WEEK)) == {"cpu": 1000, "memory": 2**30}
