"""The reference of frameworks: what each has to say of its roles, and what it tells small crews."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from paddleflow.jobs.documents import ROLE_WORDS, ROLES
from pf_job.frameworks.registry import RULES
from pf_job.frameworks.rules import (
    MOST_RESTARTS,
    Crew,
    Loss,
    Place,
    Reach,
    Reaction,
    Replica,
    RoleRule,
    Rules,
    own_program,
    reaction,
)
from pf_job.specs.defaults import filled
from pf_job.specs.domain import Framework, JobSpec, JobType, Member, Role, SchedulingPolicy, Work
from pf_job.specs.magic import Identity, variables
from reference.rpc import cell

INTRODUCTION = f"""\
# What frameworks tell replicas

Of each framework: its roles, in which order they are started, when a job is done, what it means if a replica is lost,
and the whole environment of the replicas of a small job whose machines are `10.0.0.1`, `10.0.0.2` and so on. On one
machine all addresses begin with `127.`, and each replica has ports of its own. [Frameworks](../howto/frameworks.md) has
the documents.

What `env` of the document says wins over what the framework says; what the platform says of the job wins over both.

A replica is *lost* if it fails, or if nobody knows how it ended. Where it says that the job fails, a replica is started
again within the attempt if `PF_JOB_RESTART_POLICY` is `OnFailure` or `Always`. Nothing is started again more than
{MOST_RESTARTS} times within an attempt: then the job fails, or goes on without it where it can. A job that failed is
tried again as its `retry` says.
"""
EVERYBODY = """\
## What every replica is told

