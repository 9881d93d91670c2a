"""What it takes to start the replicas of a job."""

from __future__ import annotations

import random
import socket
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Protocol

from paddleflow.problems import PermissionDenied, Unavailable
from pf_job.driving.crews import launch, member_of
from pf_job.driving.passes import Passes
from pf_job.jobs.domain import Job, Owner, Task
from pf_job.jobs.ports import Queues, Users
from pf_job.runtimes.port import Ceiling, Launch, Mount, RemoteMount
from pf_job.specs.domain import FilesystemMount
from pf_job.specs.magic import NAMESPACE
from pf_kit.principal import Principal, PrincipalKind

PORTS = range(20_000, 30_000)
"""Given to replicas: below those that the kernel gives out by itself, and above those of usual services."""

SELF = Principal(PrincipalKind.SERVICE, "job", root=True)
"""Who asks for the namespace of a queue."""


class Mounts(Protocol):
    """The port to where files are."""

    async def describe(self, user: str, mount: FilesystemMount) -> Mount | RemoteMount:
        """Where the files of a mount are, for one task of a user. Raises whatever is in the way."""


class Launches:
    """Fulfils `Preparation` on this machine."""

    def __init__(self, mounts: Mounts, queues: Queues, users: Users, passes: Passes, everybody: Ceiling) -> None:
        """`everybody` is what each replica may use at most, whatever its job says."""
        self._mounts = mounts
        self._queues = queues
        self._users = users
        self._passes = passes
        self._everybody = everybody

    async def launches(self, job: Job, crew: Sequence[Task], tasks: Sequence[Task]) -> Sequence[Launch]:
        found: list[Launch] = []
        known: dict[str, Sequence[Mount | RemoteMount]] = {}
        namespace = (await self._queues.queue(SELF, job.queue)).namespace
        told = {**({NAMESPACE: namespace} if namespace else {}), **self._passes.open}
        for task in tasks:
            if task.key.role not in known:
                wanted = member_of(job, task).work.mounts
                known[task.key.role] = await self._described(job, wanted)
            begun = launch(job, crew, task, known[task.key.role], self._everybody)
            private = self._passes.private(job, task.key)
            found.append(replace(begun, env={**begun.env, **told}, private_env=private))
        return found

    async def _described(self, job: Job, wanted: Sequence[FilesystemMount]) -> Sequence[Mount | RemoteMount]:
        """Raises PermissionDenied if whoever has the owner's name by now is another: the files are that one's."""
        if wanted and job.owner_since is not None:
            now = Owner(job.owner, await self._users.since(job.owner))
            if not job.whose.is_of(now):
                raise PermissionDenied(f"the user {job.owner!r}, whose job it is, has been deleted")
        return [await self._mounts.describe(job.owner, mount) for mount in wanted]

    def free_ports(self, taken: Collection[int]) -> Iterator[int]:
        """Ports on which nobody listens, from anywhere on: whoever comes next shall not find the same."""
        first = random.randrange(len(PORTS))  # noqa: S311 - not a secret
        for port in (*PORTS[first:], *PORTS[:first]):
            if port not in taken and _is_free(port):
                yield port
        raise Unavailable("all ports that replicas can have are taken; the job is started when some are free")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        return _binds(probe, port)


def _binds(probe: socket.socket, port: int) -> bool:
    try:
        probe.bind(("", port))
    except OSError:
        return False
    return True
