"""The pipeline service for tests, beside a queue, a filesystem and a job service of its own."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from fixtures_jobs import FS_METHODS, METHODS, own_jobs
from paddleflow.auth.v1 import auth_pb2
from paddleflow.channel import open_channel
from paddleflow.connection import Connection
from paddleflow.fs.v1 import fs_pb2
from paddleflow.pipeline.v1 import artifact_pb2, pipeline_pb2, run_pb2, schedule_pb2
from support.callers import Caller, methods_of
from support.pipeline_process import PipelineProcess
from support.queue_process import ROOT_PASSWORD
from support.queue_site import PASSWORD
from support.servers import PostgresServer, ValkeyServer

PIPELINE_FILES = (artifact_pb2, pipeline_pb2, run_pb2, schedule_pb2)
PIPELINE_METHODS = methods_of(
    service for file in PIPELINE_FILES for service in file.DESCRIPTOR.services_by_name.values()
)
OVER = (run_pb2.RUN_STATE_SUCCEEDED, run_pb2.RUN_STATE_FAILED, run_pb2.RUN_STATE_TERMINATED)
PATIENCE = 60.0
"""Seconds for one run."""


@dataclass(frozen=True)
class PipelineSite:
    """What a test works with."""

    process: PipelineProcess
    root: Caller
    jobs: Caller
    queues: Caller
    filesystems: Caller
    tag: str = field(default_factory=lambda: uuid.uuid4().hex[:8])
    """In all names of the test."""

    @property
    def services(self) -> dict[str, str]:
        """Where the services are that no port tells."""
        jobs = self.process.jobs
        return {"fs": jobs.fs.address, "job": jobs.address, "pipeline": self.process.address}

    def connection(self, user: str = "root") -> Connection:
        """How a client reaches all services as this user."""
        password = ROOT_PASSWORD if user == "root" else PASSWORD
        return Connection(self.process.jobs.queue.address, user=user, password=password, services=self.services)

    async def add_user(self, word: str) -> str:
        """A new user; returns its name."""
        name = f"{word}{self.tag}"
        await self.queues(auth_pb2.CreateUserRequest(user=auth_pb2.User(name=name), password=PASSWORD))
        return name

    async def filesystem(self, folder: Path, word: str = "disk") -> str:
        """A filesystem over a folder; returns its name."""
        folder.mkdir(exist_ok=True)
        folder.chmod(0o777)
        name = f"{word}-{self.tag}"
        await self.filesystems(
            fs_pb2.CreateFilesystemRequest(filesystem=fs_pb2.Filesystem(name=name, url=f"local://{folder}"))
        )
        return name

    async def run(self, document: str, **more: object) -> run_pb2.Run:
        """A new run."""
        filesystem = str(more.pop("filesystem", ""))
        source = pipeline_pb2.Source(document=document, filesystem=filesystem)
        request = run_pb2.CreateRunRequest(source=source, **more)  # type: ignore[arg-type]  # the fields of a request
        reply = await self.root(request)
        run: run_pb2.Run = reply.run
        return run

    async def over(self, id_: str, patience: float = PATIENCE) -> run_pb2.Run:
        """The run, once it is over."""
        deadline = time.monotonic() + patience
        while True:
            run: run_pb2.Run = (await self.root(run_pb2.GetRunRequest(id=id_))).run
            if run.state in OVER:
                return run
            assert time.monotonic() < deadline, (run, await self.states(id_))
            await asyncio.sleep(0.02)

    async def nodes(self, id_: str) -> Mapping[str, run_pb2.Node]:
        """All nodes of a run, by path."""
        found: dict[str, run_pb2.Node] = {}
        token = ""
        while True:
            request = run_pb2.ListNodesRequest(run_id=id_, page_size=1000, page_token=token)
            reply = await self.root(request)
            found |= {node.path: node for node in reply.nodes}
            if not (token := reply.next_page_token):
                return found

    async def states(self, id_: str) -> Mapping[str, str]:
        """Where the nodes of a run stand, by path."""
        nodes = await self.nodes(id_)
        name = run_pb2.NodeState.Name
        return {path: name(node.state).removeprefix("NODE_STATE_").lower() for path, node in nodes.items()}


@contextmanager
def own_pipelines(
    postgres: PostgresServer,
    valkey: ValkeyServer,
    settings: Mapping[str, str] | None = None,
    *,
    real: bool = False,
) -> Iterator[PipelineProcess]:
    """A pipeline service beside services of its own; `real`: its filesystems lie on real servers of this machine."""
    with own_jobs(postgres, valkey, real=real) as jobs:
        process = PipelineProcess(jobs, settings or {})
        try:
            process.start()
            yield process
        finally:
            process.remove()


@asynccontextmanager
async def opened_pipelines(process: PipelineProcess) -> AsyncIterator[PipelineSite]:
    """A running service, as root calls it."""
    jobs = process.jobs
    secret = jobs.queue.log_in("root", ROOT_PASSWORD)
    async with (
        open_channel(process.address, None) as pipelines,
        open_channel(jobs.address, None) as job,
        open_channel(jobs.queue.address, None) as queues,
        open_channel(jobs.fs.address, None) as filesystems,
    ):
        yield PipelineSite(
            process,
            Caller(pipelines, secret, "", PIPELINE_METHODS),
            Caller(job, secret, "", METHODS),
            Caller(queues, secret),
            Caller(filesystems, secret, "", FS_METHODS),
        )


@pytest.fixture(scope="session")
def pipeline_process(postgres_server: PostgresServer, valkey_server: ValkeyServer) -> Iterator[PipelineProcess]:
    """The service that all tests of a process share; each makes runs of its own."""
    with own_pipelines(postgres_server, valkey_server) as process:
        yield process


@pytest.fixture
async def pipeline_site(pipeline_process: PipelineProcess) -> AsyncIterator[PipelineSite]:
    """The shared service."""
    async with opened_pipelines(pipeline_process) as site:
        yield site
