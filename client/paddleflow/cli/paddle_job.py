"""What a job of the command ``paddle`` is: its module, its processes, and the job that says the same."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import TypedDict

import click

from paddleflow.cli.paddle_package import Package
from paddleflow.models.job_specs import FilesystemMount, Framework, JobFlavour, JobSpec, Member, Role
from paddleflow.problems import InvalidArgument, Violation

PACKAGE, INPUT, OUTPUT = "/package", "/input", "/output"
"""Where package and data appear to the processes of a job."""
PYTHON = "python3"
RESTARTING = {"PF_JOB_RESTART_POLICY": "OnFailure"}
ONLY_TRAINER = {"TRAINING_ROLE": "TRAINER", "PADDLE_TRAINER_ID": "0", "PADDLE_TRAINERS_NUM": "1"}

_MODULE = re.compile(r"[\w-]+(\.[\w-]+)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Crew:
    """How many processes of each role there are. None of any: one process that is alone."""

    pservers: int = 0
    trainers: int = 0
    master: bool = False

    @property
    def alone(self) -> bool:
        return self.trainers + self.pservers + self.master < 2

    @property
    def env(self) -> Mapping[str, str]:
        """What the process is told that is alone."""
        return ONLY_TRAINER if self.alone and self.trainers else {}

    @property
    def members(self) -> Mapping[Role, int]:
        """In the order in which they are started."""
        counts = {Role.MASTER: int(self.master), Role.PSERVER: self.pservers, Role.WORKER: self.trainers}
        return {role: count for role, count in counts.items() if count}


@dataclass(frozen=True, slots=True)
class Module:
    """What is run of a package."""

    name: str
    within: str
    """The folder that has to be around the package for it to be found; empty: none."""

    def path(self, root: str) -> str:
        """Where the package has to lie below a root."""
        return f"{root}/{self.within}" if self.within else root

    def search(self, root: str) -> str:
        """PYTHONPATH, if the package lies there."""
        return f"{self.path(root)}:{root}" if self.within else root


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """What every process of a job runs."""

    module: Module
    arguments: tuple[str, ...] = ()

    def argv(self, python: str, reads: str, writes: str) -> tuple[str, ...]:
        told = {"input": reads, "output": writes}
        data = (f"--{name}={path}" for name, path in told.items() if path)
        return (python, "-m", self.module.name, *data, *self.arguments)


class Work(TypedDict):
    """What each process takes and is told, and where the job waits."""

    queue: str
    flavour: JobFlavour
    image: str
    env: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """Where the files of a job lie."""

    filesystem: str
    """As ``owner/name``."""
    package: str
    """The folder in it, as of the data below. None: there is no such data."""
    input: str | None = None
    output: str | None = None

    def mounts(self, module: Module) -> list[FilesystemMount]:
        places = {module.path(PACKAGE): self.package, INPUT: self.input, OUTPUT: self.output}
        return [
            FilesystemMount(self.filesystem, path, sub_path=folder, read_only=path != OUTPUT)
            for path, folder in places.items()
            if folder is not None
        ]

    @property
    def data(self) -> tuple[str, str]:
        """Where a process finds its input and puts its output."""
        return INPUT if self.input is not None else "", OUTPUT if self.output is not None else ""


def crew_of(pservers: int, trainers: int, *, fault_tolerant: bool) -> Crew:
    if (pservers or fault_tolerant) and not trainers:
        what = "--pserver-count" if pservers else "--fault-tolerant"
        raise click.UsageError(f"{what} goes with --trainer-count; without both, the module runs once, by itself.")
    return Crew(pservers=pservers, trainers=trainers, master=fault_tolerant)


def find_module(package: Package, name: str) -> Module:
    """The module of this name; raises InvalidArgument if the package has none."""
    if not _MODULE.fullmatch(name):
        raise _no_module(f"{name!r} is no name of a module, such as train or demo.train")
    first, *rest = name.split(".")
    if _is_there(package, [first, *rest]):
        return Module(name, "")
    if first == package.name and _is_there(package, rest):
        return Module(name, first)
    hint = f"; write {name[:-3]}" if package.has(PurePosixPath(name)) and name.endswith(".py") else ""
    path = "/".join([first, *rest])
    raise _no_module(f"{package.folder} has no module {name}: there is neither {path}.py nor {path}/__main__.py{hint}")


def data_environment(given: Mapping[str, str], search: str, reads: str, writes: str) -> dict[str, str]:
    """What is given, and what every process is told of its files. Its output is not to wait for more of it."""
    paths = ":".join(filter(None, [search, given.get("PYTHONPATH", "")]))
    told = {"PYTHONPATH": paths, "PYTHONUNBUFFERED": "1", "INPUT": reads, "OUTPUT": writes}
    return {**given, **{name: value for name, value in told.items() if value}}


def paddle_spec(id_: str, name: str, crew: Crew, program: Program, stored: Stored, work: Work) -> JobSpec:
    """The job that runs the program in each process of the crew."""
    spec = _spec(id_, name, program.module, stored, work)
    argv = program.argv(PYTHON, *stored.data)
    if crew.alone:
        return replace(spec, args=argv, env={**spec.env, **crew.env})
    env = RESTARTING if crew.master else {}
    members = [Member(role=role, replicas=count, env=env) for role, count in crew.members.items()]
    return replace(spec, args=argv, framework=Framework.PADDLE, members=members)


def mpi_spec(id_: str, name: str, crew: Crew, program: Program, stored: Stored, work: Work) -> JobSpec:
    """The job whose launcher runs the program on as many workers; the first ranks are pservers."""
    spec = _spec(id_, name, program.module, stored, work)
    if not crew.trainers:
        return replace(spec, args=program.argv(PYTHON, *stored.data))
    launcher = Member(role=Role.MASTER, args=_mpirun(crew, spec.env, program.argv(PYTHON, *stored.data)))
    workers = Member(role=Role.WORKER, replicas=crew.pservers + crew.trainers)
    return replace(spec, framework=Framework.MPI, members=[workers, launcher])


def _mpirun(crew: Crew, env: Mapping[str, str], argv: tuple[str, ...]) -> tuple[str, ...]:
    words = ["mpirun"]
    for role, count in (("PSERVER", crew.pservers), ("TRAINER", crew.trainers)):
        if not count:
            continue
        # Not every mpirun hands its environment on to other machines.
        told = [f"{name}={value}" for name, value in {**env, "TRAINING_ROLE": role}.items()]
        words += [*([":"] if len(words) > 1 else []), "-np", str(count), "env", *told, *argv]
    return tuple(words)


def _spec(id_: str, name: str, module: Module, stored: Stored, work: Work) -> JobSpec:
    first, *others = stored.mounts(module)
    spec = JobSpec(id=id_, name=name, fs=first, extra_fs=others, **work)
    return replace(spec, env=data_environment(work["env"], module.search(PACKAGE), *stored.data))


def _is_there(package: Package, parts: list[str]) -> bool:
    within = PurePosixPath(*parts)
    return package.has(within / "__main__.py") or (bool(parts) and package.has(within.with_name(f"{within.name}.py")))


def _no_module(description: str) -> InvalidArgument:
    return InvalidArgument.of(Violation("module", description))
