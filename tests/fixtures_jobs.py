"""The job service for tests, beside a queue and a filesystem service of its own."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field

import pytest

from fixtures_queue import own_service
from paddleflow.auth.v1 import auth_pb2
from paddleflow.channel import open_channel
from paddleflow.connection import Connection
from paddleflow.fs.v1 import fs_pb2, mount_pb2
from paddleflow.job.v1 import job_pb2, log_pb2, shard_pb2, statistics_pb2
from support.callers import Caller, methods_of
from support.fs_process import FsProcess
from support.job_process import JobProcess
from support.queue_process import ROOT_PASSWORD
from support.queue_site import PASSWORD
from support.servers import PostgresServer, ValkeyServer

FILES = (job_pb2, log_pb2, shard_pb2, statistics_pb2)
METHODS = methods_of(service for file in FILES for service in file.DESCRIPTOR.services_by_name.values())
FS_METHODS = methods_of(
    service for file in (fs_pb2, mount_pb2) for service in file.DESCRIPTOR.services_by_name.values()
)


@dataclass(frozen=True)
class JobSite:
    """What a test works with."""

    process: JobProcess
    root: Caller
    queues: Caller
    """Root, at the queue service."""
    filesystems: Caller
    """Root, at the filesystem service."""
    tag: str = field(default_factory=lambda: uuid.uuid4().hex[:8])
    """In all names of the test."""

    @property
    def services(self) -> dict[str, str]:
        """Where the services are that no port tells."""
        return {"fs": self.process.fs.address, "job": self.process.address}

    def connection(self, user: str = "root") -> Connection:
        """How a client reaches all services as this user."""
        password = ROOT_PASSWORD if user == "root" else PASSWORD
        return Connection(self.process.queue.address, user=user, password=password, services=self.services)

    async def add_user(self, word: str) -> str:
        """A new user; returns its name."""
        name = f"{word}{self.tag}"
        await self.queues(auth_pb2.CreateUserRequest(user=auth_pb2.User(name=name), password=PASSWORD))
        return name


@contextmanager
def own_jobs(
    postgres: PostgresServer,
    valkey: ValkeyServer,
    settings: Mapping[str, str] | None = None,
    *,
    program: bool = False,
    real: bool = False,
) -> Iterator[JobProcess]:
    """A job service beside services of its own; all begun as users begin them, if that is wanted.

    `real`: its filesystems lie on real servers of this machine.
    """
    with own_service(postgres, valkey, program=program) as queue:
        fs = FsProcess(queue, real=real)
        process = JobProcess(queue, fs, settings or {})
        if real:
            fs.settings = {"PF_FS_JOB": process.address}
        fs.program = process.program = queue.program
        try:
            fs.start()
            process.start()
            yield process
        finally:
            process.remove()
            fs.remove()


@asynccontextmanager
async def opened_jobs(process: JobProcess) -> AsyncIterator[JobSite]:
    """A running service, as root calls it."""
    secret = process.queue.log_in("root", ROOT_PASSWORD)
    async with (
        open_channel(process.address, None) as jobs,
        open_channel(process.queue.address, None) as queues,
        open_channel(process.fs.address, None) as filesystems,
    ):
        yield JobSite(
            process,
            Caller(jobs, secret, "", METHODS),
            Caller(queues, secret),
            Caller(filesystems, secret, "", FS_METHODS),
        )


@pytest.fixture(scope="session")
def job_process(postgres_server: PostgresServer, valkey_server: ValkeyServer) -> Iterator[JobProcess]:
    """The service that all tests of a process share; each makes jobs of its own."""
    with own_jobs(postgres_server, valkey_server) as process:
        yield process


@pytest.fixture
async def job_site(job_process: JobProcess) -> AsyncIterator[JobSite]:
    """The shared service."""
    async with opened_jobs(job_process) as site:
        yield site
