"""The pipeline service, put together."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from importlib.metadata import version
from importlib.resources import files
from random import SystemRandom

from grpc import aio

from paddleflow.channel import open_channel
from paddleflow.common.v1 import event_pb2_grpc
from paddleflow.fs.v1 import use_pb2_grpc
from paddleflow.pipeline.v1 import artifact_pb2_grpc, pipeline_pb2_grpc, run_pb2_grpc, schedule_pb2_grpc
from pf_kit.addresses import allowed_of
from pf_kit.bus.consumer import Consumer
from pf_kit.bus.source import GrpcEventSource
from pf_kit.bus.stream import RedisStream, open_redis
from pf_kit.ground import Ground, Identity, MemberGround, candidate, chores, joined, member_service
from pf_kit.leases import Lease
from pf_kit.lifecycle import Loops, Program, Stop, serve
from pf_kit.lists import Lists
from pf_kit.mutation import Mutations
from pf_kit.postgres.leases import fence
from pf_kit.postgres.sweep import Retention
from pf_kit.server import Service, ServiceServer
from pf_kit.servicers import UseServicer
from pf_kit.tls import client_tls
from pf_kit.users import RemoteUsers
from pf_pipeline.artifacts.desk import Desk
from pf_pipeline.artifacts.domain import Table
from pf_pipeline.artifacts.judging import Judging
from pf_pipeline.artifacts.postgres import PostgresArtifactStore
from pf_pipeline.artifacts.reading import Reading
from pf_pipeline.artifacts.service import Artifacts, Traces
from pf_pipeline.artifacts.servicer import ArtifactServicer
from pf_pipeline.drawings.plans import drawn
from pf_pipeline.engine.driver import Driver
from pf_pipeline.engine.executors.jobs import JobsExecutor
from pf_pipeline.engine.executors.nothing import NothingExecutor
from pf_pipeline.engine.inbox import Inbox
from pf_pipeline.engine.keeping import Keeping
from pf_pipeline.engine.library import ArtifactLibrary
from pf_pipeline.engine.ports import Fence
from pf_pipeline.engine.speaking import PipelineLanguage
from pf_pipeline.engine.tidying import Tidying
from pf_pipeline.exports.exporting import exported
from pf_pipeline.joints.documents import RunDocuments
from pf_pipeline.joints.events import encode
from pf_pipeline.joints.leaving import Belongings, Leaving, OwnedPipelines, OwnedRuns, OwnedSchedules, UserEvents
from pf_pipeline.joints.notices import Announcing, FileSecrets
from pf_pipeline.joints.schedules import PipelineUses, ScheduledPipelines, ScheduledRuns
from pf_pipeline.joints.showing import RunViews
from pf_pipeline.notices.postgres import PostgresNoticeStore
from pf_pipeline.notices.sending import Sender
from pf_pipeline.notices.webhooks import HttpWebhooks
from pf_pipeline.owners import Callers
from pf_pipeline.peers_grpc.calls import Metadata
from pf_pipeline.peers_grpc.commands import RemoteCommands
from pf_pipeline.peers_grpc.documents import RemoteDocuments
from pf_pipeline.peers_grpc.files import RemoteFiles
from pf_pipeline.peers_grpc.filesystems import RemoteFilesystems
from pf_pipeline.peers_grpc.jobs import RemoteJobs
from pf_pipeline.pipelines import judging as pipelines_judging
from pf_pipeline.pipelines.postgres import PostgresPipelineStore
from pf_pipeline.pipelines.service import Pipelines
from pf_pipeline.pipelines.servicer import PipelineServicer
from pf_pipeline.pipelines.sources import Documents
from pf_pipeline.runs import servicer as run_servicer
from pf_pipeline.runs.domain import Executor
from pf_pipeline.runs.following import Following
from pf_pipeline.runs.postgres import PostgresRunStore
from pf_pipeline.runs.retrying import Retrying
from pf_pipeline.runs.service import Runs
from pf_pipeline.runs.taking import Plans, Taking
from pf_pipeline.schedules.backfill import Backfill
from pf_pipeline.schedules.postgres import PostgresScheduleStore
from pf_pipeline.schedules.service import Schedules
from pf_pipeline.schedules.servicer import ScheduleServicer
from pf_pipeline.schedules.ticking import Ticker
from pf_pipeline.settings import PipelineSettings
from pf_pipeline.tables.lineage import LineageRows
from pf_pipeline.tables.parquet import ParquetFile
from pf_pipeline.tables.runs import NodeRows, RunRows
from pf_pipeline.tables.service import TableFiles
from pf_pipeline.tables.store import RowSource
from pf_pipeline.uses.finding import RunUses
from pf_pipeline.views.drawing import Drawing
from pf_pipeline.views.explaining import Explaining
from pf_pipeline.views.foretelling import Foretelling
from pf_pipeline.views.listing import Listing
from pf_pipeline.views.planning import Planning
from pf_pipeline.views.rehearsing import Rehearsing

NAME = "pipeline"
USERS = "queue"
"""The service that keeps users, and tells of them."""
DRIVING = "driving"
"""The lease of the instance that drives runs."""
TICKING = "ticking"
"""What lets schedules run by the clock: every instance does it."""
TELLING = "telling"
"""What tells others that runs are over: every instance does it."""
NOTICES_KEPT = timedelta(days=30)
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
    schedules: PostgresScheduleStore
    notices: PostgresNoticeStore

    @property
    def ground(self) -> Ground:
        return self.base.ground

    @property
    def metadata(self) -> Metadata:
        return self.base.member.token.metadata

    @property
    def users(self) -> RemoteUsers:
        return RemoteUsers(self.base.users, self.metadata)

    @property
    def callers(self) -> Callers:
        return Callers(self.users)

    @property
    def files(self) -> RemoteFiles:
        return RemoteFiles(self.fs, self.metadata, self.users)

    @property
    def documents(self) -> Documents:
        return Documents(store=self.pipelines, filesystems=RemoteDocuments(self.fs, self.metadata))

    @property
    def judging(self) -> Judging:
        reading = Reading(files=self.files)
        return Judging(database=self.ground.database, store=self.artifacts, reading=reading, clock=self.ground.clock)

    @property
    def use(self) -> Runs:
        return Runs(store=self.runs, traces=Traces(store=self.artifacts))

    @property
    def taking(self) -> Taking:
        documents = RunDocuments(self.ground.database, self.documents)
        filesystems = RemoteFilesystems(self.fs, self.metadata)
        return Taking(documents=documents, filesystems=filesystems, plans=self.plans)

    @property
    def scheduled(self) -> ScheduledRuns:
        return ScheduledRuns(self.taking, self.use, self.runs, self.users)


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
            schedules=PostgresScheduleStore(),
            notices=PostgresNoticeStore(),
        )


def _server(settings: PipelineSettings, parts: Parts, stop: Stop) -> ServiceServer:
    service = member_service(parts.base)
    server = ServiceServer(settings.server, service)
    server.add(run_pb2_grpc.add_RunServiceServicer_to_server, _run_servicer(parts, service, stop))
    server.add(pipeline_pb2_grpc.add_PipelineServiceServicer_to_server, _pipeline_servicer(parts, service))
    server.add(schedule_pb2_grpc.add_ScheduleServiceServicer_to_server, _schedule_servicer(parts, service))
    server.add(artifact_pb2_grpc.add_ArtifactServiceServicer_to_server, _artifact_servicer(parts, service))
    server.add(use_pb2_grpc.add_FilesystemUseServiceServicer_to_server, _use_servicer(parts, service))
    return server


def _run_servicer(parts: Parts, service: Service, stop: Stop) -> run_servicer.RunServicer:
    return run_servicer.RunServicer(
        run_servicer.Parts(
            database=service.database,
            callers=parts.callers,
            mutations=Mutations(service.database, service.secret),
            lists=Lists(tokens=service.page_tokens),
            watches=service.watches,
            store=parts.runs,
            runs=parts.use,
            taking=parts.taking,
            retrying=Retrying(parts.runs, parts.use, parts.plans),
            showing=_views(parts),
            following=Following(
                database=service.database,
                runs=parts.use,
                recheck=service.authenticator.recheck,
                clock=parts.ground.clock,
                closing=stop.asked,
            ),
        )
    )


def _views(parts: Parts) -> RunViews:
    language = PipelineLanguage(parts.plans)
    listing = Listing(store=parts.runs, runs=parts.use, language=language)
    return RunViews(
        listing=listing,
        explaining=Explaining(
            store=parts.runs,
            runs=parts.use,
            listing=listing,
            language=language,
            artifacts=parts.artifacts,
            jobs=RemoteJobs(parts.job, parts.metadata),
        ),
        planning=Planning(Rehearsing(language, Foretelling(parts.judging)), parts.ground.clock),
        drawing=Drawing(store=parts.runs, runs=parts.use, language=language, clock=parts.ground.clock),
    )


def _pipeline_servicer(parts: Parts, service: Service) -> PipelineServicer:
    filesystems = RemoteDocuments(parts.fs, parts.metadata)
    return PipelineServicer(
        database=service.database,
        callers=parts.callers,
        mutations=Mutations(service.database, service.secret),
        lists=Lists(tokens=service.page_tokens),
        pipelines=Pipelines(store=parts.pipelines, uses=PipelineUses(parts.schedules)),
        judging=pipelines_judging.Judging(documents=parts.documents, filesystems=filesystems),
        drawing=drawn,
        exporting=exported,
    )


def _schedule_servicer(parts: Parts, service: Service) -> ScheduleServicer:
    runs = parts.scheduled
    return ScheduleServicer(
        database=service.database,
        callers=parts.callers,
        mutations=Mutations(service.database, service.secret),
        lists=Lists(tokens=service.page_tokens),
        schedules=Schedules(store=parts.schedules, pipelines=ScheduledPipelines(parts.pipelines)),
        backfill=Backfill(store=parts.schedules, runs=runs),
        runs=runs,
    )


def _use_servicer(parts: Parts, service: Service) -> UseServicer:
    filesystems = RemoteFilesystems(parts.fs, parts.metadata)
    return UseServicer(RunUses(service.database, parts.runs, parts.schedules, parts.pipelines, filesystems).of)


def _artifact_servicer(parts: Parts, service: Service) -> ArtifactServicer:
    database = service.database
    sources: Mapping[Table, RowSource] = {
        Table.LINEAGE: LineageRows(database=database, store=parts.artifacts),
        Table.RUNS: RunRows(database, parts.runs),
        Table.NODES: NodeRows(database, parts.runs),
    }
    return ArtifactServicer(
        database=database,
        callers=parts.callers,
        mutations=Mutations(database, service.secret),
        lists=Lists(tokens=service.page_tokens),
        artifacts=Artifacts(store=parts.artifacts),
        tables=TableFiles(sources=sources, begin=ParquetFile),
    )


def _loops(settings: PipelineSettings, parts: Parts) -> Loops:
    """One instance drives the runs; one does the chores."""
    ground, address = parts.ground, settings.server.listen[0]
    return {
        "chores": chores(ground, settings, address, Retention("notices", "create_time", NOTICES_KEPT)).run,
        DRIVING: partial(_lead, settings, parts),
        TICKING: Ticker(database=ground.database, store=parts.schedules, runs=parts.scheduled, clock=ground.clock).run,
        TELLING: _sender(settings, parts).run,
    }


def _sender(settings: PipelineSettings, parts: Parts) -> Sender:
    """What tells others that runs are over."""
    allowed = allowed_of(settings.notices.webhooks)
    return Sender(
        database=parts.ground.database,
        store=parts.notices,
        webhooks=HttpWebhooks(allowed=allowed, tls=ssl.create_default_context()),
        secrets=FileSecrets(parts.files, parts.users),
        commands=RemoteCommands(parts.job, parts.metadata, parts.users),
        clock=parts.ground.clock,
        chance=SystemRandom().random,
    )


async def _lead(settings: PipelineSettings, parts: Parts) -> None:
    """Drives the runs whenever this instance leads."""
    leadership = candidate(parts.ground, DRIVING, settings.server.listen[0])
    await leadership.run(partial(_drive, settings, parts, lambda: leadership.lease is not None))


async def _drive(settings: PipelineSettings, parts: Parts, leads: Callable[[], bool], lease: Lease) -> None:
    ground, metadata = parts.ground, parts.base.member.token.metadata
    hold, inbox, database = partial(fence, lease=lease), Inbox(), parts.ground.database
    judging = parts.judging
    library = ArtifactLibrary(
        database=database,
        store=parts.artifacts,
        files=parts.files,
        judging=judging,
        desk=Desk(judging, hold),
        fence=hold,
        nodes=parts.runs,
    )
    driver = Driver(
        database=database,
        store=parts.runs,
        keeping=Keeping(database, parts.runs, PipelineLanguage(parts.plans), ground.clock),
        executors={
            Executor.JOBS: JobsExecutor(RemoteJobs(parts.job, metadata), parts.files, inbox.put, leads),
            Executor.NOTHING: NothingExecutor(inbox.put),
        },
        library=library,
        chronicle=Announcing(other=library, store=parts.notices),
        lease=lease,
        epoch=lease.fence,
        clock=ground.clock,
        inbox=inbox,
    )
    tidying = Tidying(
        database=database,
        store=parts.runs,
        runs=parts.use,
        files=parts.files,
        fence=hold,
        clock=ground.clock,
        kept=settings.kept_runs,
    )
    left = asyncio.Event()
    leaving = Leaving(parts.users, _belongings(parts, hold), left)
    async with asyncio.TaskGroup() as group:
        group.create_task(_users(settings, parts, UserEvents(hold, left)).run())
        group.create_task(driver.run())
        group.create_task(tidying.run())
        group.create_task(leaving.run())


def _users(settings: PipelineSettings, parts: Parts, handler: UserEvents) -> Consumer[None]:
    """Hears of users who are deleted."""
    ground, base = parts.ground, parts.base
    owner = GrpcEventSource(event_pb2_grpc.EventServiceStub(base.users), base.member.token.metadata)
    bus = RedisStream(open_redis(settings.redis.reveal()), USERS)
    return Consumer(NAME, USERS, ground.database, bus, owner, handler, ground.clock)


def _belongings(parts: Parts, hold: Fence) -> Sequence[Belongings]:
    """What users have here. Schedules go first, lest they make more runs."""
    database = parts.ground.database
    return [
        OwnedSchedules(database, parts.schedules, hold),
        OwnedRuns(database, parts.runs, parts.use, hold),
        OwnedPipelines(database, parts.pipelines, hold),
    ]


PROGRAM = Program(NAME, IDENTITY.version, "PF_PIPELINE", PipelineSettings, main)
