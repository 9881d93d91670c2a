"""The job service, put together."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

from paddleflow.channel import open_channel
from paddleflow.common.v1 import event_pb2_grpc
from paddleflow.fs.v1 import use_pb2_grpc
from paddleflow.job.v1 import job_pb2_grpc, log_pb2_grpc, shard_pb2_grpc, spec_pb2, statistics_pb2_grpc
from pf_job.driving.book import Book
from pf_job.driving.hearing import QueueEvents
from pf_job.driving.loops import Driver
from pf_job.driving.passes import Entrance, Passes
from pf_job.driving.peers_grpc import RemoteAdmission
from pf_job.driving.preparing import Launches
from pf_job.jobs.convert import encode
from pf_job.jobs.following import Following
from pf_job.jobs.owing import Owing
from pf_job.jobs.postgres import RETENTIONS, PostgresJobStore
from pf_job.jobs.service import Jobs
from pf_job.jobs.servicer import JobServicer
from pf_job.jobs.sight import Sight
from pf_job.jobs.store import JobStore
from pf_job.jobs.taking import Taking
from pf_job.jobs.watching import Tellers
from pf_job.logs.service import Logs
from pf_job.logs.servicer import LogServicer
from pf_job.peers_grpc import RemoteFilesystems, RemoteQueues
from pf_job.runtimes.local.adapter import LocalRuntime
from pf_job.runtimes.local.remote.domain import Cache
from pf_job.runtimes.local.settings import RunnerSettings
from pf_job.runtimes.port import Runtime
from pf_job.settings import JobSettings, LocalSettings
from pf_job.shards.postgres import PostgresShardStore
from pf_job.shards.service import Shards
from pf_job.shards.servicer import ShardServicer
from pf_job.shards.together import Together
from pf_job.specs.convert import given_spec, spec_message
from pf_job.specs.domain import JobSpec
from pf_job.statistics.postgres import PostgresCardTimeStore
from pf_job.statistics.service import Meters
from pf_job.statistics.servicer import StatisticsServicer
from pf_job.uses.finding import JobUses
from pf_kit.bus.consumer import Consumer
from pf_kit.bus.source import GrpcEventSource
from pf_kit.bus.stream import RedisStream, open_redis
from pf_kit.ground import Ground, Identity, MemberGround, candidate, chores, joined, member_service
from pf_kit.leases import Lease
from pf_kit.lifecycle import Loops, Program, Stop, serve
from pf_kit.listen import advertised
from pf_kit.lists import Lists
from pf_kit.mutation import Mutations
from pf_kit.postgres.leases import fence
from pf_kit.postgres.sweep import Retention
from pf_kit.server import Service, ServiceServer
from pf_kit.servicers import UseServicer
from pf_kit.tls import client_tls
from pf_kit.tokens import Signer
from pf_kit.users import RemoteUsers

NAME = "job"
QUEUE = "queue"
"""The service whose events are heard."""
DRIVING = "driving"
"""The lease of the instance that drives jobs."""
IDENTITY = Identity(NAME, version("paddleflow-server"), files("pf_job") / "sql" / "migrations", encode)
SPECS_KEPT = 2_000
"""Specs of jobs that were read last, of up to some 100 KiB each, usually less than 1 KiB."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What the service is put together from."""

    base: MemberGround
    queues: RemoteQueues
    filesystems: RemoteFilesystems
    users: RemoteUsers
    store: JobStore
    owing: Owing

    @property
    def sight(self) -> Sight:
        return Sight(queues=self.queues, users=self.users)

    @property
    def jobs(self) -> Jobs:
        return Jobs(store=self.store, sight=self.sight)

    @property
    def ground(self) -> Ground:
        return self.base.ground


async def main(settings: JobSettings, stop: Stop) -> None:
    """Runs the service until it is told to stop."""
    async with _parts(settings) as parts, _runtimes(settings.local, parts.filesystems) as runtimes:
        await serve(_server(settings, parts, runtimes, stop), _loops(settings, parts, runtimes), stop)


@asynccontextmanager
async def _parts(settings: JobSettings) -> AsyncIterator[Parts]:
    tls = client_tls(settings.server.tls)
    async with joined(settings, IDENTITY) as base, open_channel(settings.fs, tls) as fs:
        metadata = base.member.token.metadata
        yield Parts(
            base=base,
            queues=RemoteQueues(base.users, metadata, base.ground.clock),
            filesystems=RemoteFilesystems(fs, metadata),
            users=RemoteUsers(base.users, metadata),
            # A spec is read a dozen times while its job lives, and hardly ever changes.
            store=PostgresJobStore(encode=_bytes_of, decode=lru_cache(SPECS_KEPT)(_spec_of)),
            owing=Owing(),
        )


@asynccontextmanager
async def _runtimes(settings: LocalSettings, filesystems: RemoteFilesystems) -> AsyncIterator[Mapping[str, Runtime]]:
    """The runtimes by cluster."""
    if not settings.cluster or settings.folder is None:
        yield {}
        return
    folders = [Path(folder) for folder in settings.cache_folders] or [settings.folder.resolve() / "pages"]
    cache = Cache(folders, settings.cache_gigabytes * 2**30 or None)
    local = LocalRuntime(settings.folder, RunnerSettings(hidden=settings.unseen), cache=cache, reports=filesystems)
    try:
        yield {settings.cluster: local}
    finally:
        await local.rest()
        await local.close()


