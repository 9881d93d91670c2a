"""What the command `paddle` makes of its options, and what it tells the processes that it runs itself."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import click
import pytest

from paddleflow.cli.paddle_job import (
    Crew,
    Module,
    Program,
    Stored,
    Work,
    crew_of,
    find_module,
    mpi_spec,
    paddle_spec,
)
from paddleflow.cli.paddle_package import Package, read_package
from paddleflow.cli.paddle_roles import ADDRESS, FIRST, SECOND, Process, environment, processes, site_of
from paddleflow.models.job_specs import FilesystemMount, Framework, JobFlavour, Member, Role
from paddleflow.problems import InvalidArgument
from pf_job.frameworks import paddle
from pf_job.frameworks.rules import Crew as ServedCrew
from pf_job.frameworks.rules import Place, Replica
from pf_job.specs import domain
from pf_job.specs.defaults import filled

WORK: Work = {"queue": "q", "flavour": JobFlavour(amounts={"cpu": 1}), "image": "", "env": {}}
STORED = Stored(filesystem="alice/data", package="job-1-package", input="in", output="out")
PROGRAM = Program(module=Module("demo.train", "demo"), arguments=("--epochs", "3"))
ARGV = ("python3", "-m", "demo.train", "--input=/input", "--output=/output", "--epochs", "3")
FILES = {
    "PYTHONPATH": "/package/demo:/package",
    "PYTHONUNBUFFERED": "1",
    "INPUT": "/input",
    "OUTPUT": "/output",
}
CREWS = [
    Crew(pservers=2, trainers=4),
    Crew(trainers=2),
    Crew(trainers=1, master=True),
    Crew(pservers=1, trainers=1, master=True),
]


@pytest.fixture
def package(tmp_path: Path) -> Package:
    for name in ("demo/train.py", "demo/part/__main__.py", "demo/part/inner.py"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    return read_package(str(tmp_path / "demo"))


@pytest.mark.parametrize(
    ("name", "within"),
    [("train", ""), ("demo.train", "demo"), ("part", ""), ("part.inner", ""), ("demo.part.inner", "demo")],
)
def test_a_module_is_found_in_the_package_or_from_where_it_lies(package: Package, name: str, within: str) -> None:
    assert find_module(package, name) == Module(name, within)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("tain", "has no module tain: there is neither tain.py nor tain/__main__.py"),
        ("train.py", "; write train"),
        ("demo", "has no module demo"),
        ("demo/train", "'demo/train' is no name of a module"),
        ("..train", "is no name of a module"),
        ("", "is no name of a module"),
    ],
)
def test_a_module_that_is_not_there_is_refused(package: Package, name: str, why: str) -> None:
    with pytest.raises(InvalidArgument, match=why):
        find_module(package, name)


def test_counts_become_members_in_their_order_of_start() -> None:
    spec = paddle_spec("job-1", "mnist", Crew(pservers=2, trainers=4), PROGRAM, STORED, WORK)
    assert (spec.id, spec.name, spec.queue, spec.framework) == ("job-1", "mnist", "q", Framework.PADDLE)
    assert [(member.role, member.replicas) for member in spec.members] == [(Role.PSERVER, 2), (Role.WORKER, 4)]
    assert (spec.args, spec.env) == (ARGV, FILES)
    assert spec.fs == FilesystemMount("alice/data", "/package/demo", "job-1-package", read_only=True)
    assert spec.extra_fs == [
        FilesystemMount("alice/data", "/input", "in", read_only=True),
        FilesystemMount("alice/data", "/output", "out"),
    ]


def test_what_is_fault_tolerant_has_a_master_and_restarts() -> None:
    spec = paddle_spec("job-1", "mnist", crew_of(1, 2, fault_tolerant=True), PROGRAM, STORED, WORK)
    assert [member.role for member in spec.members] == [Role.MASTER, Role.PSERVER, Role.WORKER]
    assert {member.env["PF_JOB_RESTART_POLICY"] for member in spec.members} == {"OnFailure"}


def test_without_counts_the_module_runs_once() -> None:
    bare = Stored(filesystem="alice/data", package="job-1-package")
    for make in (paddle_spec, mpi_spec):
        spec = make("job-1", "shard", Crew(), Program(module=Module("main", "")), bare, WORK)
        assert (spec.members, spec.framework, spec.extra_fs) == ((), Framework.UNSPECIFIED, [])
        assert spec.fs == FilesystemMount("alice/data", "/package", "job-1-package", read_only=True)
        assert (spec.args, spec.env) == (
            ("python3", "-m", "main"),
            {"PYTHONPATH": "/package", "PYTHONUNBUFFERED": "1"},
        )


def test_a_trainer_that_is_alone_knows_it() -> None:
    spec = paddle_spec("job-1", "one", crew_of(0, 1, fault_tolerant=False), PROGRAM, STORED, WORK)
    assert (spec.members, spec.env["PADDLE_TRAINERS_NUM"]) == ((), "1")


def test_mpirun_starts_pservers_and_trainers_with_all_they_need() -> None:
    spec = mpi_spec("job-1", "mnist", Crew(pservers=1, trainers=2), PROGRAM, STORED, WORK)
    assert (spec.framework, spec.args) == (Framework.MPI, ())
    workers, launcher = spec.members
    assert workers == Member(role=Role.WORKER, replicas=3)
    told = [f"{name}={value}" for name, value in FILES.items()]
    assert launcher.args == (
        *("mpirun", "-np", "1", "env", *told, "TRAINING_ROLE=PSERVER", *ARGV),
        *(":", "-np", "2", "env", *told, "TRAINING_ROLE=TRAINER", *ARGV),
    )


def test_what_is_given_reaches_every_process_beside_what_it_is_told() -> None:
    given: Work = {**WORK, "env": {"SEED": "7", "PYTHONPATH": "/lib", "INPUT": "elsewhere"}}
    told = {"SEED": "7", **FILES, "PYTHONPATH": "/package/demo:/package:/lib"}
    assert paddle_spec("job-1", "mnist", Crew(trainers=2), PROGRAM, STORED, given).env == told
    spec = mpi_spec("job-1", "mnist", Crew(trainers=2), PROGRAM, STORED, given)
    assert {f"{name}={value}" for name, value in told.items()} <= {*spec.members[1].args}


def test_servers_and_masters_need_trainers() -> None:
    for pservers, fault_tolerant in ((2, False), (0, True)):
        with pytest.raises(click.UsageError, match="goes with --trainer-count"):
            crew_of(pservers, 0, fault_tolerant=fault_tolerant)


@pytest.mark.parametrize("crew", CREWS)
def test_processes_here_are_told_what_replicas_of_the_same_job_are(crew: Crew) -> None:
    site = site_of("job-1", crew)
    names = {
        domain.Role.MASTER: ("tasks", "unused"),
        domain.Role.PSERVER: ("server", "gloo"),
        domain.Role.WORKER: ("trainer", "rendezvous"),
    }
    places = {
        Replica(role, each.index): Place(
            ADDRESS, {name: site.ports[each, which] for which, name in zip((FIRST, SECOND), names[role], strict=True)}
        )
        for each in processes(crew)
        for role in [domain.Role(each.role)]
    }
    members = tuple(domain.Member(role=domain.Role(role), replicas=n) for role, n in crew.members.items())
    spec = domain.JobSpec(id="job-1", framework=domain.Framework.PADDLE, members=members)
    served = ServedCrew(job_id="job-1", attempt=1, owner="alice", spec=filled(spec, timedelta(days=7)), places=places)
    for each in processes(crew):
        told = paddle.environment(served, Replica(domain.Role(each.role), each.index))
        assert environment(site, each) == told


def test_processes_are_started_as_the_service_starts_them() -> None:
    crew = Crew(pservers=1, trainers=2, master=True)
    stages = {rule.role: rule.stage for rule in paddle.RULES.roles}
    order = [stages[domain.Role(each.role)] for each in processes(crew)]
    assert order == sorted(order)
    assert [*processes(replace(crew, pservers=0, master=False, trainers=0))] == [Process(Role.MAIN, 0)]


def test_ports_are_all_different() -> None:
    assert len({*site_of("job-1", Crew(pservers=20, trainers=20)).ports.values()}) == 80