| variable | |
|---|---|
"""
MEANINGS = {
    "PF_JOB_ID": "the id of the job",
    "PF_JOB_TYPE": "`single` or `distributed`",
    "PF_JOB_FRAMEWORK": "the framework",
    "PF_JOB_MODE": "`PS` or `Collective`, where the framework knows both",
    "PF_JOB_QUEUE_NAME": "the queue",
    "PF_JOB_NAMESPACE": "the namespace of the queue, where it has one",
    "PF_JOB_PRIORITY": "the priority",
    "PF_JOB_FLAVOUR": "the name of the flavour, if it has one",
    "PF_JOB_RESTART_POLICY": "`Never`, `OnFailure` or `Always`",
    "PF_USER_NAME": "whose job it is",
    "PF_WORK_DIR": "the folder it starts in, if that is a filesystem",
    "PF_MOUNT_PATH": "the same; or `NONE`, if `env` says so",
}
STANDARD = """\
On one machine also `PATH`, `HOME`, `LANG` and `TMPDIR`, the numbers of its accelerators in `CUDA_VISIBLE_DEVICES` and
`NVIDIA_VISIBLE_DEVICES`, and, to call the job service, `PF_JOB_ENDPOINT` and `PF_JOB_TOKEN`.
"""
LOST = {
    Reaction.FAIL: "the job fails",
    Reaction.RESTART: "it is started again",
    Reaction.RESTART_ALL: "all of its role are started again",
    Reaction.CARRY_ON: "the others carry on",
}
CHANGED = {
    Reach.JOIN: "newcomers find the others, and these notice by themselves who is gone",
    Reach.FILES: "their files are written anew",
    Reach.RESTART: "those that run are started again, and go on from their last checkpoint",
}
NAMES = {
    Framework.STANDALONE: "Standalone",
    Framework.PADDLE: "PaddlePaddle",
    Framework.PYTORCH: "PyTorch",
    Framework.TENSORFLOW: "TensorFlow",
    Framework.MPI: "MPI",
    Framework.MXNET: "MXNet",
    Framework.RAY: "Ray",
    Framework.SPARK: "Spark",
}
LONG = 100
"""Characters of a value that finds no room in a table."""
RUN = Work(command="python train.py")


@dataclass(frozen=True, slots=True)
class Sample:
    """A small job."""

    title: str
    members: tuple[Member, ...]


def _member(role: Role, replicas: int = 1, most: int = 0, work: Work = RUN) -> Member:
    return Member(role=role, replicas=replicas, max_replicas=most, work=work)


SAMPLES: Mapping[Framework, Sequence[Sample]] = {
    Framework.STANDALONE: (),
    Framework.PADDLE: (
        Sample("two workers", (_member(Role.WORKER, 2),)),
        Sample("a master, a pserver and a worker", tuple(map(_member, (Role.MASTER, Role.PSERVER, Role.WORKER)))),
        Sample("elastic, two of two to four workers", (_member(Role.WORKER, 2, 4),)),
    ),
    Framework.PYTORCH: (
        Sample("a master and a worker", (_member(Role.MASTER), _member(Role.WORKER))),
        Sample("elastic, two of two to four workers", (_member(Role.WORKER, 2, 4),)),
    ),
    Framework.TENSORFLOW: (
        Sample("a pserver, a master and a worker", tuple(map(_member, (Role.PSERVER, Role.MASTER, Role.WORKER)))),
    ),
    Framework.MPI: (Sample("two workers and a master", (_member(Role.WORKER, 2, work=Work()), _member(Role.MASTER))),),
    Framework.MXNET: (
        Sample("a scheduler, a pserver and a worker", tuple(map(_member, (Role.SCHEDULER, Role.PSERVER, Role.WORKER)))),
    ),
    Framework.RAY: (Sample("a master and a worker", (_member(Role.MASTER), _member(Role.WORKER, work=Work()))),),
    Framework.SPARK: (
        Sample(
            "a driver and an executor",
            (
                _member(Role.DRIVER, work=Work(env={"PF_JOB_SPARK_MAIN_FILE": "train.py"})),
                _member(Role.EXECUTOR, work=Work()),
            ),
        ),
    ),
}


def page() -> str:
    lines = [INTRODUCTION, EVERYBODY + "\n".join(everybody()), "", STANDARD]
    for framework, rules in RULES.items():
        lines += chapter(framework, rules)
    return "\n".join(lines)


def everybody() -> Iterator[str]:
    """What is told by the specs of jobs; a variable that has no meaning here is a mistake."""
    work = replace(RUN, scheduling_policy=SchedulingPolicy(queue="q"), env={"PF_MOUNT_PATH": "/data"})
    spec = filled(JobSpec(id="job-1", framework=Framework.PADDLE, work=work), timedelta())
    told = variables(Identity(job_id="job-1", user="ada", namespace="n"), spec, JobType.SINGLE, None, spec.crew[0])
    return (f"| `{name}` | {MEANINGS[name]} |" for name in {**told, **MEANINGS})


def chapter(framework: Framework, rules: Rules) -> Iterator[str]:
    yield from (f"## {NAMES[framework]}", "")
    yield from (
        "| role | replicas | started | listens on | may come and go | if one is lost |",
        "|---|---|---|---|---|---|",
    )
    yield from (role_row(rules, rule) for rule in rules.roles)
    yield from ("", *(f"- {fact}" for fact in facts(rules)), "")
    for sample in SAMPLES[framework]:
        yield from environments(rules, sample)


def role_row(rules: Rules, rule: RoleRule) -> str:
    stages = sorted({each.stage for each in rules.roles})
    ports = ", ".join(f"{name} {number}" for name, number in rule.ports.items())
    spoken = [word for word, value in ROLE_WORDS.items() if value == ROLES.get(str(rule.role))]
    cells = [
        ", ".join(f"`{word}`" for word in spoken or [str(rule.role)]),
        "any number" if rule.most is None else f"at most {rule.most}",
        f"{stages.index(rule.stage) + 1}." if len(stages) > 1 else "at once",
        ports,
        "yes" if rule.elastic else "",
        LOST[lost(rules, rule)],
    ]
    return f"| {' | '.join(cells)} |"


def lost(rules: Rules, rule: RoleRule) -> Reaction:
    """What happens if nothing is said of restarts, and the member is not elastic."""
    spec = JobSpec(framework=rules.framework, members=(_member(rule.role, 2),))
    if rule.role is Role.MAIN:
        spec = JobSpec(work=RUN)
    return reaction(rules, spec, Loss(role=rule.role, status=1, left=1))


def facts(rules: Rules) -> Iterator[str]:
    groups = [", ".join(f"`{role}`" for role in Role if role in group) for group in rules.decisive]
    whole = {rule.role for rule in rules.roles} == {*rules.decisive[0]}
    others = "" if whole else "; those of other roles are stopped then"
    yield f"The job is done when all replicas of {', or, without one, of '.join(groups)} ended well{others}."
    for rule in rules.roles:
        if rule.elastic:
            yield from elastic_facts(rules, rule.role)
    if rules.asks_restart:
        statuses = " or ".join(map(str, sorted(rules.asks_restart)))
        yield f"A replica that exits with {statuses} asks to be started again, and is."
    if started := [f"`{rule.role}`" for rule in rules.roles if rule.self_starting]:
        yield f"The framework knows what to run for {' and '.join(started)} where no command is given."


def elastic_facts(rules: Rules, role: Role) -> Iterator[str]:
    alone = JobSpec(framework=rules.framework, members=(_member(role, 1, 2),))
    centred = JobSpec(framework=rules.framework, members=tuple(_member(rule.role, 1, 2) for rule in rules.roles))
    surplus = reaction(rules, alone, Loss(role=role, status=1, left=1))
    changed = CHANGED[rules.reach(alone)]
    if rules.reach(centred) is not rules.reach(alone):
        changed += f"; beside a pserver or a master, {CHANGED[rules.reach(centred)]}"
    yield f"When the number of replicas of an elastic `{role}` changes, {changed}."
    yield f"If one of them is lost, and `replicas` others are left, {LOST[surplus]}."


def environments(rules: Rules, sample: Sample) -> Iterator[str]:
    crew = crew_of(rules, sample)
    told = {f"{replica.role}/{replica.index}": rules.environment(crew, replica) for replica in crew.places}
    names = list(dict.fromkeys(name for variables_ in told.values() for name in variables_))
    values = {name: [variables_.get(name) for variables_ in told.values()] for name in names}
    common = {name: each[0] for name, each in values.items() if len({*each}) == 1}
    own = {name: each for name, each in values.items() if name not in common}
    yield from (f"### {NAMES[rules.framework]}: {sample.title}", "")
    if common:
        yield from (
            "| variable | of all |",
            "|---|---|",
            *(f"| `{name}` | {shown(common[name])} |" for name in common),
            "",
        )
    yield from table(told, {name: each for name, each in own.items() if not is_long(each)})
    yield from blocks(told, {name: each for name, each in own.items() if is_long(each)})
    yield from programs(rules, crew)


def table(replicas: Iterable[str], values: Mapping[str, Sequence[str | None]]) -> Iterator[str]:
    """Variables that replicas have for themselves."""
    if values:
        headings = [f"of {replica}" for replica in replicas]
        yield from (f"| variable | {' | '.join(headings)} |", f"|---|{'---|' * len(headings)}")
        yield from (f"| `{name}` | {' | '.join(map(shown, each))} |" for name, each in values.items())
        yield ""


def blocks(replicas: Iterable[str], values: Mapping[str, Sequence[str | None]]) -> Iterator[str]:
    """As `table`, of what finds no room in one."""
    for name, each in values.items():
        for replica, value in zip(replicas, each, strict=True):
            yield from (f"`{name}` of {replica}:", "", "```json", str(value), "```", "")


def is_long(values: Sequence[str | None]) -> bool:
    return any(value and len(value) > LONG for value in values)


def programs(rules: Rules, crew: Crew) -> Iterator[str]:
    """What replicas run, if that is not just what the document says."""
    for replica in crew.places:
        program = rules.program(crew, replica)
        if replica.index == 0 and program != own_program(crew, replica):
            yield from (f"What `{replica.role}` runs:", "", "```sh", shlex.join(program), "```", "")


def crew_of(rules: Rules, sample: Sample) -> Crew:
    spec = filled(JobSpec(id="job-1", name="train", framework=rules.framework, members=sample.members), timedelta())
    replicas = [Replica(member.role, index) for member in sample.members for index in range(member.replicas)]
    places = {
        replica: Place(f"10.0.0.{number}", rule.ports)
        for number, replica in enumerate(replicas, start=1)
        for rule in rules.roles
        if rule.role is replica.role
    }
    return Crew(job_id="job-1", attempt=1, owner="ada", spec=spec, places=places)


def shown(value: str | None) -> str:
    return "" if value is None else f"`{cell(value)}`" if value else "empty"
