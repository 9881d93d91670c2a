"""The pipeline service, put together."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from importlib.resources import files

from grpc import aio

from paddleflow.channel import open_channel
from paddleflow.pipeline.v1 import run_pb2_grpc
from pf_kit.ground import Ground, Identity, MemberGround, candidate, chores, joined, member_service
from pf_kit.leases import Lease
from pf_kit.lifecycle import Loops, Program, Stop, serve
from pf_kit.lists import Lists
from pf_kit.mutation import Mutations
from pf_kit.postgres.leases import fence
from pf_kit.server import Service, ServiceServer
from pf_kit.tls import client_tls
from pf_pipeline.artifacts.judging import Judging
from pf_pipeline.artifacts.postgres import PostgresArtifactStore
from pf_pipeline.artifacts.reading import Reading
from pf_pipeline.artifacts.service import Traces
from pf_pipeline.engine.driver import Driver
from pf_pipeline.engine.executors.jobs import JobsExecutor
from pf_pipeline.engine.executors.nothing import NothingExecutor
from pf_pipeline.engine.inbox import Inbox
from pf_pipeline.engine.keeping import Keeping
from pf_pipeline.engine.library import ArtifactLibrary
from pf_pipeline.engine.speaking import PipelineLanguage
from pf_pipeline.events import encode
from pf_pipeline.finding import RunDocuments
from pf_pipeline.peers_grpc.documents import RemoteDocuments
from pf_pipeline.peers_grpc.files import RemoteFiles
from pf_pipeline.peers_grpc.filesystems import RemoteFilesystems
from pf_pipeline.peers_grpc.jobs import RemoteJobs
from pf_pipeline.pipelines.postgres import PostgresPipelineStore
from pf_pipeline.pipelines.sources import Documents
from pf_pipeline.runs import servicer as run_servicer
from pf_pipeline.runs.domain import Executor
from pf_pipeline.runs.following import Following
from pf_pipeline.runs.postgres import PostgresRunStore
from pf_pipeline.runs.retrying import Retrying
from pf_pipeline.runs.service import Runs
from pf_pipeline.runs.taking import Plans, Taking
from pf_pipeline.settings import PipelineSettings

NAME = "pipeline"
DRIVING = "driving"
"""The lease of the instance that drives runs."""
IDENTITY = Identity(NAME, version("paddleflow-server"), files("pf_pipeline") / "sql" / "migrations", encode)


@dataclass(frozen=True, slots=True)
class Parts:
    """What the service is put together from."""

    base: MemberGround
    fs: aio.Channel
    job: aio.Channel
    plans: Plans
    runs: PostgresRunStore
    artifacts: PostgresArtifactStore
    pipelines: PostgresPipelineStore

    @property
    def ground(self) -> Ground:
        return self.base.ground

    @property
    def files(self) -> RemoteFiles:
        return RemoteFiles(self.fs, self.base.member.token.metadata)


async def main(settings: PipelineSettings, stop: Stop) -> None:
    """Runs the service until it is told to stop."""
    async with _parts(settings) as parts:
        await serve(_server(settings, parts, stop), _loops(settings, parts), stop)


@asynccontextmanager
async def _parts(settings: PipelineSettings) -> AsyncIterator[Parts]:
    tls = client_tls(settings.server.tls)
    async with (
        joined(settings, IDENTITY) as base,
        open_channel(settings.fs, tls) as fs,
        open_channel(settings.job, tls) as job,
    ):
        yield Parts(
            base=base,
            fs=fs,
            job=job,
            plans=Plans(),
            runs=PostgresRunStore(),
            artifacts=PostgresArtifactStore(),
            pipelines=PostgresPipelineStore(),
        )


def _server(settings: PipelineSettings, parts: Parts, stop: Stop) -> ServiceServer:
    service = member_service(parts.base)
    server = ServiceServer(settings.server, service)
    server.add(run_pb2_grpc.add_RunServiceServicer_to_server, _run_servicer(parts, service, stop))
    return server


def _run_servicer(parts: Parts, service: Service, stop: Stop) -> run_servicer.RunServicer:
    store, metadata = parts.runs, parts.base.member.token.metadata
    runs = Runs(store=store, traces=Traces(store=parts.artifacts))
    documents = Documents(store=parts.pipelines, filesystems=RemoteDocuments(parts.fs, metadata))
    return run_servicer.RunServicer(
        run_servicer.Parts(
            database=service.database,
            mutations=Mutations(service.database, service.secret),
            lists=Lists(tokens=service.page_tokens),
            watches=service.watches,
            store=store,
            runs=runs,
            taking=Taking(
                documents=RunDocuments(service.database, documents),
                filesystems=RemoteFilesystems(parts.fs, metadata),
                plans=parts.plans,
            ),
            retrying=Retrying(store, runs, parts.plans),
            showing=None,  # type: ignore[arg-type]
            following=Following(
                database=service.database,
                runs=runs,
                recheck=service.authenticator.recheck,
                clock=parts.ground.clock,
                closing=stop.asked,
            ),
        )
    )


def _loops(settings: PipelineSettings, parts: Parts) -> Loops:
    """One instance drives the runs; one does the chores."""
    ground, address = parts.ground, settings.server.listen[0]
    return {
        "chores": chores(ground, settings, address).run,
        DRIVING: lambda: candidate(ground, DRIVING, address).run(partial(_drive, parts)),
    }


async def _drive(parts: Parts, lease: Lease) -> None:
    ground, metadata = parts.ground, parts.base.member.token.metadata
    hold, inbox, database = partial(fence, lease=lease), Inbox(), parts.ground.database
    reading = Reading(files=parts.files)
    library = ArtifactLibrary(
        database=database,
        store=parts.artifacts,
        files=parts.files,
        judging=Judging(database=database, store=parts.artifacts, reading=reading, clock=ground.clock),
        fence=hold,
    )
    driver = Driver(
        database=database,
        store=parts.runs,
        keeping=Keeping(database, parts.runs, PipelineLanguage(parts.plans), ground.clock),
        executors={
            Executor.JOBS: JobsExecutor(RemoteJobs(parts.job, metadata), parts.files, inbox.put),
            Executor.NOTHING: NothingExecutor(inbox.put),
        },
        library=library,
        chronicle=library,
        fence=hold,
        epoch=lease.fence,
        clock=ground.clock,
        inbox=inbox,
    )
    await driver.run()


PROGRAM = Program(NAME, IDENTITY.version, "PF_PIPELINE", PipelineSettings, main)
