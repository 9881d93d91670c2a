"""Every field of a spec: what it may hold, what it may not, and all that is wrong said at once."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from time import perf_counter
from typing import Any

import pytest

from pf_job.specs.check import joined_violations, violations
from pf_job.specs.defaults import with_filesystems, with_flavours
from pf_job.specs.domain import (
    FilesystemMount,
    Flavour,
    Framework,
    JobSpec,
    JobType,
    LimitFlavour,
    Member,
    Priority,
    RetryPolicy,
    Role,
    SchedulingPolicy,
    TimeLimits,
    Work,
)

TEMPLATE = {"apiVersion": "v1", "kind": "Pod"}
ONE = Flavour(amounts={"cpu": 1000, "memory": 2**30})


def fs(**fields: Any) -> FilesystemMount:
    return FilesystemMount(**{"name": "data", **fields})


def limit(**amounts: int) -> LimitFlavour:
    return LimitFlavour(flavour=Flavour(amounts=amounts))


WORK: list[tuple[str, dict[str, Any], list[str]]] = [
    ("nothing", {}, []),
    ("labels", {"labels": {"team": "a", "example.com/x_1": "", "a" * 63: "b" * 63}}, []),
    ("64 labels", {"labels": {f"l{number}": "" for number in range(64)}}, []),
    ("65 labels", {"labels": {f"l{number}": "" for number in range(65)}}, ["labels"]),
    ("long label key", {"labels": {"a" * 64: ""}}, ["labels"]),
    ("empty label key", {"labels": {"": ""}}, ["labels"]),
    ("label without prefix", {"labels": {"/a": ""}}, ["labels"]),
    ("label of no DNS name", {"labels": {"Example.com/a": ""}}, ["labels"]),
    ("long label value", {"labels": {"a": "b" * 64}}, ["labels.a"]),
    ("label value with blank", {"labels": {"a": "b c"}}, ["labels.a"]),
    ("annotation", {"annotations": {"a": "any thing\n" * 400}}, []),
    ("long annotation", {"annotations": {"a": "b" * 4097}}, ["annotations.a"]),
    ("annotation with NUL", {"annotations": {"a": "\0"}}, ["annotations.a"]),
    ("priority", {"scheduling_policy": SchedulingPolicy(priority=Priority.VERY_HIGH)}, []),
    ("named flavour", {"flavour": Flavour(name="flavour1")}, []),
    ("custom flavour", {"flavour": Flavour(name="customFlavour", amounts=ONE.amounts)}, []),
    ("amounts", {"flavour": Flavour(amounts={**ONE.amounts, "nvidia.com/gpu": 0})}, []),
    ("no memory", {"flavour": Flavour(amounts={"cpu": 1})}, ["flavour.mem"]),
    ("no core", {"flavour": Flavour(amounts={"memory": 1, "cpu": 0})}, ["flavour.cpu"]),
    ("negative gpus", {"flavour": Flavour(amounts={**ONE.amounts, "gpu": -1})}, ["flavour.scalarResources.gpu"]),
    ("too much", {"flavour": Flavour(amounts={"cpu": 10**18 + 1, "memory": 1})}, ["flavour.cpu"]),
    ("resource of no name", {"flavour": Flavour(amounts={**ONE.amounts, "a b": 1})}, ["flavour"]),
    ("limit", {"flavour": ONE, "limit_flavour": limit(cpu=1000)}, []),
    ("limit by default", {"limit_flavour": limit(cpu=1000, memory=2**30)}, []),
    ("no limit", {"limit_flavour": LimitFlavour(none=True)}, []),
    ("no limit of amounts", {"limit_flavour": replace(limit(cpu=9000), none=True)}, ["limitFlavour"]),
    ("low limit", {"flavour": ONE, "limit_flavour": limit(cpu=999)}, ["limitFlavour.cpu"]),
    ("low limit by default", {"limit_flavour": limit(memory=2**30 - 1)}, ["limitFlavour.mem"]),
    ("fs", {"fs": fs(mount_path="/mnt/a", sub_path="a/b", read_only=True)}, []),
    ("fs by id", {"fs": FilesystemMount(id="fs-root-data")}, []),
    ("fs of no name", {"fs": FilesystemMount(mount_path="/mnt")}, ["fs.name"]),
    ("fs at the root", {"fs": fs(mount_path="/")}, ["fs.mountPath"]),
    ("fs at the root in other words", {"fs": fs(mount_path="//./")}, ["fs.mountPath"]),
    ("fs here", {"fs": fs(mount_path=".")}, ["fs.mountPath"]),
    ("fs above", {"fs": fs(mount_path="..")}, ["fs.mountPath", "fs.mountPath"]),
    ("fs going up", {"fs": fs(mount_path="/mnt/../etc")}, ["fs.mountPath"]),
    ("fs at a relative path", {"fs": fs(mount_path="mnt")}, ["fs.mountPath"]),
    ("fs with NUL", {"fs": fs(mount_path="/mnt\0")}, ["fs.mountPath"]),
    ("folder out of fs", {"fs": fs(sub_path="a/../../b")}, ["fs.subPath"]),
    ("absolute folder", {"fs": fs(sub_path="/a")}, ["fs.subPath"]),
    ("extraFS", {"extra_fs": (fs(mount_path="/a"), fs(mount_path="/b"))}, []),
    ("extraFS of no name", {"extra_fs": (fs(), FilesystemMount(read_only=True))}, ["extraFS[1].name"]),
    ("two at one path", {"fs": fs(mount_path="/a"), "extra_fs": (fs(mount_path="/a/"),)}, ["extraFS"]),
    ("image", {"image": "registry.example.com/a/b:1"}, []),
    ("image of two lines", {"image": "a\nb"}, ["image"]),
    ("env", {"env": {"A": "", "_b1": "any\nthing", "spark.x-y": "1"}}, []),
    ("env of a digit", {"env": {"1A": ""}}, ["env"]),
    ("env of no name", {"env": {"": ""}}, ["env"]),
    ("env with =", {"env": {"A=B": ""}}, ["env"]),
    ("env with NUL", {"env": {"A": "\0"}}, ["env.A"]),
    ("env too long for Linux", {"env": {"A": "x" * (128 * 1024 - 2)}}, ["env.A"]),
    ("env as long as Linux takes", {"env": {"A": "x" * (128 * 1024 - 3)}}, []),
    ("two variables too long", {"env": {"A": "x" * 2**17, "B": "x" * 2**17}}, ["env.A", "env.B"]),
    ("secretEnv", {"secret_env": {"TOKEN": "/run/secrets/token"}}, []),
    ("secret in a relative file", {"secret_env": {"TOKEN": "token"}}, ["secretEnv.TOKEN.file"]),
    ("secret that is in env too", {"env": {"A": ""}, "secret_env": {"A": "/a"}}, ["secretEnv.A"]),
    ("command", {"command": "x" * 64 * 1024}, []),
    ("long command", {"command": "x" * 64 * 1024 + "x"}, ["command"]),
    ("command with NUL", {"command": "a\0b"}, ["command"]),
    ("args", {"args": ("",) * 1000}, []),
    ("many args", {"args": ("",) * 1001}, ["args"]),
    ("long args", {"args": ("x" * 2**16,) * 3}, ["args"]),
    ("args with NUL", {"args": ("a", "\0")}, ["args[1]"]),
    ("first port", {"port": 1}, []),
    ("last port", {"port": 65535}, []),
    ("port above", {"port": 65536}, ["port"]),
    ("port below", {"port": -1}, ["port"]),
    ("template", {"extension_template": TEMPLATE}, []),
    ("template of no kind", {"extension_template": {"apiVersion": "v1", "kind": ""}}, ["extensionTemplate.kind"]),
    ("template of no version", {"extension_template": {"kind": "Pod"}}, ["extensionTemplate.apiVersion"]),
    ("long template", {"extension_template": {**TEMPLATE, "x": "y" * 2**18}}, ["extensionTemplate"]),
]  # fmt: skip

JOB: list[tuple[str, dict[str, Any], list[str]]] = [
    ("id", {"id": "a-1"}, []),
    ("longest id", {"id": "a" * 63}, []),
    ("long id", {"id": "a" * 64}, ["id"]),
    ("id in capitals", {"id": "A"}, ["id"]),
    ("id with a dash first", {"id": "-a"}, ["id"]),
    ("longest name", {"name": "ä" * 512}, []),
    ("long name", {"name": "a" * 513}, ["name"]),
    ("name of two lines", {"name": "a\nb"}, ["name"]),
    ("queue", {"work": Work(scheduling_policy=SchedulingPolicy(queue="team-a"))}, []),
    ("queue of no name", {"work": Work(scheduling_policy=SchedulingPolicy(queue="Team"))}, ["schedulingPolicy.queue"]),
    ("members of a single job", {"members": (Member(role=Role.WORKER),)}, ["members"]),
    ("framework of a single job", {"framework": Framework.STANDALONE}, []),
    ("other framework of a single job", {"framework": Framework.PADDLE}, ["framework"]),
    ("retries", {"retry": RetryPolicy(limit=100, not_on=(1, 255))}, []),
    ("many retries", {"retry": RetryPolicy(limit=101)}, ["retry.limit"]),
    ("negative retries", {"retry": RetryPolicy(limit=-1)}, ["retry.limit"]),
    ("status of success", {"retry": RetryPolicy(not_on=(3, 0, 256))}, ["retry.notOn[1]", "retry.notOn[2]"]),
    ("negative backoff", {"retry": RetryPolicy(backoff=timedelta(-1))}, ["retry.backoff"]),
    (
        "short longest backoff",
        {"retry": RetryPolicy(backoff=timedelta(2), max_backoff=timedelta(1))},
        ["retry.maxBackoff"],
    ),
    ("limits", {"limits": TimeLimits(run=timedelta(1), grace=timedelta(0), kept=timedelta(0))}, []),
    (
        "no time",
        {"limits": TimeLimits(pending=timedelta(0), run=timedelta(0))},
        ["limits.pending", "limits.run"],
    ),
    ("long grace", {"limits": TimeLimits(grace=timedelta(hours=1, seconds=1))}, ["limits.grace"]),
    ("longer than ten years", {"limits": TimeLimits(kept=timedelta(4000))}, ["limits.kept"]),
]

MEMBER: list[tuple[str, dict[str, Any], list[str]]] = [
    ("no replica", {"replicas": 0}, ["replicas"]),
    ("most replicas", {"replicas": 10_000}, []),
    ("elastic", {"replicas": 2, "max_replicas": 4, "replica_step": 2}, []),
    ("most below least", {"replicas": 2, "max_replicas": 1}, ["maxReplicas"]),
    ("negative step", {"replica_step": -1}, ["replicaStep"]),
    ("the job's queue", {"work": Work(scheduling_policy=SchedulingPolicy(queue="dzz"))}, []),
    ("another queue", {"work": Work(scheduling_policy=SchedulingPolicy(queue="other"))}, ["schedulingPolicy.queue"]),
]


def places(spec: JobSpec, job_type: JobType = JobType.SINGLE) -> list[str]:
    return sorted(wrong.field for wrong in violations(spec, job_type))


def distributed(*members: Member, **work: Any) -> JobSpec:
    told = {"scheduling_policy": SchedulingPolicy(queue="dzz"), **work}
    return JobSpec(framework=Framework.PADDLE, work=Work(**told), members=members)


@pytest.mark.parametrize(("fields", "wrong"), [case[1:] for case in WORK], ids=[case[0] for case in WORK])
def test_a_field_of_a_job_and_of_a_member(fields: dict[str, Any], wrong: list[str]) -> None:
    assert places(JobSpec(work=Work(**fields))) == sorted(wrong)
    of_second = distributed(Member(role=Role.PSERVER), Member(role=Role.WORKER, work=Work(**fields)))
    assert places(of_second, JobType.DISTRIBUTED) == sorted(f"members[1].{field}" for field in wrong)


@pytest.mark.parametrize(("fields", "wrong"), [case[1:] for case in JOB], ids=[case[0] for case in JOB])
def test_a_field_that_only_jobs_have(fields: dict[str, Any], wrong: list[str]) -> None:
    assert places(JobSpec(**fields)) == sorted(wrong)


@pytest.mark.parametrize(("fields", "wrong"), [case[1:] for case in MEMBER], ids=[case[0] for case in MEMBER])
def test_a_field_that_only_members_have(fields: dict[str, Any], wrong: list[str]) -> None:
    spec = distributed(Member(**{"role": Role.WORKER, **fields}))
    assert places(spec, JobType.DISTRIBUTED) == [f"members[0].{field}" for field in wrong]


def test_everything_wrong_is_said_at_once() -> None:
    spec = JobSpec(
        id="A",
        framework=Framework.PADDLE,
        work=Work(port=-1, fs=fs(mount_path="/")),
        members=(
            Member(role=Role.WORKER),
            Member(role=Role.WORKER, replicas=0, work=Work(flavour=Flavour(amounts={"memory": 1}))),
        ),
    )
    assert places(spec, JobType.DISTRIBUTED) == [
        "fs.mountPath",
        "id",
        "members[1].flavour.cpu",
        "members[1].replicas",
        "members[1].role",
        "port",
    ]


@pytest.mark.parametrize("framework", [None, Framework.STANDALONE])
def test_a_distributed_job_says_what_it_is_made_with(framework: Framework | None) -> None:
    spec = replace(distributed(Member(role=Role.WORKER)), framework=framework)
    assert places(spec, JobType.DISTRIBUTED) == ["framework"]


def test_a_distributed_job_has_members_or_an_object_of_its_own() -> None:
    assert places(distributed(), JobType.DISTRIBUTED) == ["members"]
    assert places(distributed(extension_template=TEMPLATE), JobType.DISTRIBUTED) == []


def test_a_workflow_is_its_template() -> None:
    assert places(JobSpec(), JobType.WORKFLOW) == ["extensionTemplate"]
    workflow = JobSpec(work=Work(extension_template={"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow"}))
    assert places(workflow, JobType.WORKFLOW) == []
    assert places(replace(workflow, members=(Member(role=Role.WORKER),)), JobType.WORKFLOW) == ["members"]


def test_a_member_is_not_limited_below_what_the_job_lets_it_take() -> None:
    member = Member(role=Role.WORKER, work=Work(limit_flavour=limit(cpu=1000)))
    spec = distributed(member, flavour=Flavour(amounts={"cpu": 2000, "memory": 1}))
    assert places(spec, JobType.DISTRIBUTED) == ["members[0].limitFlavour.cpu"]
    assert places(distributed(member, flavour=Flavour(name="big")), JobType.DISTRIBUTED) == []


def test_mounts_of_job_and_member_do_not_meet() -> None:
    member = Member(role=Role.WORKER, work=Work(fs=fs(mount_path="/a")))
    spec = distributed(member, extra_fs=(fs(mount_path="/a"),))
    assert places(spec, JobType.DISTRIBUTED) == ["members[0].extraFS"]


def test_there_are_no_more_replicas_than_can_be_kept() -> None:
    spec = distributed(Member(role=Role.PSERVER), Member(role=Role.WORKER, max_replicas=10_000))
    assert places(spec, JobType.DISTRIBUTED) == ["members"]


def test_there_are_no_more_members_than_roles() -> None:
    env = {f"A{number}": "1" for number in range(1000)}
    began = perf_counter()
    assert places(distributed(*[Member(role=Role.WORKER)] * 50_000, env=env), JobType.DISTRIBUTED) == ["members"]
    assert perf_counter() - began < 1


def test_what_is_named_is_judged_again_when_it_was_looked_up() -> None:
    member = Member(role=Role.WORKER, work=Work(fs=fs(), extra_fs=(fs(name="alias"),), limit_flavour=limit(cpu=500)))
    spec = distributed(member, flavour=Flavour(name="big"))
    assert places(spec, JobType.DISTRIBUTED) == []
    known = with_filesystems(with_flavours(spec, {"big": ONE.amounts}), {"data": "fs-a-b", "alias": "fs-a-b"})
    found = [wrong.field for wrong in joined_violations(known)]
    assert found == ["members[0].limitFlavour.cpu", "members[0].extraFS"]


def test_the_environment_of_a_replica_is_no_longer_than_a_start_takes() -> None:
    env = {f"A{number}": "x" * 100_000 for number in range(3)}
    member = Member(role=Role.WORKER, work=Work(env={f"B{number}": "x" * 100_000 for number in range(3)}))
    assert places(distributed(member, env=env), JobType.DISTRIBUTED) == ["members[0].env"]
    assert places(distributed(Member(role=Role.WORKER), env=env), JobType.DISTRIBUTED) == []
