"""The environment of PaddlePaddle's processes, where all of them run on this machine.

It is that which the job service gives the replicas of the same job.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import product

from paddleflow.cli.paddle_job import Crew
from paddleflow.models.job_specs import Role

ADDRESS = "127.0.0.1"
NAMES = {Role.MASTER: "MASTER", Role.PSERVER: "PSERVER", Role.WORKER: "TRAINER"}
FIRST, SECOND = 0, 1
"""Ports of a process: where it listens, and where the others meet it first."""


@dataclass(frozen=True, slots=True, order=True)
class Process:
    """One of a crew."""

    role: Role
    index: int

    def __str__(self) -> str:
        return f"{self.role}/{self.index}"


@dataclass(frozen=True, slots=True)
class Site:
    """A crew, and where its processes listen."""

    job: str
    crew: Crew
    ports: Mapping[tuple[Process, int], int]

    def of(self, role: Role) -> list[Process]:
        return [Process(role, index) for index in range(self.crew.members.get(role, 0))]

    def endpoint(self, process: Process, which: int = FIRST) -> str:
        return f"{ADDRESS}:{self.ports[process, which]}"

    def endpoints(self, role: Role) -> str:
        return ",".join(map(self.endpoint, self.of(role)))


def processes(crew: Crew) -> Iterator[Process]:
    """In the order in which they are started."""
    if crew.alone:
        yield Process(Role.MAIN, 0)
        return
    for role, count in crew.members.items():
        yield from (Process(role, index) for index in range(count))


def site_of(job: str, crew: Crew) -> Site:
    """The crew, with ports that are free now."""
    wanted = list(product(processes(crew), (FIRST, SECOND)))
    with ExitStack() as stack:
        # All are held at once, so that none is found twice.
        held = [stack.enter_context(socket.create_server((ADDRESS, 0))) for _ in wanted]
        return Site(job, crew, {which: each.getsockname()[1] for which, each in zip(wanted, held, strict=True)})


def environment(site: Site, process: Process) -> dict[str, str]:
    if site.crew.alone:
        return dict(site.crew.env)
    with_servers = site.crew.pservers or site.crew.master
    return _everybody(site, process) | (_with_servers(site, process) if with_servers else _collective(site, process))


def _everybody(site: Site, process: Process) -> dict[str, str]:
    role, trainers = NAMES[process.role], site.of(Role.WORKER)
    return {
        "POD_IP": ADDRESS,
        "PADDLE_PORT": str(site.ports[process, FIRST]),
        "PADDLE_JOB_ID": site.job,
        "TRAINING_ROLE": role,
        "PADDLE_ROLE": role,
        "PADDLE_TRAINING_ROLE": role,
        "PADDLE_TRAINERS": ",".join(ADDRESS for _ in trainers),
        "PADDLE_TRAINERS_NUM": str(len(trainers)),
        "PADDLE_TRAINER_ENDPOINTS": site.endpoints(Role.WORKER),
        "TRAINER_PORTS_NUM": "1",
        "PADDLE_CURRENT_ENDPOINT": site.endpoint(process),
        **({"PADDLE_TRAINER_ID": str(process.index)} if process.role is Role.WORKER else {}),
    }


def _with_servers(site: Site, _process: Process) -> dict[str, str]:
    servers, masters = site.of(Role.PSERVER), site.of(Role.MASTER)
    told = {
        "PADDLE_PSERVERS_IP_PORT_LIST": site.endpoints(Role.PSERVER),
        "PADDLE_SERVER_NUM": str(len(servers)),
        "PADDLE_TRAINER_NUM": str(site.crew.trainers),
    }
    if servers:
        told |= {"PADDLE_WITH_GLOO": "1", "PADDLE_GLOO_RENDEZVOUS": "3"}
        told["PADDLE_GLOO_HTTP_ENDPOINT"] = site.endpoint(servers[0], SECOND)
    return told | ({"MASTER_IP": ADDRESS, "PADDLE_MASTER": site.endpoint(masters[0])} if masters else {})


def _collective(site: Site, process: Process) -> dict[str, str]:
    rank, size = str(process.index), str(site.crew.trainers)
    return {
        "PADDLE_RANK_IN_NODE": "0",
        "PADDLE_GLOBAL_RANK": rank,
        "PADDLE_GLOBAL_SIZE": size,
        "PADDLE_LOCAL_RANK": "0",
        "PADDLE_LOCAL_SIZE": "1",
        "PADDLE_MASTER": site.endpoint(Process(Role.WORKER, 0), SECOND),
        "PADDLE_NNODES": size,
        "PADDLE_RANK": rank,
        "PADDLE_MAX_RESTART": "3",
        "PADDLE_DISTRI_BACKEND": "gloo",
    }
