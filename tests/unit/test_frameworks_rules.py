"""What is wrong with the roles of a job, and what the end of a replica means."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from pf_job.frameworks.check import violations
from pf_job.frameworks.registry import RULES
from pf_job.frameworks.rules import Crew, Loss, Place, Reaction, Replica, decisive, done, reaction
from pf_job.specs.defaults import filled
from pf_job.specs.domain import Framework, JobSpec, JobType, Member, Role, Work

DRIVER, EVALUATOR, EXECUTOR, MASTER, PSERVER, SCHEDULER, WORKER = (
    Role.DRIVER,
    Role.EVALUATOR,
    Role.EXECUTOR,
    Role.MASTER,
    Role.PSERVER,
    Role.SCHEDULER,
    Role.WORKER,
)
F = Framework
RUN = Work(command="true")


def made(framework: Framework, roles: Mapping[Role, int], work: Work = RUN, most: int = 0) -> JobSpec:
    members = tuple(
        Member(role=role, replicas=replicas, max_replicas=most if role in (WORKER, EXECUTOR) else 0)
        for role, replicas in roles.items()
    )
    return JobSpec(framework=framework, work=work, members=members)


def places(spec: JobSpec, job_type: JobType = JobType.DISTRIBUTED) -> list[str]:
    return sorted(wrong.field for wrong in violations(spec, job_type))


@pytest.mark.parametrize(
    ("framework", "roles", "wrong"),
    [
        (F.PADDLE, {WORKER: 2}, []),
        (F.PADDLE, {WORKER: 1}, ["members[0].replicas"]),
        (F.PADDLE, {PSERVER: 1, WORKER: 1}, []),
        (F.PADDLE, {PSERVER: 1}, ["members"]),
        (F.PADDLE, {MASTER: 1, WORKER: 1}, []),
        (F.PADDLE, {MASTER: 2, WORKER: 1}, ["members[0].replicas"]),
        (F.PADDLE, {DRIVER: 1, WORKER: 1}, ["members[0].role"]),
        (F.PADDLE, {Role.MAIN: 1}, ["members[0].role"]),
        (F.PYTORCH, {MASTER: 1, WORKER: 1}, []),
        (F.PYTORCH, {PSERVER: 1, WORKER: 1}, []),
        (F.PYTORCH, {WORKER: 1}, ["members[0].replicas"]),
        (F.PYTORCH, {MASTER: 2, WORKER: 1}, ["members[0].replicas"]),
        (F.TENSORFLOW, {WORKER: 2}, []),
        (F.TENSORFLOW, {PSERVER: 1, MASTER: 1, WORKER: 1, EVALUATOR: 1}, []),
        (F.TENSORFLOW, {MASTER: 1}, ["members"]),
        (F.TENSORFLOW, {WORKER: 2, SCHEDULER: 1}, ["members[1].role"]),
        (F.MXNET, {SCHEDULER: 1, PSERVER: 1, WORKER: 1}, []),
        (F.MXNET, {MASTER: 1, PSERVER: 1, WORKER: 1}, []),
        (F.MXNET, {MASTER: 1, SCHEDULER: 1, PSERVER: 1, WORKER: 1}, ["members"]),
        (F.MXNET, {WORKER: 2}, ["members", "members"]),
        (F.MPI, {MASTER: 1, WORKER: 1}, []),
        (F.MPI, {WORKER: 1}, ["members"]),
        (F.MPI, {MASTER: 1}, ["members"]),
        (F.RAY, {MASTER: 1, WORKER: 1}, []),
        (F.RAY, {MASTER: 2, WORKER: 1}, ["members[0].replicas"]),
        (F.RAY, {PSERVER: 1, WORKER: 1}, ["members[0].role"]),
        (F.SPARK, {DRIVER: 1}, []),
        (F.SPARK, {DRIVER: 1, EXECUTOR: 3}, []),
        (F.SPARK, {EXECUTOR: 3}, ["members"]),
        (F.SPARK, {DRIVER: 1, WORKER: 1}, ["members[1].role"]),
    ],
)
def test_roles_of_a_framework(framework: Framework, roles: Mapping[Role, int], wrong: list[str]) -> None:
    assert places(made(framework, roles)) == wrong


def test_an_unknown_role_is_told_which_there_are() -> None:
    (wrong,) = violations(made(F.SPARK, {WORKER: 1}), JobType.DISTRIBUTED)
    assert wrong.description == "of spark must be one of driver, executor"


@pytest.mark.parametrize(
    ("framework", "roles", "wrong"),
    [
        (F.PADDLE, {WORKER: 1}, []),
        (F.PADDLE, {PSERVER: 1, WORKER: 1}, []),
        (F.PYTORCH, {WORKER: 1}, []),
        (F.RAY, {MASTER: 1, WORKER: 1}, []),
        (F.MPI, {MASTER: 1, WORKER: 1}, []),
        (F.SPARK, {DRIVER: 1, EXECUTOR: 1}, []),
        (F.TENSORFLOW, {WORKER: 2}, ["members[0].maxReplicas"]),
        (F.MXNET, {SCHEDULER: 1, PSERVER: 1, WORKER: 1}, ["members[2].maxReplicas"]),
    ],
)
def test_replicas_that_come_and_go(framework: Framework, roles: Mapping[Role, int], wrong: list[str]) -> None:
    assert places(made(framework, roles, most=4)) == wrong


@pytest.mark.parametrize(
    ("framework", "roles", "env", "wrong"),
    [
        (F.PADDLE, {WORKER: 2}, {}, ["members[0].command"]),
        (F.MPI, {MASTER: 1, WORKER: 1}, {}, ["members[0].command"]),
        (F.RAY, {MASTER: 1, WORKER: 1}, {}, []),
        (F.SPARK, {DRIVER: 1, EXECUTOR: 1}, {}, ["members[0].command"]),
        (F.SPARK, {DRIVER: 1, EXECUTOR: 1}, {"PF_JOB_SPARK_MAIN_FILE": "a.py"}, []),
    ],
)
def test_something_must_be_said_to_run(
    framework: Framework, roles: Mapping[Role, int], env: Mapping[str, str], wrong: list[str]
) -> None:
    assert places(made(framework, roles, Work(env=env))) == wrong
    assert places(made(framework, roles, Work(env=env, image="i"))) == []


def test_a_single_job_runs_something() -> None:
    assert places(JobSpec(), JobType.SINGLE) == ["command"]
    for work in (RUN, Work(args=("true",)), Work(image="i")):
        assert places(JobSpec(work=work), JobType.SINGLE) == []


@pytest.mark.parametrize(("told", "wrong"), [("PS", []), ("ps", []), ("Collective", ["env.PF_JOB_MODE"])])
def test_the_mode_is_what_the_members_make_it(told: str, wrong: list[str]) -> None:
    work = Work(command="true", env={"PF_JOB_MODE": told})
    assert places(made(F.PADDLE, {PSERVER: 1, WORKER: 1}, work)) == wrong


@pytest.mark.parametrize(
    ("framework", "kind", "wrong"),
    [
        (F.PADDLE, "PaddleJob", []),
        (F.PADDLE, "Job", []),
        (F.PADDLE, "SparkApplication", ["extensionTemplate.kind"]),
        (F.SPARK, "SparkApplication", []),
    ],
)
def test_a_template_is_of_the_framework(framework: Framework, kind: str, wrong: list[str]) -> None:
    work = Work(extension_template={"apiVersion": "x/v1", "kind": kind})
    assert places(made(framework, {}, work)) == wrong


def test_the_runtime_environment_of_ray_is_json_in_base64() -> None:
    for told in ("{}", "eA==", "W10=", "W1tbW1tb" * 20_000):
        work = Work(command="true", env={"RAY_JOB_RUNTIME_ENV": told})
        assert "env.RAY_JOB_RUNTIME_ENV" in places(made(F.RAY, {MASTER: 1, WORKER: 1}, work))


def crew_ended(well: Mapping[Role, list[bool]]) -> dict[Replica, bool]:
    return {Replica(role, index): ok for role, ends in well.items() for index, ok in enumerate(ends)}


@pytest.mark.parametrize(
    ("framework", "well", "expected"),
    [
        (F.STANDALONE, {Role.MAIN: [True]}, True),
        (F.STANDALONE, {Role.MAIN: [False]}, False),
        (F.STANDALONE, {}, False),
        (F.PADDLE, {PSERVER: [False], WORKER: [True, True]}, True),
        (F.PADDLE, {PSERVER: [True], WORKER: [True, False]}, False),
        (F.PYTORCH, {MASTER: [True], WORKER: [False]}, False),
        (F.PYTORCH, {MASTER: [True], WORKER: [True]}, True),
        (F.TENSORFLOW, {MASTER: [True], WORKER: [False], PSERVER: [False]}, True),
        (F.TENSORFLOW, {WORKER: [True, False]}, False),
        (F.TENSORFLOW, {WORKER: [True, True], EVALUATOR: [False]}, True),
        (F.MPI, {MASTER: [True], WORKER: [False, False]}, True),
        (F.MPI, {MASTER: [False], WORKER: [True]}, False),
        (F.MXNET, {SCHEDULER: [False], PSERVER: [False], WORKER: [True]}, True),
        (F.RAY, {MASTER: [True], WORKER: [False]}, True),
        (F.SPARK, {DRIVER: [True], EXECUTOR: [False]}, True),
        (F.SPARK, {DRIVER: [False], EXECUTOR: [True]}, False),
    ],
)
def test_a_job_is_done_when_those_who_decide_are(
    framework: Framework, well: Mapping[Role, list[bool]], expected: bool
) -> None:
    assert done(RULES[framework], crew_ended(well)) is expected


def test_of_a_framework_somebody_always_decides() -> None:
    for rules in RULES.values():
        for rule in rules.roles:
            assert decisive(rules, [rule.role])


ON_FAILURE = Work(command="true", env={"PF_JOB_RESTART_POLICY": "OnFailure"})


@pytest.mark.parametrize(
    ("spec", "loss", "expected"),
    [
        (JobSpec(), Loss(role=Role.MAIN, status=1), Reaction.FAIL),
        (JobSpec(work=ON_FAILURE), Loss(role=Role.MAIN, status=1), Reaction.RESTART),
        (JobSpec(work=ON_FAILURE), Loss(role=Role.MAIN, restarts=3), Reaction.FAIL),
        (made(F.PADDLE, {WORKER: 2}), Loss(role=WORKER, status=1, left=1), Reaction.FAIL),
        (made(F.PADDLE, {WORKER: 2}), Loss(role=WORKER, status=101, left=1), Reaction.RESTART),
        (made(F.PADDLE, {WORKER: 2}), Loss(role=WORKER, status=102, restarts=3, left=1), Reaction.FAIL),
        (made(F.PADDLE, {PSERVER: 1, WORKER: 1}), Loss(role=PSERVER), Reaction.FAIL),
        (made(F.PADDLE, {WORKER: 2}, most=4), Loss(role=WORKER, left=2), Reaction.RESTART_ALL),
        (made(F.PADDLE, {WORKER: 2}, most=4), Loss(role=WORKER, left=2, restarts=3), Reaction.CARRY_ON),
        (made(F.PADDLE, {WORKER: 2}, most=4), Loss(role=WORKER, left=1), Reaction.FAIL),
        (made(F.PADDLE, {PSERVER: 1, WORKER: 1}, most=4), Loss(role=WORKER, left=1), Reaction.RESTART),
        (made(F.PYTORCH, {WORKER: 1}, most=4), Loss(role=WORKER, left=1), Reaction.RESTART_ALL),
        (made(F.TENSORFLOW, {WORKER: 2, EVALUATOR: 1}), Loss(role=EVALUATOR), Reaction.RESTART),
        (made(F.TENSORFLOW, {WORKER: 2, EVALUATOR: 1}), Loss(role=EVALUATOR, restarts=3), Reaction.CARRY_ON),
        (made(F.RAY, {MASTER: 1, WORKER: 1}), Loss(role=WORKER), Reaction.RESTART),
        (made(F.RAY, {MASTER: 1, WORKER: 1}), Loss(role=WORKER, restarts=3), Reaction.CARRY_ON),
        (made(F.RAY, {MASTER: 1, WORKER: 1}), Loss(role=MASTER), Reaction.FAIL),
        (made(F.MPI, {MASTER: 1, WORKER: 2}), Loss(role=WORKER, left=1), Reaction.FAIL),
        (made(F.MPI, {MASTER: 1, WORKER: 1}, most=2), Loss(role=WORKER, left=1), Reaction.RESTART),
        (made(F.SPARK, {DRIVER: 1, EXECUTOR: 1}), Loss(role=EXECUTOR, restarts=3), Reaction.CARRY_ON),
        (made(F.PADDLE, {WORKER: 2}), Loss(role=DRIVER), Reaction.FAIL),
    ],
)
def test_what_is_done_about_a_loss(spec: JobSpec, loss: Loss, expected: Reaction) -> None:
    rules = RULES[spec.framework or F.STANDALONE]
    assert reaction(rules, filled(spec, timedelta(days=7)), loss) is expected


def test_there_is_a_port_for_all_that_a_replica_listens_on() -> None:
    assert places(made(F.PADDLE, {WORKER: 2}, Work(command="true", port=65534))) == []
    assert places(made(F.PADDLE, {WORKER: 2}, Work(command="true", port=65535))) == ["members[0].port"]


def started(
    tmp_path: Path, spec: JobSpec, replica: Replica, ports: Mapping[str, int]
) -> subprocess.CompletedProcess[str]:
    """Runs what the replica would run, in a world where Ray and Spark only say how they were called."""
    for name in ("ray", "spark-class", "spark-submit"):
        program = tmp_path / name
        program.write_text(f'#!/bin/sh\necho {name} "$@"\n[ {name} != spark-submit ] || exit 3\n')
        program.chmod(0o755)
    every: dict[Replica, Any] = {Replica(member.role, 0): Place("127.0.0.1", ports) for member in spec.members}
    crew = Crew(job_id="job-1", attempt=1, owner="alice", spec=filled(spec, timedelta(1)), places=every)
    argv = RULES[spec.framework or F.STANDALONE].program(crew, replica)
    env = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    return subprocess.run(argv, env=env, capture_output=True, text=True, timeout=20)


def test_the_head_of_ray_ends_as_its_entry_point_does(tmp_path: Path) -> None:
    head = Member(role=MASTER, work=Work(command="echo said '$x'; exit 7"))
    spec = JobSpec(framework=F.RAY, members=(head, Member(role=WORKER)))
    result = started(tmp_path, spec, Replica(MASTER, 0), {"gcs": 1, "dashboard": 2, "client": 3})
    head_started, said = result.stdout.splitlines()
    assert head_started.startswith("ray start --head ")
    assert (result.returncode, said) == (7, "said $x")


def test_arguments_reach_the_entry_point_of_ray_as_they_are(tmp_path: Path) -> None:
    head = Member(role=MASTER, work=Work(command="printf '%s,'", args=("a b", "$HOME", "'")))
    spec = JobSpec(framework=F.RAY, members=(head, Member(role=WORKER)))
    result = started(tmp_path, spec, Replica(MASTER, 0), {"gcs": 1, "dashboard": 2, "client": 3})
    assert (result.returncode, "a b,$HOME,'," in result.stdout) == (0, True)


def test_the_driver_of_spark_ends_as_what_it_submits(tmp_path: Path) -> None:
    driver = Member(role=DRIVER, work=Work(env={"PF_JOB_SPARK_MAIN_FILE": "a $b.py"}))
    spec = JobSpec(framework=F.SPARK, members=(driver, Member(role=EXECUTOR)))
    result = started(tmp_path, spec, Replica(DRIVER, 0), {"driver": 1, "blocks": 2, "master": 3})
    assert (result.returncode, " a $b.py\n" in result.stdout) == (3, True)
