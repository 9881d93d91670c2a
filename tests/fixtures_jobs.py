"""The job service for tests, beside a queue and a filesystem service of its own."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field

import pytest

from fixtures_queue import own_service
from paddleflow.auth.v1 import auth_pb2
from paddleflow.channel import open_channel
from paddleflow.connection import Connection
from paddleflow.fs.v1 import fs_pb2
from paddleflow.job.v1 import job_pb2, log_pb2
from support.callers import Caller, methods_of
from support.fs_process import FsProcess
from support.job_process import JobProcess
from support.queue_process import ROOT_PASSWORD
from support.queue_site import PASSWORD
from support.servers import PostgresServer, ValkeyServer

METHODS = methods_of(service for file in (job_pb2, log_pb2) for service in file.DESCRIPTOR.services_by_name.values())
FS_METHODS = methods_of(fs_pb2.DESCRIPTOR.services_by_name.values())


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


@pytest.fixture(scope="session")
def job_process(postgres_server: PostgresServer, valkey_server: ValkeyServer) -> Iterator[JobProcess]:
    """The service that all tests of a process share; each makes jobs of its own."""
    with own_service(postgres_server, valkey_server) as queue:
        fs = FsProcess(queue)
        fs.start()
        process = JobProcess(queue, fs)
        process.start()
        yield process
        process.remove()
        fs.remove()


@pytest.fixture
async def job_site(job_process: JobProcess) -> AsyncIterator[JobSite]:
    """The running service, as root calls it."""
    secret = job_process.queue.log_in("root", ROOT_PASSWORD)
    async with (
        open_channel(job_process.address, None) as jobs,
        open_channel(job_process.queue.address, None) as queues,
        open_channel(job_process.fs.address, None) as filesystems,
    ):
        yield JobSite(
            job_process,
            Caller(jobs, secret, "", METHODS),
            Caller(queues, secret),
            Caller(filesystems, secret, "", FS_METHODS),
        )