def _server(settings: JobSettings, parts: Parts, runtimes: Mapping[str, Runtime], stop: Stop) -> ServiceServer:
    service = member_service(parts.base)
    server = ServiceServer(settings.server, service)
    server.add(job_pb2_grpc.add_JobServiceServicer_to_server, _servicer(settings, parts, service, stop))
    logs = Logs(runtimes, parts.ground.clock, stop.asked)
    server.add(log_pb2_grpc.add_LogServiceServicer_to_server, _log_servicer(parts, service, logs))
    server.add(shard_pb2_grpc.add_ShardServiceServicer_to_server, _shard_servicer(parts, service))
    statistics = _statistics_servicer(parts, service, runtimes)
    uses = UseServicer(JobUses(database=service.database, store=parts.store).of)
    server.add(use_pb2_grpc.add_FilesystemUseServiceServicer_to_server, uses)
    server.add(statistics_pb2_grpc.add_StatisticsServiceServicer_to_server, statistics)
    return server


def _servicer(settings: JobSettings, parts: Parts, service: Service, stop: Stop) -> JobServicer:
    store, jobs, sight = parts.store, parts.jobs, parts.sight
    return JobServicer(
        database=service.database,
        mutations=Mutations(service.database, service.secret),
        lists=Lists(tokens=service.page_tokens),
        watches=service.watches,
        tellers=Tellers(store=store, sight=sight),
        store=store,
        jobs=jobs,
        owing=parts.owing,
        following=Following(
            database=service.database,
            store=store,
            jobs=jobs,
            recheck=service.authenticator.recheck,
            clock=parts.ground.clock,
            closing=stop.asked,
        ),
        taking=Taking(queues=parts.queues, filesystems=parts.filesystems, sight=sight, kept=settings.kept_jobs),
        clock=parts.ground.clock,
    )


def _log_servicer(parts: Parts, service: Service, logs: Logs) -> LogServicer:
    return LogServicer(
        database=service.database,
        lists=Lists(tokens=service.page_tokens),
        store=parts.store,
        jobs=parts.jobs,
        logs=logs,
        recheck=service.authenticator.recheck,
    )


def _shard_servicer(parts: Parts, service: Service) -> ShardServicer:
    store = PostgresShardStore()
    shards = Shards(store=store, kept=parts.store, jobs=parts.jobs)
    return ShardServicer(
        database=service.database,
        mutations=Mutations(service.database, service.secret),
        lists=Lists(tokens=service.page_tokens),
        store=store,
        shards=shards,
        together=Together(database=service.database, shards=shards),
    )


def _statistics_servicer(parts: Parts, service: Service, runtimes: Mapping[str, Runtime]) -> StatisticsServicer:
    return StatisticsServicer(
        database=service.database,
        lists=Lists(tokens=service.page_tokens),
        jobs=parts.jobs,
        sight=parts.sight,
        meters=Meters(runtimes),
        card_times=PostgresCardTimeStore(),
        clock=parts.ground.clock,
    )


def _passes(settings: JobSettings, parts: Parts) -> Passes:
    signer = Signer(settings.signing_key.reveal().encode())
    installation, clock = parts.base.member.installation, parts.ground.clock
    return Passes(signer=signer, installation=installation, entrance=entrance(settings), clock=clock)


def entrance(settings: JobSettings) -> Entrance | None:
    """Where replicas reach this service; None if they cannot."""
    tls, listen = settings.server.tls, settings.server.listen
    fixed = (advertised(place) for place in listen if not place.startswith("unix:") and not place.endswith(":0"))
    endpoint = settings.local.endpoint or next(fixed, "")
    if not endpoint or tls.client_ca is not None:
        return None
    return Entrance(endpoint, (tls.ca.read_text() if tls.ca else "") if tls.enabled else None)


def _loops(settings: JobSettings, parts: Parts, runtimes: Mapping[str, Runtime]) -> Loops:
    """One instance drives the jobs; one does the chores."""
    ground, address = parts.ground, settings.server.listen[0]
    bus = RedisStream(open_redis(settings.redis.reveal()), QUEUE)
    launches = Launches(
        parts.filesystems, parts.queues, parts.users, _passes(settings, parts), settings.local.everybody
    )

    async def drive(lease: Lease) -> None:
        await _drive(parts, runtimes, launches, bus, lease)

    card_times = Retention("spans", "finish_time", settings.kept_card_times)
    return {
        "chores": chores(ground, settings, address, card_times, *RETENTIONS).run,
        DRIVING: lambda: candidate(ground, DRIVING, address).run(drive),
    }


async def _drive(
    parts: Parts, runtimes: Mapping[str, Runtime], launches: Launches, bus: RedisStream, lease: Lease
) -> None:
    ground, queue, metadata = parts.ground, parts.base.users, parts.base.member.token.metadata
    hold = partial(fence, lease=lease)
    amiss, left = asyncio.Event(), asyncio.Event()
    book = Book(database=ground.database, store=parts.store, clock=ground.clock, lease=lease, owing=parts.owing)
    events = QueueEvents(store=parts.store, fence=hold, told=book.told, amiss=amiss, left=left)
    owner = GrpcEventSource(event_pb2_grpc.EventServiceStub(queue), metadata)
    consumer = Consumer(NAME, QUEUE, ground.database, bus, owner, events, ground.clock)
    driver = Driver(
        book=book,
        store=parts.store,
        admission=RemoteAdmission(queue, metadata, ground.clock),
        runtimes=runtimes,
        preparation=launches,
        amiss=amiss,
        left=left,
        users=parts.users,
        clock=ground.clock,
    )
    await driver.run(consumer.run)


def _bytes_of(spec: JobSpec) -> bytes:
    return spec_message(spec).SerializeToString(deterministic=True)


def _spec_of(data: bytes) -> JobSpec:
    return given_spec(spec_pb2.JobSpec.FromString(data))


PROGRAM = Program(NAME, IDENTITY.version, "PF_JOB", JobSettings, main)
