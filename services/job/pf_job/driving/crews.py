"""The replicas of an attempt together: who is started when, who listens where, and what each is told."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from ipaddress import IPv4Address

from paddleflow.problems import NotServed
from pf_job.frameworks.registry import environment, rules_of
from pf_job.frameworks.rules import Crew, Place, Replica, RoleRule, Rules, stages
from pf_job.jobs.domain import Job, Task, TaskState
from pf_job.runtimes.port import Ceiling, Launch, Mount, RemoteMount
from pf_job.specs.commands import cwd
from pf_job.specs.defaults import limits
from pf_job.specs.domain import CPU, GPU, MEMORY, Member, Role
from pf_job.specs.magic import Identity

HERE = IPv4Address("127.0.0.1")
"""Where replicas reach one another that run on one machine; so they do at all addresses that begin with 127."""
ROLE_SIZE = 2**16
"""Addresses for each role; there are fewer replicas."""
LAST_PORT = 65_535
FOLDER = "/tmp"  # noqa: S108 - that of the replica, which nobody else sees
"""Where a replica starts that has no filesystem."""


def startable(job: Job, crew: Sequence[Task]) -> Sequence[Task]:
    """The replicas that are to be started next: those of one stage, when all of the stages before have begun."""
    for roles in stages(rules_of(job.spec), job.spec):
        there = [task for task in crew if Role(task.key.role) in roles]
        waiting = [task for task in there if task.state is TaskState.PENDING]
        if waiting or any(task.start_time is None for task in there):
            return waiting
    return []


def missing_ports(job: Job, crew: Sequence[Task]) -> int:
    """How many ports are to be chosen before the next replica is started."""
    rules = rules_of(job.spec)
    return sum(len(_names(rules, task)) for task in crew if not task.ports)


def with_ports(job: Job, crew: Sequence[Task], free: Iterator[int]) -> Sequence[Task]:
    """The replicas with what they listen on: one after the other from the port on that their roles are told, or else on
    free ones. Those that have some keep them. Raises NotServed.
    """
    rules = rules_of(job.spec)
    told = {member.work.port for member in job.spec.crew if member.work.port}
    taken = {port for task in crew for port in task.ports.values()}
    following = {first: (port for port in range(first, LAST_PORT + 1) if port not in taken) for first in told}
    return [
        task if task.ports else replace(task, ports=_ports(_names(rules, task), following.get(_told(job, task), free)))
        for task in crew
    ]


def launch(
    job: Job, crew: Sequence[Task], task: Task, mounts: Sequence[Mount | RemoteMount], everybody: Ceiling
) -> Launch:
    """The start of one replica; `everybody` is what holds for all. Raises NotServed."""
    replica, together = _replica(task), _together(job, crew)
    rules, member = rules_of(job.spec), together.member(replica.role)
    if rules.files(together, replica):
        raise NotServed(f"{rules.framework} needs files that a local cluster does not hand out; use another cluster")
    program = rules.program(together, replica)
    if not program:
        raise NotServed(
            f"{replica.role} has no command, and a local cluster has no image to take one from; give it one"
        )
    work = member.work
    # What a replica takes is its share of the machine; a wall stands only where one is asked for.
    ceiling = {} if work.limit_flavour.empty else limits(work)
    return Launch(
        key=task.key,
        tenant=job.owner,
        argv=program,
        env=environment(together, replica, Identity(job_id=job.id, user=job.owner, namespace=""), job.type),
        secret_env=work.secret_env,
        cwd=cwd(work) or FOLDER,
        mounts=mounts,
        ceiling=replace(everybody, cpu=ceiling.get(CPU), memory=ceiling.get(MEMORY)),
        accelerators=work.flavour.amounts.get(GPU, 0),
        requests=work.flavour.amounts,
    )


def member_of(job: Job, task: Task) -> Member:
    """What is said of the role of a replica."""
    return next(member for member in job.spec.crew if member.role == task.key.role)


def _told(job: Job, task: Task) -> int:
    """The port from which on the replicas of a role listen; 0 if it is not said."""
    return member_of(job, task).work.port


def _ports(names: Sequence[str], from_: Iterator[int]) -> Mapping[str, int]:
    found = dict(zip(names, from_, strict=False))
    if len(found) < len(names):
        raise NotServed(
            "there are not as many ports as the job needs behind the one that it begins with; give a lower one"
        )
    return found


def _names(rules: Rules, task: Task) -> Sequence[str]:
    rule: RoleRule | None = rules.role(Role(task.key.role))
    return list(rule.ports) if rule else []


def _replica(task: Task) -> Replica:
    return Replica(Role(task.key.role), task.key.index)


def _together(job: Job, crew: Sequence[Task]) -> Crew:
    rules = rules_of(job.spec)
    return Crew(
        job_id=job.id,
        attempt=job.life.attempt,
        owner=job.owner,
        spec=job.spec,
        places={_replica(task): Place(_address(rules, task), task.ports) for task in crew},
    )


def _address(rules: Rules, task: Task) -> str:
    if not rules.hosts:
        return str(HERE)
    at = next(at for at, rule in enumerate(rules.roles) if rule.role == task.key.role)
    return str(HERE + at * ROLE_SIZE + task.key.index)
