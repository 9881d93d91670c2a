"""Who of a crew is started when, and where each listens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address

import pytest

from paddleflow.problems import NotServed
from pf_job.driving.crews import launch, missing_ports, startable, with_ports
from pf_job.jobs.domain import Job, Task, TaskKey, TaskState
from pf_job.jobs.life import Grant, Life
from pf_job.jobs.states import Stage
from pf_job.runtimes.port import Ceiling
from pf_job.specs.defaults import filled
from pf_job.specs.domain import (
    CPU,
    MEMORY,
    Flavour,
    Framework,
    JobSpec,
    JobType,
    LimitFlavour,
    Member,
    Role,
    Work,
)

NOW = datetime(2030, 1, 1, tzinfo=UTC)


def job(*members: Member, port: int = 0) -> Job:
    spec = JobSpec(id="j", work=Work(command="true", port=port), framework=Framework.PADDLE, members=members)
    grant = Grant("g", 1, "local", {member.role: member.replicas for member in members}, NOW)
    life = Life(accept_time=NOW, stage=Stage.LAUNCH, grant=grant)
    return Job(id="j", owner="ann", type=JobType.DISTRIBUTED, spec=filled(spec, timedelta(1)), life=life)


def crew_of(of: Job) -> list[Task]:
    held = of.life.grant.replicas if of.life.grant else {}
    return [Task(key=TaskKey("j", 1, role, index)) for role, count in held.items() for index in range(count)]


def names(tasks: Sequence[Task]) -> list[str]:
    return [f"{task.key.role}{task.key.index}" for task in tasks]


SERVERS, WORKERS = Member(role=Role.PSERVER, replicas=1), Member(role=Role.WORKER, replicas=2)


def test_workers_are_started_when_the_servers_run() -> None:
    both = job(WORKERS, SERVERS)
    crew = crew_of(both)
    assert names(startable(both, crew)) == ["pserver0"]
    running = [
        replace(task, state=TaskState.RUNNING, start_time=NOW) if task.key.role == Role.PSERVER else task
        for task in crew
    ]
    assert names(startable(both, running)) == ["worker0", "worker1"]


@pytest.mark.parametrize(
    ("limit", "cpu", "memory"),
    [
        (LimitFlavour(), None, None),
        (LimitFlavour(none=True), None, None),
        (LimitFlavour(flavour=Flavour(amounts={CPU: 4000, MEMORY: 2**32})), 4000, 2**32),
        (LimitFlavour(flavour=Flavour(amounts={CPU: 4000})), 4000, 2**30),
    ],
)
def test_a_replica_is_limited_where_that_is_asked_for(limit: LimitFlavour, cpu: int | None, memory: int | None) -> None:
    one = job(replace(WORKERS, replicas=1, work=Work(limit_flavour=limit)))
    [task] = with_ports(one, crew_of(one), iter(range(20_000, 30_000)))
    everybody = Ceiling(log=1, processes=2)
    assert launch(one, [task], task, (), everybody).ceiling == replace(everybody, cpu=cpu, memory=memory)


def test_nobody_is_startable_twice() -> None:
    both = job(WORKERS, SERVERS)
    running = [replace(task, state=TaskState.RUNNING, start_time=NOW) for task in crew_of(both)]
    assert startable(both, running) == []
    begun = [replace(task, start_time=NOW) for task in crew_of(both)]
    ended = [replace(task, state=TaskState.STOPPED) for task in begun]
    assert startable(both, ended) == []


def test_everybody_listens_somewhere_else() -> None:
    both = job(WORKERS, SERVERS)
    crew = with_ports(both, crew_of(both), iter(range(20_000, 30_000)))
    ports = [port for task in crew for port in task.ports.values()]
    assert len(ports) == len(set(ports)) == missing_ports(both, crew_of(both)) == 6
    assert missing_ports(both, crew) == 0


def test_a_port_that_is_told_is_the_first_of_all() -> None:
    both = job(WORKERS, SERVERS, port=36_000)
    crew = with_ports(both, crew_of(both), iter(()))
    assert sorted(port for task in crew for port in task.ports.values()) == list(range(36_000, 36_006))


def test_ports_may_not_be_enough() -> None:
    with pytest.raises(NotServed, match="give a lower one"):
        with_ports(job(WORKERS, port=65_533), crew_of(job(WORKERS)), iter(()))


def test_each_replica_is_told_where_the_others_are() -> None:
    two = job(WORKERS)
    crew = with_ports(two, crew_of(two), iter(range(20_000, 30_000)))
    envs = [launch(two, crew, task, (), Ceiling(log=1)).env for task in crew]
    assert {env["PADDLE_TRAINER_ENDPOINTS"] for env in envs} == {"127.2.0.1:20000,127.2.0.2:20002"}
    assert [env["PADDLE_TRAINER_ID"] for env in envs] == ["0", "1"]


def test_who_counts_hosts_finds_as_many_as_replicas() -> None:
    two = job(WORKERS, SERVERS)
    crew = with_ports(two, crew_of(two), iter(range(20_000, 30_000)))
    hosts = [launch(two, crew, task, (), Ceiling(log=1)).env["POD_IP"] for task in crew]
    assert len(set(hosts)) == len(crew)
    assert all(ip_address(host).is_loopback for host in hosts)
